// A set has a dimension for each index, and for each lookup that its head or its body begins with.
// RUN: not tadc %s 2>&1 | filecheck %s

func.func @f(%p: tensor<4xi32> {tad.below = affine_map<() -> (4)>}, %a: tensor<4xf64>) -> tensor<4xf64> {
  %f = tad.map (%i) -> tensor<4xf64> {
    %0 = tad.sum (%k) at (%t = %p[%k] : tensor<4xi32>) in affine_set<(d0, d1, d2) : (d0 - d1 == 0)> -> f64 {
      %1 = tad.read %a[%t] : tensor<4xf64>
      tad.yield %1 : f64
    }
    tad.yield %0 : f64
  }
  return %f : tensor<4xf64>
}

// CHECK:      error[TAD0602]: the IR is not valid
// CHECK-NEXT: invalid_lookup_in_set.mlir:6:10
// CHECK:      ^^^^^^^ 'tad.sum' op region must have 2 index arguments, got 1
