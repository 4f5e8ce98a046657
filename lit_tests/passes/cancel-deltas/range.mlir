// RUN: tadc %s --passes 'tad-cancel-deltas' | filecheck %s
// A full-rank map leaves range guards, where they are needed.

func.func @f(%df: tensor<7xf64> {tad.name = "df"}) -> (tensor<10xf64> {tad.name = "dx"}) {
  %dx = tad.map (%b) -> tensor<10xf64> {
    %0 = tad.sum (%i) in {%i + 2 == %b, 0 <= %i <= 6} -> f64 {
      %1 = tad.read %df[%i] : tensor<7xf64>
      tad.yield %1 : f64
    }
    tad.yield %0 : f64
  }
  return %dx : tensor<10xf64>
}

// CHECK:        func.func @f(%df: tensor<7xf64> {tad.name = "df"}) -> (tensor<10xf64> {tad.name = "dx"}) {
// CHECK-NEXT:     %dx = tad.map (%b) -> tensor<10xf64> {
// CHECK-NEXT:       %0 = tad.guard where {2 <= %b <= 8} -> f64 {
// CHECK-NEXT:         %1 = tad.read %df[%b - 2] : tensor<7xf64>
// CHECK-NEXT:         tad.yield %1 : f64
// CHECK-NEXT:       } else {
// CHECK-NEXT:         %cst = arith.constant 0.000000e+00 : f64
// CHECK-NEXT:         tad.yield %cst : f64
// CHECK-NEXT:       }
// CHECK-NEXT:       tad.yield %0 : f64
// CHECK-NEXT:     }
// CHECK-NEXT:     return %dx : tensor<10xf64>
// CHECK-NEXT:   }
