// A guard has two regions.
// RUN: not tadc %s 2>&1 | filecheck %s

func.func @f(%a: tensor<4xf64>, %b: tensor<4x4xf32>) -> tensor<4xf64> {
  %f = tad.map (%i) -> tensor<4xf64> {
    %0 = tad.read %a[%i] : tensor<4xf64>
    %1 = tad.guard where {%i >= 1} -> f64 { tad.yield %0 : f64 }
    tad.yield %0 : f64
  }
  return %f : tensor<4xf64>
}

// CHECK:      error[TAD0601]: cannot read the IR
// CHECK-NEXT: invalid_guard_else.mlir:8:5
// CHECK:      ^^^^^^^^^ expected `else`, found `tad.yield`
