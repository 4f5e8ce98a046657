// RUN: tadc %s --passes 'tad-cancel-deltas' | filecheck %s
// Equalities are solved for every kind, nothing is the kind's own; only a sum takes in a guard with 0.

func.func @f(%x: tensor<9xf64> {tad.name = "x"}) -> (tensor<9xf64> {tad.name = "f"}) {
  %f = tad.map (%b) -> tensor<9xf64> {
    %0 = tad.reduce "prod" (%i) in {%i * 2 == %b, 0 <= %i <= 3} -> f64 {
      %1 = tad.read %x[%i] : tensor<9xf64>
      tad.yield %1 : f64
    }
    %2 = tad.reduce "max" (%k) in {0 <= %k <= 8} -> f64 {
      %3 = tad.guard where {%k == %b} -> f64 {
        tad.yield %0 : f64
      } else {
        %zero = arith.constant 0.0 : f64
        tad.yield %zero : f64
      }
      tad.yield %3 : f64
    }
    tad.yield %2 : f64
  }
  return %f : tensor<9xf64>
}

// CHECK:        func.func @f(%x: tensor<9xf64> {tad.name = "x"}) -> (tensor<9xf64> {tad.name = "f"}) {
// CHECK-NEXT:     %f = tad.map (%b) -> tensor<9xf64> {
// CHECK-NEXT:       %0 = tad.reduce "max" (%k) in {0 <= %k <= 8} -> f64 {
// CHECK-NEXT:         %1 = tad.guard where {%k == %b} -> f64 {
// CHECK-NEXT:           %2 = tad.guard where {%b mod 2 == 0, %b <= 6} -> f64 {
// CHECK-NEXT:             %3 = tad.read %x[%b floordiv 2] : tensor<9xf64>
// CHECK-NEXT:             tad.yield %3 : f64
// CHECK-NEXT:           } else {
// CHECK-NEXT:             %cst = arith.constant 1.000000e+00 : f64
// CHECK-NEXT:             tad.yield %cst : f64
// CHECK-NEXT:           }
// CHECK-NEXT:           tad.yield %2 : f64
// CHECK-NEXT:         } else {
// CHECK-NEXT:           %cst = arith.constant 0.000000e+00 : f64
// CHECK-NEXT:           tad.yield %cst : f64
// CHECK-NEXT:         }
// CHECK-NEXT:         tad.yield %1 : f64
// CHECK-NEXT:       }
// CHECK-NEXT:       tad.yield %0 : f64
// CHECK-NEXT:     }
// CHECK-NEXT:     return %f : tensor<9xf64>
// CHECK-NEXT:   }
