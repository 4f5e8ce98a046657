// RUN: tadc %s --passes 'tad-cancel-deltas' | filecheck %s
// A stride leaves a divisibility guard and a floor division.

func.func @f(%df: tensor<4xf64> {tad.name = "df"}) -> (tensor<9xf64> {tad.name = "dx"}) {
  %dx = tad.map (%b) -> tensor<9xf64> {
    %0 = tad.sum (%i) in {%i * 2 == %b, 0 <= %i <= 3} -> f64 {
      %1 = tad.read %df[%i] : tensor<4xf64>
      tad.yield %1 : f64
    }
    tad.yield %0 : f64
  }
  return %dx : tensor<9xf64>
}

// CHECK:        func.func @f(%df: tensor<4xf64> {tad.name = "df"}) -> (tensor<9xf64> {tad.name = "dx"}) {
// CHECK-NEXT:     %dx = tad.map (%b) -> tensor<9xf64> {
// CHECK-NEXT:       %0 = tad.guard where {%b mod 2 == 0, %b <= 6} -> f64 {
// CHECK-NEXT:         %1 = tad.read %df[%b floordiv 2] : tensor<4xf64>
// CHECK-NEXT:         tad.yield %1 : f64
// CHECK-NEXT:       } else {
// CHECK-NEXT:         %cst = arith.constant 0.000000e+00 : f64
// CHECK-NEXT:         tad.yield %cst : f64
// CHECK-NEXT:       }
// CHECK-NEXT:       tad.yield %0 : f64
// CHECK-NEXT:     }
// CHECK-NEXT:     return %dx : tensor<9xf64>
// CHECK-NEXT:   }
