// RUN: tadc %s --passes 'tad-reverse-diff' | filecheck %s
// The partial is the product over the other points, with no division.

func.func @f(%x: tensor<3x4xf64> {tad.name = "x"}) -> (tensor<3xf64> {tad.name = "f"}) {
  %f = tad.map (%i) -> tensor<3xf64> {
    %0 = tad.reduce "prod" (%k) in {0 <= %k <= %i} -> f64 {
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
// CHECK-NEXT:         %1 = tad.read %df[%i_0] : tensor<3xf64>
// CHECK-NEXT:         %2 = tad.reduce "prod" (%k_2) in {0 <= %k_2 <= %i_0} -> f64 {
// CHECK-NEXT:           %4 = tad.guard where {%k_2 == %k_1} -> f64 {
// CHECK-NEXT:             %cst = arith.constant 1.000000e+00 : f64
// CHECK-NEXT:             tad.yield %cst : f64
// CHECK-NEXT:           } else {
// CHECK-NEXT:             %5 = tad.read %x[%i_0, %k_2] : tensor<3x4xf64>
// CHECK-NEXT:             tad.yield %5 : f64
// CHECK-NEXT:           }
// CHECK-NEXT:           tad.yield %4 : f64
// CHECK-NEXT:         }
// CHECK-NEXT:         %3 = arith.mulf %1, %2 : f64
// CHECK-NEXT:         tad.yield %3 : f64
// CHECK-NEXT:       }
// CHECK-NEXT:       tad.yield %0 : f64
// CHECK-NEXT:     }
// CHECK-NEXT:     return %dx : tensor<3x4xf64>
// CHECK-NEXT:   }
