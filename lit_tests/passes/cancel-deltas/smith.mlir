// RUN: tadc %s --passes 'tad-cancel-deltas' | filecheck %s
// No unit coefficient: the Smith normal form gives the kernel.

func.func @f(%df: tensor<4x3xf64> {tad.name = "df"}) -> (tensor<13xf64> {tad.name = "dx"}) {
  %dx = tad.map (%b) -> tensor<13xf64> {
    %0 = tad.sum (%i, %j) in {%i * 2 + %j * 3 == %b, 0 <= %i <= 3, 0 <= %j <= 2} -> f64 {
      %1 = tad.read %df[%i, %j] : tensor<4x3xf64>
      tad.yield %1 : f64
    }
    tad.yield %0 : f64
  }
  return %dx : tensor<13xf64>
}

// CHECK:        func.func @f(%df: tensor<4x3xf64> {tad.name = "df"}) -> (tensor<13xf64> {tad.name = "dx"}) {
// CHECK-NEXT:     %dx = tad.map (%b) -> tensor<13xf64> {
// CHECK-NEXT:       %0 = tad.sum (%z0) in {%b <= %z0 * 3 <= %b + 3, %z0 * 2 <= %b, %z0 * 2 >= %b - 2} -> f64 {
// CHECK-NEXT:         %1 = tad.read %df[%z0 * 3 - %b, %b - %z0 * 2] : tensor<4x3xf64>
// CHECK-NEXT:         tad.yield %1 : f64
// CHECK-NEXT:       }
// CHECK-NEXT:       tad.yield %0 : f64
// CHECK-NEXT:     }
// CHECK-NEXT:     return %dx : tensor<13xf64>
// CHECK-NEXT:   }
