// RUN: tadc %s --passes 'tad-reverse-diff' | filecheck %s
// Elements equal to the maximum share its cotangent evenly.

func.func @f(%x: tensor<3x4xf64> {tad.name = "x"}) -> (tensor<3xf64> {tad.name = "f"}) {
  %f = tad.map (%i) -> tensor<3xf64> {
    %0 = tad.reduce "max" (%k) in {0 <= %k <= %i} -> f64 {
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
// CHECK-NEXT:         %cst = arith.constant 0.000000e+00 : f64
// CHECK-NEXT:         %1 = tad.read %df[%i_0] : tensor<3xf64>
// CHECK-NEXT:         %2 = tad.read %x[%i_0, %k_1] : tensor<3x4xf64>
// CHECK-NEXT:         %3 = tad.reduce "max" (%k_2) in {0 <= %k_2 <= %i_0} -> f64 {
// CHECK-NEXT:           %8 = tad.read %x[%i_0, %k_2] : tensor<3x4xf64>
// CHECK-NEXT:           tad.yield %8 : f64
// CHECK-NEXT:         }
// CHECK-NEXT:         %4 = tad.sum (%k_2) in {0 <= %k_2 <= %i_0} -> f64 {
// CHECK-NEXT:           %cst_3 = arith.constant 1.000000e+00 : f64
// CHECK-NEXT:           %8 = tad.read %x[%i_0, %k_2] : tensor<3x4xf64>
// CHECK-NEXT:           %9 = arith.cmpf oeq, %8, %3 : f64
// CHECK-NEXT:           %10 = arith.select %9, %cst_3, %cst : f64
// CHECK-NEXT:           tad.yield %10 : f64
// CHECK-NEXT:         }
// CHECK-NEXT:         %5 = arith.divf %1, %4 : f64
// CHECK-NEXT:         %6 = arith.cmpf oeq, %2, %3 : f64
// CHECK-NEXT:         %7 = arith.select %6, %5, %cst : f64
// CHECK-NEXT:         tad.yield %7 : f64
// CHECK-NEXT:       }
// CHECK-NEXT:       tad.yield %0 : f64
// CHECK-NEXT:     }
// CHECK-NEXT:     return %dx : tensor<3x4xf64>
// CHECK-NEXT:   }
