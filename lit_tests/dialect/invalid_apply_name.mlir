// Functions are known by name.
// RUN: not tadc %s 2>&1 | filecheck %s

func.func @f(%a: tensor<4xf64>, %b: tensor<4x4xf32>) -> tensor<4xf64> {
  %f = tad.map (%i) -> tensor<4xf64> {
    %0 = tad.read %a[%i] : tensor<4xf64>
    %1 = tad.apply "sigmoyd"(%0) : f64
    tad.yield %0 : f64
  }
  return %f : tensor<4xf64>
}

// CHECK:      error[TAD0602]: the IR is not valid
// CHECK-NEXT: invalid_apply_name.mlir:7:10
// CHECK:      ^^^^^^^^^ 'tad.apply' op unknown function 'sigmoyd'; has: sign, sigmoid, relu, safe
