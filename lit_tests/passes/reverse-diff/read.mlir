// RUN: tadc %s --passes 'tad-reverse-diff' | filecheck %s
// A read becomes a sum over all indices that read the element, with a delta in its domain.

func.func @f(%x: tensor<8xf64> {tad.name = "x"}) -> (tensor<3x4xf64> {tad.name = "f"}) {
  %f = tad.map (%i, %j) -> tensor<3x4xf64> {
    %0 = tad.read %x[%i + %j] : tensor<8xf64>
    %1 = math.exp %0 : f64
    tad.yield %1 : f64
  }
  return %f : tensor<3x4xf64>
}

// CHECK:        func.func @f_vjp(%x: tensor<8xf64> {tad.name = "x"}, %df: tensor<3x4xf64> {tad.cotangent_of = "f", tad.name = "df"}) -> (tensor<8xf64> {tad.gradient_of = "x", tad.name = "dx"}) {
// CHECK-NEXT:     %dx = tad.map (%x_0) -> tensor<8xf64> {
// CHECK-NEXT:       %0 = tad.sum (%i, %j) in {%i + %j == %x_0, 0 <= %i <= 2, 0 <= %j <= 3} -> f64 {
// CHECK-NEXT:         %1 = tad.read %x[%i + %j] : tensor<8xf64>
// CHECK-NEXT:         %2 = math.exp %1 : f64
// CHECK-NEXT:         %3 = tad.read %df[%i, %j] : tensor<3x4xf64>
// CHECK-NEXT:         %4 = arith.mulf %3, %2 : f64
// CHECK-NEXT:         tad.yield %4 : f64
// CHECK-NEXT:       }
// CHECK-NEXT:       tad.yield %0 : f64
// CHECK-NEXT:     }
// CHECK-NEXT:     return %dx : tensor<8xf64>
// CHECK-NEXT:   }
