// RUN: tadc %s --passes 'tad-cancel-deltas' | filecheck %s
// A unit coefficient is eliminated; the other index stays a loop, its bounds meet.

func.func @f(%df: tensor<3x4xf64> {tad.name = "df"}) -> (tensor<8xf64> {tad.name = "dx"}) {
  %dx = tad.map (%b) -> tensor<8xf64> {
    %0 = tad.sum (%i, %j) in {%i + %j == %b, 0 <= %i <= 2, 0 <= %j <= 3} -> f64 {
      %1 = tad.read %df[%i, %j] : tensor<3x4xf64>
      tad.yield %1 : f64
    }
    tad.yield %0 : f64
  }
  return %dx : tensor<8xf64>
}

// CHECK:        func.func @f(%df: tensor<3x4xf64> {tad.name = "df"}) -> (tensor<8xf64> {tad.name = "dx"}) {
// CHECK-NEXT:     %dx = tad.map (%b) -> tensor<8xf64> {
// CHECK-NEXT:       %0 = tad.sum (%j) in {%j <= %b, %j >= %b - 2, 0 <= %j <= 3} -> f64 {
// CHECK-NEXT:         %1 = tad.read %df[%b - %j, %j] : tensor<3x4xf64>
// CHECK-NEXT:         tad.yield %1 : f64
// CHECK-NEXT:       }
// CHECK-NEXT:       tad.yield %0 : f64
// CHECK-NEXT:     }
// CHECK-NEXT:     return %dx : tensor<8xf64>
// CHECK-NEXT:   }
