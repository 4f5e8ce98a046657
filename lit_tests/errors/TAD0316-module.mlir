// RUN: not tadc %s 2>&1 | filecheck %s

func.func @h(%x: tensor<4xf64>) -> tensor<4xf64> {
  %h = tad.scan %own (%t) by %t -> tensor<4xf64> {
    %0 = tad.guard where {%t >= 1} -> f64 {
      %1 = tad.read %own[%t - 1] : tensor<4xf64>
      tad.yield %1 : f64
    } else {
      %1 = tad.read %own[%t + 1] : tensor<4xf64>
      tad.yield %1 : f64
    }
    tad.yield %0 : f64
  }
  return %h : tensor<4xf64>
}

// CHECK: error[TAD0316]: `h` is read at an element that is not computed earlier
// CHECK-NEXT: --> {{.*}}TAD0316-module.mlir:9:12
// CHECK: = note: not earlier at `t = 0`
