// RUN: tadc %s --passes 'tad-reverse-diff{wrt=x}' | filecheck %s
// The indices of a sum join those of the tensor.

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

// CHECK:        func.func @f_vjp(%x: tensor<3x4xf64> {tad.name = "x"}, %y: tensor<4xf64> {tad.name = "y"}, %df: tensor<3xf64> {tad.cotangent_of = "f", tad.name = "df"}) -> (tensor<3x4xf64> {tad.gradient_of = "x", tad.name = "dx"}) {
// CHECK-NEXT:     %dx = tad.map (%i, %k) -> tensor<3x4xf64> {
// CHECK-NEXT:       %0 = tad.sum (%i_0, %k_1) in {%i_0 == %i, %k_1 == %k, 0 <= %i_0 <= 2, 0 <= %k_1 <= 3} -> f64 {
// CHECK-NEXT:         %1 = tad.read %y[%k_1] : tensor<4xf64>
// CHECK-NEXT:         %2 = tad.read %df[%i_0] : tensor<3xf64>
// CHECK-NEXT:         %3 = arith.mulf %2, %1 : f64
// CHECK-NEXT:         tad.yield %3 : f64
// CHECK-NEXT:       }
// CHECK-NEXT:       tad.yield %0 : f64
// CHECK-NEXT:     }
// CHECK-NEXT:     return %dx : tensor<3x4xf64>
// CHECK-NEXT:   }
