// The symbols of a sum's set are its outer indices.
// RUN: not tadc %s 2>&1 | filecheck %s

func.func @f(%a: tensor<4xf64>, %b: tensor<4x4xf32>) -> tensor<4xf64> {
  %f = tad.map (%i) -> tensor<4xf64> {
    %0 = tad.read %a[%i] : tensor<4xf64>
    %1 = tad.sum (%k) [%i] in affine_set<(d0) : (d0 >= 0)> -> f64 { tad.yield %0 : f64 }
    tad.yield %0 : f64
  }
  return %f : tensor<4xf64>
}

// CHECK:      error[TAD0602]: the IR is not valid
// CHECK-NEXT: invalid_sum_symbols.mlir:7:10
// CHECK:      ^^^^^^^ 'tad.sum' op set has 0 symbols, but 1 index operands are given
