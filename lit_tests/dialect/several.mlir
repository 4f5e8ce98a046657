// A map gives several tensors, and a sum several numbers, of one body.
// RUN: tadc %s --emit tad | filecheck %s
// RUN: tadc %s --emit tad > %t.mlir && tadc %t.mlir --emit tad | filecheck %s

func.func @f(%a: tensor<4xf64>) -> (tensor<4xf64>, tensor<4xf64>) {
  %f:2 = tad.map (%i) -> tensor<4xf64>, tensor<4xf64> {
    %0:2 = tad.sum (%k) in {0 <= %k <= 3} -> f64, f64 {
      %2 = tad.read %a[%k] : tensor<4xf64>
      %3 = math.exp %2 : f64
      tad.yield %2, %3 : f64, f64
    }
    %1 = arith.addf %0#0, %0#1 : f64
    tad.yield %1, %0#1 : f64, f64
  }
  return %f#1, %f#0 : tensor<4xf64>, tensor<4xf64>
}

// CHECK:      %f:2 = tad.map (%i) -> tensor<4xf64>, tensor<4xf64> {
// CHECK-NEXT:   %0:2 = tad.sum (%k) in {0 <= %k <= 3} -> f64, f64 {
// CHECK-NEXT:     %2 = tad.read %a[%k] : tensor<4xf64>
// CHECK-NEXT:     %3 = math.exp %2 : f64
// CHECK-NEXT:     tad.yield %2, %3 : f64, f64
// CHECK-NEXT:   }
// CHECK-NEXT:   %1 = arith.addf %0#0, %0#1 : f64
// CHECK-NEXT:   tad.yield %1, %0#1 : f64, f64
// CHECK-NEXT: }
// CHECK-NEXT: return %f#1, %f#0
