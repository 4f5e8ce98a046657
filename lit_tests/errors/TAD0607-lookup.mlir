// RUN: not tadc %s 2>&1 | filecheck %s

func.func @f(%p: tensor<4xi32> {tad.name = "p", tad.below = affine_map<() -> (5)>}, %a: tensor<4xf64> {tad.name = "a"})
    -> tensor<4xf64> {
  %f = tad.map (%i) -> tensor<4xf64> {
    %0 = tad.sum (%k) at (%t = %p[%k + 1] : tensor<4xi32>) in {0 <= %k <= 3, %t >= 1} -> f64 {
      %1 = tad.read %a[%t] : tensor<4xf64>
      tad.yield %1 : f64
    }
    tad.yield %0 : f64
  }
  return %f : tensor<4xf64>
}

// CHECK: error[TAD0607]: `p` is read out of range
// CHECK: = note: dimension 0 holds 0..3, the index is 4
// CHECK: = note: out of range at `k = 3
// CHECK: error[TAD0607]: `a` is read out of range
// CHECK: = note: dimension 0 holds 0..3, the index is 4
// CHECK: = note: out of range at `
// CHECK-SAME: p[k + 1] = 4
