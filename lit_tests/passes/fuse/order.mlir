// RUN: tadc %s --passes tad-fuse | filecheck %s
// %g reads %t, which reads %f elsewhere: %f and %g stay apart. %h is computed with %f, so %s comes before both.

func.func @f(%a: tensor<9xf64> {tad.name = "a"}, %b: tensor<8xf64> {tad.name = "b"}) -> (tensor<9xf64> {tad.name = "f"}, tensor<9xf64> {tad.name = "g"}, tensor<9xf64> {tad.name = "h"}) {
  %f = tad.map (%i) -> tensor<9xf64> {
    %0 = tad.read %a[%i] : tensor<9xf64>
    %1 = math.exp %0 : f64
    tad.yield %1 : f64
  }
  %t = tad.map (%i) -> tensor<9xf64> {
    %0 = tad.read %f[-%i + 8] : tensor<9xf64>
    tad.yield %0 : f64
  }
  %g = tad.map (%i) -> tensor<9xf64> {
    %0 = tad.read %f[%i] : tensor<9xf64>
    %1 = tad.read %t[%i] : tensor<9xf64>
    %2 = arith.mulf %0, %1 : f64
    tad.yield %2 : f64
  }
  %s = tad.map () -> tensor<f64> {
    %0 = tad.sum (%k) in {0 <= %k <= 7} -> f64 {
      %1 = tad.read %b[%k] : tensor<8xf64>
      tad.yield %1 : f64
    }
    tad.yield %0 : f64
  }
  %h = tad.map (%i) -> tensor<9xf64> {
    %0 = tad.read %f[%i] : tensor<9xf64>
    %1 = tad.read %s[] : tensor<f64>
    %2 = arith.mulf %0, %1 : f64
    tad.yield %2 : f64
  }
  return %f, %g, %h : tensor<9xf64>, tensor<9xf64>, tensor<9xf64>
}

// CHECK:      %s = tad.map () -> tensor<f64> {
// CHECK:      %f:2 = tad.map (%i) -> tensor<9xf64>, tensor<9xf64> {
// CHECK:        tad.yield
// CHECK:      %g = tad.map (%i) -> tensor<9xf64> {
// CHECK-NEXT:   %0 = tad.read %f#0[-%i + 8] : tensor<9xf64>
// CHECK-NEXT:   %1 = tad.read %f#0[%i] : tensor<9xf64>
// CHECK-NEXT:   %2 = arith.mulf %1, %0 : f64
// CHECK-NEXT:   tad.yield %2 : f64
// CHECK:      return %f#0, %g, %f#1
