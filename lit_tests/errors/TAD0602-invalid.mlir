// RUN: not tadc %s 2>&1 | filecheck %s

func.func @f(%a: tensor<4xf64>) -> tensor<4xf64> {
  %f = tad.map (%i) -> tensor<4xf64> {
    %0 = tad.read %a[%i] : tensor<4xf64>
    %1 = tad.apply "sigmoyd"(%0) : f64
    tad.yield %1 : f64
  }
  return %f : tensor<4xf64>
}

// CHECK: error[TAD0602]: the IR is not valid
// CHECK-NEXT: --> {{.*}}TAD0602-invalid.mlir:6:10
// CHECK: 'tad.apply' op unknown function 'sigmoyd'
