// RUN: tadc %s --passes 'tad-simplify' | filecheck %s
// Neutral elements and double signs go.

func.func @f(%x: tensor<5xf64> {tad.name = "x"}) -> (tensor<5xf64> {tad.name = "f"}) {
  %f = tad.map (%i) -> tensor<5xf64> {
    %one = arith.constant 1.0 : f64
    %zero = arith.constant 0.0 : f64
    %0 = tad.read %x[%i] : tensor<5xf64>
    %1 = arith.mulf %one, %0 : f64
    %2 = arith.addf %1, %zero : f64
    %3 = arith.negf %2 : f64
    %4 = arith.negf %3 : f64
    tad.yield %4 : f64
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
