// RUN: tadc %s --passes 'tad-reverse-diff' | filecheck %s
// The cotangent of an intermediate is a tensor of its own, made once.

func.func @f(%x: tensor<3xf64> {tad.name = "x"}) -> (tensor<3xf64> {tad.name = "f"}) {
  %h = tad.map (%i) -> tensor<3xf64> {
    %0 = tad.read %x[%i] : tensor<3xf64>
    %1 = math.sin %0 : f64
    tad.yield %1 : f64
  }
  %f = tad.map (%i) -> tensor<3xf64> {
    %2 = tad.read %h[%i] : tensor<3xf64>
    %3 = arith.mulf %2, %2 : f64
    tad.yield %3 : f64
  }
  return %f : tensor<3xf64>
}

// CHECK:        func.func @f_vjp(%x: tensor<3xf64> {tad.name = "x"}, %df: tensor<3xf64> {tad.cotangent_of = "f", tad.name = "df"}) -> (tensor<3xf64> {tad.gradient_of = "x", tad.name = "dx"}) {
// CHECK-NEXT:     %h = tad.map (%i) -> tensor<3xf64> {
// CHECK-NEXT:       %0 = tad.read %x[%i] : tensor<3xf64>
// CHECK-NEXT:       %1 = math.sin %0 : f64
// CHECK-NEXT:       tad.yield %1 : f64
// CHECK-NEXT:     }
// CHECK-NEXT:     %dh = tad.map (%i) -> tensor<3xf64> {
// CHECK-NEXT:       %0 = tad.sum (%i_0) in {%i_0 == %i, 0 <= %i_0 <= 2} -> f64 {
// CHECK-NEXT:         %cst = arith.constant 2.000000e+00 : f64
// CHECK-NEXT:         %1 = tad.read %h[%i_0] : tensor<3xf64>
// CHECK-NEXT:         %2 = tad.read %df[%i_0] : tensor<3xf64>
// CHECK-NEXT:         %3 = arith.mulf %cst, %2 : f64
// CHECK-NEXT:         %4 = arith.mulf %3, %1 : f64
// CHECK-NEXT:         tad.yield %4 : f64
// CHECK-NEXT:       }
// CHECK-NEXT:       tad.yield %0 : f64
// CHECK-NEXT:     }
// CHECK-NEXT:     %dx = tad.map (%i) -> tensor<3xf64> {
// CHECK-NEXT:       %0 = tad.sum (%i_0) in {%i_0 == %i, 0 <= %i_0 <= 2} -> f64 {
// CHECK-NEXT:         %1 = tad.read %x[%i_0] : tensor<3xf64>
// CHECK-NEXT:         %2 = math.cos %1 : f64
// CHECK-NEXT:         %3 = tad.read %dh[%i_0] : tensor<3xf64>
// CHECK-NEXT:         %4 = arith.mulf %3, %2 : f64
// CHECK-NEXT:         tad.yield %4 : f64
// CHECK-NEXT:       }
// CHECK-NEXT:       tad.yield %0 : f64
// CHECK-NEXT:     }
// CHECK-NEXT:     return %dx : tensor<3xf64>
// CHECK-NEXT:   }
