// Each sum has an element of its type.
// RUN: not tadc %s 2>&1 | filecheck %s

func.func @f(%a: tensor<4xf64>) -> tensor<4xf64> {
  %f = tad.map (%i) -> tensor<4xf64> {
    %0:2 = "tad.sum"() ({
    ^bb0(%k: index):
      %1 = tad.read %a[%k] : tensor<4xf64>
      "tad.yield"(%1) : (f64) -> ()
    }) {domain = affine_set<(d0) : (d0 >= 0, -d0 + 3 >= 0)>} : () -> (f64, f64)
    %2 = arith.addf %0#0, %0#1 : f64
    tad.yield %2 : f64
  }
  return %f : tensor<4xf64>
}

// CHECK:      error[TAD0602]: the IR is not valid
// CHECK:      'tad.yield' op yields f64 but 'tad.sum' needs f64, f64
