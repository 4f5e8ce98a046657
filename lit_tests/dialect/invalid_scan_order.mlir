// The order takes the indices of the tensor.
// RUN: not tadc %s 2>&1 | filecheck %s

func.func @f() -> tensor<4xf64> {
  %f = tad.scan %own (%i) by affine_map<(d0, d1) -> (d0)> -> tensor<4xf64> {
    %cst = arith.constant 1.0 : f64
    tad.yield %cst : f64
  }
  return %f : tensor<4xf64>
}

// CHECK:      error[TAD0602]: the IR is not valid
// CHECK-NEXT: invalid_scan_order.mlir:5:8
// CHECK:      'tad.scan' op order must take the 1 indices and yield one number
