// The last argument of the region is the tensor itself.
// RUN: not tadc %s 2>&1 | filecheck %s

func.func @f() -> tensor<4xf64> {
  %f = "tad.scan"() ({
  ^bb0(%i: index):
    %cst = arith.constant 1.0 : f64
    "tad.yield"(%cst) : (f64) -> ()
  }) {domain = affine_set<(d0) : (d0 >= 0, -d0 + 3 >= 0)>, order = affine_map<(d0) -> (d0)>} : () -> tensor<4xf64>
  return %f : tensor<4xf64>
}

// CHECK:      error[TAD0602]: the IR is not valid
// CHECK:      'tad.scan' op the last region argument must be the tensor itself, tensor<4xf64>
