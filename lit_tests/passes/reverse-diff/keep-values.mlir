// RUN: tadc %s --passes 'tad-reverse-diff{keep-values=true unit-cotangent=true}' | filecheck %s
// Values first, then gradients; the cotangent of a scalar may be 1.

func.func @f(%x: tensor<3xf64> {tad.name = "x"}) -> (tensor<f64> {tad.name = "f"}) {
  %f = tad.map () -> tensor<f64> {
    %0 = tad.sum (%i) in {0 <= %i <= 2} -> f64 {
      %1 = tad.read %x[%i] : tensor<3xf64>
      %2 = arith.mulf %1, %1 : f64
      tad.yield %2 : f64
    }
    tad.yield %0 : f64
  }
  return %f : tensor<f64>
}

// CHECK:        func.func @f_vjp(%x: tensor<3xf64> {tad.name = "x"}) -> (tensor<f64> {tad.name = "f"}, tensor<3xf64> {tad.gradient_of = "x", tad.name = "dx"}) {
// CHECK-NEXT:     %f = tad.map () -> tensor<f64> {
// CHECK-NEXT:       %0 = tad.sum (%i) in {0 <= %i <= 2} -> f64 {
// CHECK-NEXT:         %1 = tad.read %x[%i] : tensor<3xf64>
// CHECK-NEXT:         %2 = arith.mulf %1, %1 : f64
// CHECK-NEXT:         tad.yield %2 : f64
// CHECK-NEXT:       }
// CHECK-NEXT:       tad.yield %0 : f64
// CHECK-NEXT:     }
// CHECK-NEXT:     %dx = tad.map (%i) -> tensor<3xf64> {
// CHECK-NEXT:       %0 = tad.sum (%i_0) in {%i_0 == %i, 0 <= %i_0 <= 2} -> f64 {
// CHECK-NEXT:         %cst = arith.constant 2.000000e+00 : f64
// CHECK-NEXT:         %1 = tad.read %x[%i_0] : tensor<3xf64>
// CHECK-NEXT:         %2 = arith.mulf %cst, %1 : f64
// CHECK-NEXT:         tad.yield %2 : f64
// CHECK-NEXT:       }
// CHECK-NEXT:       tad.yield %0 : f64
// CHECK-NEXT:     }
// CHECK-NEXT:     return %f, %dx : tensor<f64>, tensor<3xf64>
// CHECK-NEXT:   }
