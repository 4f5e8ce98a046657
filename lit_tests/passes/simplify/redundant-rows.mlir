// RUN: tadc %s --passes 'tad-simplify' | filecheck %s
// Rows of a domain that follow from the others, or from around, go.

func.func @f(%x: tensor<9xf64> {tad.name = "x"}) -> (tensor<5xf64> {tad.name = "f"}) {
  %f = tad.map (%i) -> tensor<5xf64> {
    %0 = tad.sum (%k) in {0 <= %k <= 8, %k <= %i, %k <= %i + 3} -> f64 {
      %1 = tad.read %x[%k] : tensor<9xf64>
      tad.yield %1 : f64
    }
    tad.yield %0 : f64
  }
  return %f : tensor<5xf64>
}

// CHECK:        func.func @f(%x: tensor<9xf64> {tad.name = "x"}) -> (tensor<5xf64> {tad.name = "f"}) {
// CHECK-NEXT:     %f = tad.map (%i) -> tensor<5xf64> {
// CHECK-NEXT:       %0 = tad.sum (%k) in {0 <= %k <= %i} -> f64 {
// CHECK-NEXT:         %1 = tad.read %x[%k] : tensor<9xf64>
// CHECK-NEXT:         tad.yield %1 : f64
// CHECK-NEXT:       }
// CHECK-NEXT:       tad.yield %0 : f64
// CHECK-NEXT:     }
// CHECK-NEXT:     return %f : tensor<5xf64>
// CHECK-NEXT:   }
