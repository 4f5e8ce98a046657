// RUN: tadc %s --passes "tad-forward-diff{wrt=x chunk=2 drop-values=true}" | filecheck %s
// Two tangents at once, of one argument; the value is not returned.

func.func @f(%x: tensor<3x4xf64> {tad.name = "x"}, %y: tensor<4xf64> {tad.name = "y"}) -> (tensor<3xf64> {tad.name = "f"}) {
  %f = tad.map (%i) -> tensor<3xf64> {
    %0 = tad.sum (%k) in {0 <= %k <= 3} -> f64 {
      %1 = tad.read %x[%i, %k] : tensor<3x4xf64>
      %2 = tad.read %y[%k] : tensor<4xf64>
      %3 = arith.mulf %1, %2 : f64
      tad.yield %3 : f64
    }
    tad.yield %0 : f64
  }
  return %f : tensor<3xf64>
}

// CHECK:          func.func @f_jvp(%x: tensor<3x4xf64> {tad.name = "x"}, %y: tensor<4xf64> {tad.name = "y"}, %x_dot: tensor<2x3x4xf64> {tad.name = "x_dot", tad.tangent_of = "x"}) -> (tensor<2x3xf64> {tad.name = "f_dot", tad.tangent_of = "f"}) {
// CHECK-NEXT:       %f_dot = tad.map (%tangent, %i) -> tensor<2x3xf64> {
// CHECK-NEXT:         %0 = tad.sum (%k) in {0 <= %k <= 3} -> f64 {
// CHECK-NEXT:           %1 = tad.read %y[%k] : tensor<4xf64>
// CHECK-NEXT:           %2 = tad.read %x_dot[%tangent, %i, %k] : tensor<2x3x4xf64>
// CHECK-NEXT:           %3 = arith.mulf %2, %1 : f64
// CHECK-NEXT:           tad.yield %3 : f64
// CHECK-NEXT:         }
// CHECK-NEXT:         tad.yield %0 : f64
// CHECK-NEXT:       }
// CHECK-NEXT:       return %f_dot : tensor<2x3xf64>
// CHECK-NEXT:     }
