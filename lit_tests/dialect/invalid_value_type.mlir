// An index becomes a float.
// RUN: not tadc %s 2>&1 | filecheck %s

func.func @f(%a: tensor<4xf64>, %b: tensor<4x4xf32>) -> tensor<4xf64> {
  %f = tad.map (%i) -> tensor<4xf64> {
    %0 = tad.read %a[%i] : tensor<4xf64>
    %1 = tad.value_of %i : i64
    tad.yield %0 : f64
  }
  return %f : tensor<4xf64>
}

// CHECK:      error[TAD0602]: the IR is not valid
// CHECK-NEXT: invalid_value_type.mlir:7:10
// CHECK:      ^^^^^^^^^^^^ 'tad.value_of' op result must be f16, bf16, f32 or f64, got i64
