// Kinds are known by name; a sum is an op of its own.
// RUN: not tadc %s 2>&1 | filecheck %s

func.func @f(%a: tensor<4xf64>) -> tensor<4xf64> {
  %f = tad.map (%i) -> tensor<4xf64> {
    %0 = tad.reduce "sum" (%k) in {0 <= %k <= %i} -> f64 {
      %1 = tad.read %a[%k] : tensor<4xf64>
      tad.yield %1 : f64
    }
    tad.yield %0 : f64
  }
  return %f : tensor<4xf64>
}

// CHECK:      error[TAD0602]: the IR is not valid
// CHECK-NEXT: invalid_reduce_kind.mlir:6:10
// CHECK:      ^^^^^^^^^^ 'tad.reduce' op unknown kind 'sum'; has: prod, max, min, logsumexp
