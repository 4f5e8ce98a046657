// RUN: tadc %s --passes 'tad-fold' | filecheck %s
// Arithmetic on literals is done, `z * y` becomes `y * z`, and equal tensors become one: a result is a copy.

func.func @f(%x: tensor<3xf64> {tad.name = "x"}, %y: tensor<3xf64> {tad.name = "y"}) -> (tensor<3xf64> {tad.name = "f"}, tensor<3xf64> {tad.name = "g"}) {
  %h = tad.map (%i) -> tensor<3xf64> {
    %0 = tad.read %x[%i] : tensor<3xf64>
    %1 = tad.read %y[%i] : tensor<3xf64>
    %2 = arith.mulf %0, %1 : f64
    %3 = arith.mulf %1, %0 : f64
    %4 = arith.addf %2, %3 : f64
    tad.yield %4 : f64
  }
  %k = tad.map (%i) -> tensor<3xf64> {
    %0 = tad.read %x[%i] : tensor<3xf64>
    %1 = tad.read %y[%i] : tensor<3xf64>
    %2 = arith.mulf %0, %1 : f64
    %3 = arith.addf %2, %2 : f64
    tad.yield %3 : f64
  }
  %f = tad.map (%i) -> tensor<3xf64> {
    %cst = arith.constant 3.0 : f64
    %cst_0 = arith.constant 0.5 : f64
    %0 = arith.mulf %cst, %cst_0 : f64
    %1 = tad.read %h[%i] : tensor<3xf64>
    %2 = arith.mulf %0, %1 : f64
    %3 = tad.read %k[%i] : tensor<3xf64>
    %4 = arith.addf %2, %3 : f64
    tad.yield %4 : f64
  }
  %g = tad.map (%i) -> tensor<3xf64> {
    %cst = arith.constant 1.5 : f64
    %0 = tad.read %h[%i] : tensor<3xf64>
    %1 = arith.mulf %cst, %0 : f64
    %2 = arith.addf %1, %0 : f64
    tad.yield %2 : f64
  }
  return %f, %g : tensor<3xf64>, tensor<3xf64>
}

// CHECK:        func.func @f(%x: tensor<3xf64> {tad.name = "x"}, %y: tensor<3xf64> {tad.name = "y"}) -> (tensor<3xf64> {tad.name = "f"}, tensor<3xf64> {tad.name = "g"}) {
// CHECK-NEXT:     %h = tad.map (%i) -> tensor<3xf64> {
// CHECK-NEXT:       %0 = tad.read %x[%i] : tensor<3xf64>
// CHECK-NEXT:       %1 = tad.read %y[%i] : tensor<3xf64>
// CHECK-NEXT:       %2 = arith.mulf %0, %1 : f64
// CHECK-NEXT:       %3 = arith.addf %2, %2 : f64
// CHECK-NEXT:       tad.yield %3 : f64
// CHECK-NEXT:     }
// CHECK-NEXT:     %f = tad.map (%i) -> tensor<3xf64> {
// CHECK-NEXT:       %cst = arith.constant 1.500000e+00 : f64
// CHECK-NEXT:       %0 = tad.read %h[%i] : tensor<3xf64>
// CHECK-NEXT:       %1 = arith.mulf %cst, %0 : f64
// CHECK-NEXT:       %2 = arith.addf %1, %0 : f64
// CHECK-NEXT:       tad.yield %2 : f64
// CHECK-NEXT:     }
// CHECK-NEXT:     %g = tad.map (%i) -> tensor<3xf64> {
// CHECK-NEXT:       %0 = tad.read %f[%i] : tensor<3xf64>
// CHECK-NEXT:       tad.yield %0 : f64
// CHECK-NEXT:     }
// CHECK-NEXT:     return %f, %g : tensor<3xf64>, tensor<3xf64>
// CHECK-NEXT:   }
