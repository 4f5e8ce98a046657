// Tensors of one body have one type.
// RUN: not tadc %s 2>&1 | filecheck %s

func.func @f(%a: tensor<4xf64>) -> (tensor<4xf64>, tensor<3xf64>) {
  %f:2 = "tad.map"() ({
  ^bb0(%i: index):
    %0 = tad.read %a[%i] : tensor<4xf64>
    "tad.yield"(%0, %0) : (f64, f64) -> ()
  }) {domain = affine_set<(d0) : (d0 >= 0, -d0 + 3 >= 0)>} : () -> (tensor<4xf64>, tensor<3xf64>)
  return %f#0, %f#1 : tensor<4xf64>, tensor<3xf64>
}

// CHECK:      error[TAD0601]: cannot read the IR
// CHECK:      expected 'tensor<4xf64>' but got 'tensor<3xf64>'
