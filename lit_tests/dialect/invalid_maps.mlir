// Tensors of one body have one type, and an element each.
// RUN: not tadc %s 2>&1 | filecheck %s

func.func @f(%a: tensor<4xf64>) -> (tensor<4xf64>, tensor<4xf64>) {
  %f:2 = "tad.map"() ({
  ^bb0(%i: index):
    %0 = tad.read %a[%i] : tensor<4xf64>
    "tad.yield"(%0) : (f64) -> ()
  }) {domain = affine_set<(d0) : (d0 >= 0, -d0 + 3 >= 0)>} : () -> (tensor<4xf64>, tensor<4xf64>)
  return %f#0, %f#1 : tensor<4xf64>, tensor<4xf64>
}

// CHECK:      error[TAD0602]: the IR is not valid
// CHECK:      'tad.yield' op yields f64 but 'tad.map' needs f64, f64
