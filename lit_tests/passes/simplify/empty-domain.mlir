// RUN: tadc %s --passes 'tad-simplify' | filecheck %s
// A reduction over no point is a literal.

func.func @f(%x: tensor<3xf64> {tad.name = "x"}) -> (tensor<3xf64> {tad.name = "f"}) {
  %f = tad.map (%i) -> tensor<3xf64> {
    %0 = tad.reduce "min" (%k) in {3 <= %k <= %i} -> f64 {
      %1 = tad.read %x[%i] : tensor<3xf64>
      tad.yield %1 : f64
    }
    %2 = tad.reduce "prod" (%k) in {3 <= %k <= %i} -> f64 {
      tad.yield %0 : f64
    }
    %3 = arith.addf %0, %2 : f64
    tad.yield %3 : f64
  }
  return %f : tensor<3xf64>
}

// CHECK:        func.func @f(%x: tensor<3xf64> {tad.name = "x"}) -> (tensor<3xf64> {tad.name = "f"}) {
// CHECK-NEXT:     %f = tad.map (%i) -> tensor<3xf64> {
// CHECK-NEXT:       %cst = arith.constant 1.000000e+00 : f64
// CHECK-NEXT:       %cst_0 = arith.constant 0x7FF0000000000000 : f64
// CHECK-NEXT:       %0 = arith.addf %cst_0, %cst : f64
// CHECK-NEXT:       tad.yield %0 : f64
// CHECK-NEXT:     }
// CHECK-NEXT:     return %f : tensor<3xf64>
// CHECK-NEXT:   }
