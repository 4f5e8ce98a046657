// RUN: tadc %s --passes 'tad-reverse-diff' | filecheck %s
// The partial is the softmax; where all elements are -inf it is 0.

func.func @f(%x: tensor<3x4xf64> {tad.name = "x"}) -> (tensor<3xf64> {tad.name = "f"}) {
  %f = tad.map (%i) -> tensor<3xf64> {
    %0 = tad.reduce "logsumexp" (%k) in {0 <= %k <= %i} -> f64 {
      %1 = tad.read %x[%i, %k] : tensor<3x4xf64>
      tad.yield %1 : f64
    }
    tad.yield %0 : f64
  }
  return %f : tensor<3xf64>
}

// CHECK:        func.func @f_vjp(%x: tensor<3x4xf64> {tad.name = "x"}, %df: tensor<3xf64> {tad.cotangent_of = "f", tad.name = "df"}) -> (tensor<3x4xf64> {tad.gradient_of = "x", tad.name = "dx"}) {
// CHECK-NEXT:     %dx = tad.map (%i, %k) -> tensor<3x4xf64> {
// CHECK-NEXT:       %0 = tad.sum (%i_0, %k_1) in {%i_0 == %i, %k_1 == %k, 0 <= %i_0 <= 2, %k_1 >= 0, %i_0 >= %k_1} -> f64 {
// CHECK-NEXT:         %cst = arith.constant 0xFFF0000000000000 : f64
// CHECK-NEXT:         %cst_2 = arith.constant 0.000000e+00 : f64
// CHECK-NEXT:         %1 = tad.read %x[%i_0, %k_1] : tensor<3x4xf64>
// CHECK-NEXT:         %2 = tad.read %df[%i_0] : tensor<3xf64>
// CHECK-NEXT:         %3 = tad.reduce "logsumexp" (%k_3) in {0 <= %k_3 <= %i_0} -> f64 {
// CHECK-NEXT:           %9 = tad.read %x[%i_0, %k_3] : tensor<3x4xf64>
// CHECK-NEXT:           tad.yield %9 : f64
// CHECK-NEXT:         }
// CHECK-NEXT:         %4 = arith.subf %1, %3 : f64
// CHECK-NEXT:         %5 = math.exp %4 : f64
// CHECK-NEXT:         %6 = arith.mulf %2, %5 : f64
// CHECK-NEXT:         %7 = arith.cmpf une, %3, %cst : f64
// CHECK-NEXT:         %8 = arith.select %7, %6, %cst_2 : f64
// CHECK-NEXT:         tad.yield %8 : f64
// CHECK-NEXT:       }
// CHECK-NEXT:       tad.yield %0 : f64
// CHECK-NEXT:     }
// CHECK-NEXT:     return %dx : tensor<3x4xf64>
// CHECK-NEXT:   }
