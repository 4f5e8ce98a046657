// RUN: tadc %s --passes tad-fuse | filecheck %s
// A tensor that one map alone reads, at the element that it computes, is a value: in a guard and in a sum too.

func.func @f(%a: tensor<9x7xf64> {tad.name = "a"}) -> (tensor<9x7xf64> {tad.name = "f"}) {
  %t = tad.map (%i, %j) -> tensor<9x7xf64> {
    %0 = tad.read %a[%i, %j] : tensor<9x7xf64>
    %1 = math.sin %0 : f64
    tad.yield %1 : f64
  }
  %f = tad.map (%i, %j) -> tensor<9x7xf64> {
    %0 = tad.sum (%k) in {0 <= %k <= 6} -> f64 {
      %1 = tad.read %a[%i, %k] : tensor<9x7xf64>
      %2 = tad.read %t[%i, %j] : tensor<9x7xf64>
      %3 = arith.addf %1, %2 : f64
      tad.yield %3 : f64
    }
    %4 = tad.guard where {%i >= %j} -> f64 {
      %5 = tad.read %t[%i, %j] : tensor<9x7xf64>
      tad.yield %5 : f64
    } else {
      tad.yield %0 : f64
    }
    tad.yield %4 : f64
  }
  return %f : tensor<9x7xf64>
}

// CHECK:      %f = tad.map (%i, %j) -> tensor<9x7xf64> {
// CHECK-NEXT:   %0 = tad.read %a[%i, %j] : tensor<9x7xf64>
// CHECK-NEXT:   %1 = math.sin %0 : f64
// CHECK-NEXT:   %2 = tad.sum (%k) in {0 <= %k <= 6} -> f64 {
// CHECK-NEXT:     %4 = tad.read %a[%i, %k] : tensor<9x7xf64>
// CHECK-NEXT:     %5 = arith.addf %4, %1 : f64
// CHECK-NEXT:     tad.yield %5 : f64
// CHECK-NEXT:   }
// CHECK-NEXT:   %3 = tad.guard where {%i >= %j} -> f64 {
// CHECK-NEXT:     tad.yield %1 : f64
// CHECK:        tad.yield %3 : f64
