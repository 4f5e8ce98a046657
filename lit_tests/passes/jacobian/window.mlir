// RUN: tadc %s --passes 'tad-jacobian{wrt=x},tad-cancel-deltas,tad-simplify' | filecheck %s
// The indices of the output's element come first; equalities say which elements it reads.

func.func @f(%x: tensor<9xf64> {tad.name = "x"}, %w: tensor<3xf64> {tad.name = "w"}) -> (tensor<7xf64> {tad.name = "f"}) {
  %f = tad.map (%i) -> tensor<7xf64> {
    %0 = tad.sum (%k) in {0 <= %k <= 2} -> f64 {
      %1 = tad.read %x[%i + %k] : tensor<9xf64>
      %2 = tad.read %w[%k] : tensor<3xf64>
      %3 = arith.mulf %1, %2 : f64
      tad.yield %3 : f64
    }
    tad.yield %0 : f64
  }
  return %f : tensor<7xf64>
}

// CHECK:          func.func @f_jacobian(%x: tensor<9xf64> {tad.name = "x"}, %w: tensor<3xf64> {tad.name = "w"}) -> (tensor<7x9xf64> {tad.gradient_of = "x", tad.name = "df_dx", tad.tangent_of = "f"}) {
// CHECK-NEXT:       %df_dx = tad.map (%i, %x_0) -> tensor<7x9xf64> {
// CHECK-NEXT:         %0 = tad.guard where {%x_0 >= %i, %i >= %x_0 - 2} -> f64 {
// CHECK-NEXT:           %1 = tad.read %w[%x_0 - %i] : tensor<3xf64>
// CHECK-NEXT:           tad.yield %1 : f64
// CHECK-NEXT:         } else {
// CHECK-NEXT:           %cst = arith.constant 0.000000e+00 : f64
// CHECK-NEXT:           tad.yield %cst : f64
// CHECK-NEXT:         }
// CHECK-NEXT:         tad.yield %0 : f64
// CHECK-NEXT:       }
// CHECK-NEXT:       return %df_dx : tensor<7x9xf64>
// CHECK-NEXT:     }
