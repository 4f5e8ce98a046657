// RUN: not tadc %s 2>&1 | filecheck %s

func.func @f(%a: tensor<4xf64>) -> tensor<4xf64> {
  %f = tad.map (%i) -> tensor<4xf64> {
    %0 = tad.read %a[%i + 1] : tensor<4xf64>
    %1 = tad.apply "sigmoid"(%0) : f64
    tad.yield %1 : f64
  }
  return %f : tensor<4xf64>
}

// CHECK: error[TAD0607]: `a` is read out of range
// CHECK-NEXT: --> {{.*}}TAD0607-out-of-range.mlir:5:10
// CHECK: = note: dimension 0 holds 0..3, the index is
// CHECK: = note: out of range at `
