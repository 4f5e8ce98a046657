// RUN: tadc %s --emit tad | filecheck %s
// RUN: tadc %s --emit tad > %t.mlir && tadc %t.mlir --emit tad | filecheck %s
// The kind stands before the indices; what is read is what is written.

func.func @f(%x: tensor<3x4xf64> {tad.name = "x"}) -> (tensor<3xf64> {tad.name = "f"}) {
  %f = tad.map (%i) -> tensor<3xf64> {
    %0 = tad.reduce "max" (%k, %l) in {0 <= %k <= %i, %l == %k + 1} -> f64 {
      %1 = tad.read %x[%k, %l] : tensor<3x4xf64>
      %2 = tad.reduce "logsumexp" (%k_0) [%k, %i] in {0 <= %k_0 <= %i, %k_0 <= %k} -> f64 {
        tad.yield %1 : f64
      }
      tad.yield %2 : f64
    }
    tad.yield %0 : f64
  }
  return %f : tensor<3xf64>
}

// CHECK:        func.func @f(%x: tensor<3x4xf64> {tad.name = "x"}) -> (tensor<3xf64> {tad.name = "f"}) {
// CHECK-NEXT:     %f = tad.map (%i) -> tensor<3xf64> {
// CHECK-NEXT:       %0 = tad.reduce "max" (%k, %l) in {0 <= %k <= %i, %l == %k + 1} -> f64 {
// CHECK-NEXT:         %1 = tad.read %x[%k, %l] : tensor<3x4xf64>
// CHECK-NEXT:         %2 = tad.reduce "logsumexp" (%k_0) [%k, %i] in {0 <= %k_0 <= %i, %k_0 <= %k} -> f64 {
// CHECK-NEXT:           tad.yield %1 : f64
// CHECK-NEXT:         }
// CHECK-NEXT:         tad.yield %2 : f64
// CHECK-NEXT:       }
// CHECK-NEXT:       tad.yield %0 : f64
// CHECK-NEXT:     }
// CHECK-NEXT:     return %f : tensor<3xf64>
// CHECK-NEXT:   }
