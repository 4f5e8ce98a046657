// RUN: tadc %s --passes tad-drop-zeros | filecheck %s
// Differences from the mean add up to 0, whatever their common factor.

func.func @f(%x: tensor<3x4xf64> {tad.name = "x"}, %df: tensor<3xf64> {tad.cotangent_of = "f", tad.name = "df"}) -> (tensor<3x4xf64> {tad.gradient_of = "x", tad.name = "dx"}) {
  %m = tad.map (%i) -> tensor<3xf64> {
    %cst = arith.constant 4.0 : f64
    %0 = tad.sum (%k) in {0 <= %k <= 3} -> f64 {
      %2 = tad.read %x[%i, %k] : tensor<3x4xf64>
      tad.yield %2 : f64
    }
    %1 = arith.divf %0, %cst : f64
    tad.yield %1 : f64
  }
  %dm = tad.map (%i) -> tensor<3xf64> {
    %0 = tad.sum (%k) in {0 <= %k <= 3} -> f64 {
      %1 = tad.read %df[%i] : tensor<3xf64>
      %2 = tad.read %x[%i, %k] : tensor<3x4xf64>
      %3 = tad.read %m[%i] : tensor<3xf64>
      %4 = arith.subf %2, %3 : f64
      %5 = arith.mulf %1, %4 : f64
      %6 = arith.addf %2, %5 : f64
      tad.yield %6 : f64
    }
    tad.yield %0 : f64
  }
  %dx = tad.map (%i, %k) -> tensor<3x4xf64> {
    %0 = tad.read %df[%i] : tensor<3xf64>
    %1 = tad.read %dm[%i] : tensor<3xf64>
    %2 = arith.mulf %0, %1 : f64
    tad.yield %2 : f64
  }
  return %dx : tensor<3x4xf64>
}

// CHECK: func.func @f(%x: tensor<3x4xf64> {tad.name = "x"}, %df: tensor<3xf64> {tad.cotangent_of = "f", tad.name = "df"}) -> (tensor<3x4xf64> {tad.gradient_of = "x", tad.name = "dx"}) {
// CHECK-NEXT: %dm = tad.map (%i) -> tensor<3xf64> {
// CHECK-NEXT: %0 = tad.sum (%k) in {0 <= %k <= 3} -> f64 {
// CHECK-NEXT: %1 = tad.read %x[%i, %k] : tensor<3x4xf64>
// CHECK-NEXT: tad.yield %1 : f64
// CHECK-NEXT: }
// CHECK-NEXT: tad.yield %0 : f64
// CHECK-NEXT: }
// CHECK-NEXT: %dx = tad.map (%i, %k) -> tensor<3x4xf64> {
// CHECK-NEXT: %0 = tad.read %df[%i] : tensor<3xf64>
// CHECK-NEXT: %1 = tad.read %dm[%i] : tensor<3xf64>
// CHECK-NEXT: %2 = arith.mulf %0, %1 : f64
// CHECK-NEXT: tad.yield %2 : f64
// CHECK-NEXT: }
// CHECK-NEXT: return %dx : tensor<3x4xf64>
// CHECK-NEXT: }
