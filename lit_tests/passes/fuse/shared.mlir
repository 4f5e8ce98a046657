// RUN: tadc %s --passes tad-fuse | filecheck %s
// Maps that read the same elements: their common subexpressions are computed once.

func.func @f(%a: tensor<9xf64> {tad.name = "a"}, %b: tensor<9xf64> {tad.name = "b"}) -> (tensor<9xf64> {tad.name = "f"}, tensor<9xf64> {tad.name = "g"}) {
  %f = tad.map (%i) -> tensor<9xf64> {
    %0 = tad.read %a[%i] : tensor<9xf64>
    %1 = math.exp %0 : f64
    tad.yield %1 : f64
  }
  %g = tad.map (%i) -> tensor<9xf64> {
    %0 = tad.read %b[%i] : tensor<9xf64>
    %1 = tad.read %a[%i] : tensor<9xf64>
    %2 = math.exp %1 : f64
    %3 = arith.mulf %0, %2 : f64
    tad.yield %3 : f64
  }
  return %f, %g : tensor<9xf64>, tensor<9xf64>
}

// CHECK:      %f:2 = tad.map (%i) -> tensor<9xf64>, tensor<9xf64> {
// CHECK-NEXT:   %0 = tad.read %a[%i] : tensor<9xf64>
// CHECK-NEXT:   %1 = math.exp %0 : f64
// CHECK-NEXT:   %2 = tad.read %b[%i] : tensor<9xf64>
// CHECK-NEXT:   %3 = arith.mulf %2, %1 : f64
// CHECK-NEXT:   tad.yield %1, %3 : f64, f64
// CHECK-NEXT: }
// CHECK-NEXT: return %f#0, %f#1
