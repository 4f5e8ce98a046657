// RUN: tadc %s --passes 'tad-simplify' | filecheck %s
// A guard that always holds disappears; one that never holds leaves its other branch.

func.func @f(%x: tensor<5xf64> {tad.name = "x"}) -> (tensor<5xf64> {tad.name = "f"}) {
  %f = tad.map (%i) -> tensor<5xf64> {
    %0 = tad.guard where {%i <= 4} -> f64 {
      %1 = tad.guard where {%i >= 7} -> f64 {
        %zero = arith.constant 0.0 : f64
        tad.yield %zero : f64
      } else {
        %2 = tad.read %x[%i] : tensor<5xf64>
        tad.yield %2 : f64
      }
      tad.yield %1 : f64
    } else {
      %one = arith.constant 1.0 : f64
      tad.yield %one : f64
    }
    tad.yield %0 : f64
  }
  return %f : tensor<5xf64>
}

// CHECK:        func.func @f(%x: tensor<5xf64> {tad.name = "x"}) -> (tensor<5xf64> {tad.name = "f"}) {
// CHECK-NEXT:     %f = tad.map (%i) -> tensor<5xf64> {
// CHECK-NEXT:       %0 = tad.read %x[%i] : tensor<5xf64>
// CHECK-NEXT:       tad.yield %0 : f64
// CHECK-NEXT:     }
// CHECK-NEXT:     return %f : tensor<5xf64>
// CHECK-NEXT:   }
