// RUN: tadc %s --passes 'tad-reverse-diff' | filecheck %s
// Conditions join the domain; so does the negation of a single inequality.

func.func @f(%x: tensor<5xf64> {tad.name = "x"}) -> (tensor<6xf64> {tad.name = "f"}) {
  %f = tad.map (%i) -> tensor<6xf64> {
    %0 = tad.guard where {%i >= 2} -> f64 {
      %1 = tad.read %x[%i - 1] : tensor<5xf64>
      tad.yield %1 : f64
    } else {
      %2 = tad.read %x[%i] : tensor<5xf64>
      %3 = arith.negf %2 : f64
      tad.yield %3 : f64
    }
    tad.yield %0 : f64
  }
  return %f : tensor<6xf64>
}

// CHECK:        func.func @f_vjp(%x: tensor<5xf64> {tad.name = "x"}, %df: tensor<6xf64> {tad.cotangent_of = "f", tad.name = "df"}) -> (tensor<5xf64> {tad.gradient_of = "x", tad.name = "dx"}) {
// CHECK-NEXT:     %dx = tad.map (%x_0) -> tensor<5xf64> {
// CHECK-NEXT:       %0 = tad.sum (%i) in {%i == %x_0, 0 <= %i <= 5, %i <= 1} -> f64 {
// CHECK-NEXT:         %3 = tad.read %df[%i] : tensor<6xf64>
// CHECK-NEXT:         %4 = arith.negf %3 : f64
// CHECK-NEXT:         tad.yield %4 : f64
// CHECK-NEXT:       }
// CHECK-NEXT:       %1 = tad.sum (%i) in {%i == %x_0 + 1, 0 <= %i <= 5, %i >= 2} -> f64 {
// CHECK-NEXT:         %3 = tad.read %df[%i] : tensor<6xf64>
// CHECK-NEXT:         tad.yield %3 : f64
// CHECK-NEXT:       }
// CHECK-NEXT:       %2 = arith.addf %0, %1 : f64
// CHECK-NEXT:       tad.yield %2 : f64
// CHECK-NEXT:     }
// CHECK-NEXT:     return %dx : tensor<5xf64>
// CHECK-NEXT:   }
