// A sum adds up what it is of.
// RUN: not tadc %s 2>&1 | filecheck %s

func.func @f(%a: tensor<4xf64>, %b: tensor<4x4xf32>) -> tensor<4xf64> {
  %f = tad.map (%i) -> tensor<4xf64> {
    %0 = tad.read %a[%i] : tensor<4xf64>
    %1 = tad.sum (%k) in {0 <= %k <= 3} -> f32 { tad.yield %0 : f64 }
    tad.yield %0 : f64
  }
  return %f : tensor<4xf64>
}

// CHECK:      error[TAD0602]: the IR is not valid
// CHECK-NEXT: invalid_sum_yield.mlir:7:50
// CHECK:      ^^^^^^^^^ 'tad.yield' op yields f64 but 'tad.sum' needs f32
