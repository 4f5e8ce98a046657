// RUN: tadc %s --passes 'tad-forward-diff' | filecheck %s
// A sum keeps its domain; the tangent of a read is a read of the tangent at the same position.

func.func @f(%x: tensor<3x4xf64> {tad.name = "x"}, %y: tensor<4xf64> {tad.name = "y"}) -> (tensor<3xf64> {tad.name = "f"}) {
  %f = tad.map (%i) -> tensor<3xf64> {
    %0 = tad.sum (%k) in {0 <= %k <= 3} -> f64 {
      %1 = tad.read %x[%i, %k] : tensor<3x4xf64>
      %2 = tad.read %y[%k] : tensor<4xf64>
      %3 = arith.mulf %1, %2 : f64
      tad.yield %3 : f64
    }
    tad.yield %0 : f64
  }
  return %f : tensor<3xf64>
}

// CHECK:          func.func @f_jvp(%x: tensor<3x4xf64> {tad.name = "x"}, %y: tensor<4xf64> {tad.name = "y"}, %x_dot: tensor<3x4xf64> {tad.name = "x_dot", tad.tangent_of = "x"}, %y_dot: tensor<4xf64> {tad.name = "y_dot", tad.tangent_of = "y"}) -> (tensor<3xf64> {tad.name = "f"}, tensor<3xf64> {tad.name = "f_dot", tad.tangent_of = "f"}) {
// CHECK-NEXT:       %f = tad.map (%i) -> tensor<3xf64> {
// CHECK-NEXT:         %0 = tad.sum (%k) in {0 <= %k <= 3} -> f64 {
// CHECK-NEXT:           %1 = tad.read %y[%k] : tensor<4xf64>
// CHECK-NEXT:           %2 = tad.read %x[%i, %k] : tensor<3x4xf64>
// CHECK-NEXT:           %3 = arith.mulf %2, %1 : f64
// CHECK-NEXT:           tad.yield %3 : f64
// CHECK-NEXT:         }
// CHECK-NEXT:         tad.yield %0 : f64
// CHECK-NEXT:       }
// CHECK-NEXT:       %f_dot = tad.map (%i) -> tensor<3xf64> {
// CHECK-NEXT:         %0 = tad.sum (%k) in {0 <= %k <= 3} -> f64 {
// CHECK-NEXT:           %1 = tad.read %y[%k] : tensor<4xf64>
// CHECK-NEXT:           %2 = tad.read %x[%i, %k] : tensor<3x4xf64>
// CHECK-NEXT:           %3 = tad.read %y_dot[%k] : tensor<4xf64>
// CHECK-NEXT:           %4 = arith.mulf %3, %2 : f64
// CHECK-NEXT:           %5 = tad.read %x_dot[%i, %k] : tensor<3x4xf64>
// CHECK-NEXT:           %6 = arith.mulf %5, %1 : f64
// CHECK-NEXT:           %7 = arith.addf %6, %4 : f64
// CHECK-NEXT:           tad.yield %7 : f64
// CHECK-NEXT:         }
// CHECK-NEXT:         tad.yield %0 : f64
// CHECK-NEXT:       }
// CHECK-NEXT:       return %f, %f_dot : tensor<3xf64>, tensor<3xf64>
// CHECK-NEXT:     }
