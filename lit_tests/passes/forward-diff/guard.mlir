// RUN: tadc %s --passes 'tad-forward-diff' | filecheck %s
// A guard chooses between tangents; an output that no argument moves has the tangent 0.

func.func @f(%x: tensor<5xf64> {tad.name = "x"}) -> (tensor<6xf64> {tad.name = "f"}, tensor<2xf64> {tad.name = "g"}) {
  %f = tad.map (%i) -> tensor<6xf64> {
    %0 = tad.guard where {%i >= 2} -> f64 {
      %1 = tad.read %x[%i - 1] : tensor<5xf64>
      %2 = math.sin %1 : f64
      tad.yield %2 : f64
    } else {
      %3 = arith.constant 1.0 : f64
      tad.yield %3 : f64
    }
    tad.yield %0 : f64
  }
  %g = tad.map (%i) -> tensor<2xf64> {
    %0 = arith.constant 3.0 : f64
    tad.yield %0 : f64
  }
  return %f, %g : tensor<6xf64>, tensor<2xf64>
}

// CHECK:          func.func @f_jvp(%x: tensor<5xf64> {tad.name = "x"}, %x_dot: tensor<5xf64> {tad.name = "x_dot", tad.tangent_of = "x"}) -> (tensor<6xf64> {tad.name = "f"}, tensor<2xf64> {tad.name = "g"}, tensor<6xf64> {tad.name = "f_dot", tad.tangent_of = "f"}, tensor<2xf64> {tad.name = "g_dot", tad.tangent_of = "g"}) {
// CHECK-NEXT:       %f = tad.map (%i) -> tensor<6xf64> {
// CHECK-NEXT:         %0 = tad.guard where {%i >= 2} -> f64 {
// CHECK-NEXT:           %1 = tad.read %x[%i - 1] : tensor<5xf64>
// CHECK-NEXT:           %2 = math.sin %1 : f64
// CHECK-NEXT:           tad.yield %2 : f64
// CHECK-NEXT:         } else {
// CHECK-NEXT:           %cst = arith.constant 1.000000e+00 : f64
// CHECK-NEXT:           tad.yield %cst : f64
// CHECK-NEXT:         }
// CHECK-NEXT:         tad.yield %0 : f64
// CHECK-NEXT:       }
// CHECK-NEXT:       %g = tad.map (%i) -> tensor<2xf64> {
// CHECK-NEXT:         %cst = arith.constant 3.000000e+00 : f64
// CHECK-NEXT:         tad.yield %cst : f64
// CHECK-NEXT:       }
// CHECK-NEXT:       %f_dot = tad.map (%i) -> tensor<6xf64> {
// CHECK-NEXT:         %0 = tad.guard where {%i >= 2} -> f64 {
// CHECK-NEXT:           %1 = tad.read %x[%i - 1] : tensor<5xf64>
// CHECK-NEXT:           %2 = tad.read %x_dot[%i - 1] : tensor<5xf64>
// CHECK-NEXT:           %3 = math.cos %1 : f64
// CHECK-NEXT:           %4 = arith.mulf %2, %3 : f64
// CHECK-NEXT:           tad.yield %4 : f64
// CHECK-NEXT:         } else {
// CHECK-NEXT:           %cst = arith.constant 0.000000e+00 : f64
// CHECK-NEXT:           tad.yield %cst : f64
// CHECK-NEXT:         }
// CHECK-NEXT:         tad.yield %0 : f64
// CHECK-NEXT:       }
// CHECK-NEXT:       %g_dot = tad.map (%i) -> tensor<2xf64> {
// CHECK-NEXT:         %cst = arith.constant 0.000000e+00 : f64
// CHECK-NEXT:         tad.yield %cst : f64
// CHECK-NEXT:       }
// CHECK-NEXT:       return %f, %g, %f_dot, %g_dot : tensor<6xf64>, tensor<2xf64>, tensor<6xf64>, tensor<2xf64>
// CHECK-NEXT:     }
