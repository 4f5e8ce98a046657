// Indices are looked up in tensors of i32.
// RUN: not tadc %s 2>&1 | filecheck %s

func.func @f(%a: tensor<4xf64>) -> tensor<4xf64> {
  %f = tad.map (%i) -> tensor<4xf64> {
    %t = tad.lookup %a[%i] : tensor<4xf64>
    %0 = tad.read %a[%t] : tensor<4xf64>
    tad.yield %0 : f64
  }
  return %f : tensor<4xf64>
}

// CHECK:      error[TAD0602]: the IR is not valid
// CHECK-NEXT: invalid_lookup.mlir:6:10
// CHECK:      ^^^^^^^^^^ 'tad.lookup' op array must be a tensor of i32, got tensor<4xf64>
