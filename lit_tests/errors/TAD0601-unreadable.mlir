// RUN: not tadc %s 2>&1 | filecheck %s

func.func @f(%a: tensor<4xf64>) -> tensor<4xf64> {
  %f = tad.map (%i) -> tensor<4xf64> {
    %0 = tad.read %a[%i * %i] : tensor<4xf64>
    %1 = tad.apply "sigmoid"(%0) : f64
    tad.yield %1 : f64
  }
  return %f : tensor<4xf64>
}

// CHECK: error[TAD0601]: cannot read the IR
// CHECK-NEXT: --> {{.*}}TAD0601-unreadable.mlir:5:25
// CHECK: |                         ^ an index can be multiplied by a number only
