// RUN: tadc %s --passes tad-fuse | filecheck %s
// Sums over one set that share an exponential are one, in a map and of two maps; %g needs the value of another sum.

func.func @f(%a: tensor<9xf64> {tad.name = "a"}, %b: tensor<8xf64> {tad.name = "b"}) -> (tensor<9xf64> {tad.name = "f"}, tensor<9xf64> {tad.name = "g"}) {
  %f = tad.map (%i) -> tensor<9xf64> {
    %0 = tad.sum (%j) in {0 <= %j <= 7} -> f64 {
      %2 = tad.read %a[%i] : tensor<9xf64>
      %3 = tad.read %b[%j] : tensor<8xf64>
      %4 = arith.mulf %2, %3 : f64
      %5 = math.exp %4 : f64
      tad.yield %5 : f64
    }
    tad.yield %0 : f64
  }
  %g = tad.map (%i) -> tensor<9xf64> {
    %0 = tad.sum (%j) in {0 <= %j <= 7} -> f64 {
      %2 = tad.read %a[%i] : tensor<9xf64>
      %3 = tad.read %b[%j] : tensor<8xf64>
      %4 = arith.mulf %2, %3 : f64
      %5 = math.exp %4 : f64
      %6 = arith.mulf %5, %3 : f64
      tad.yield %6 : f64
    }
    %1 = tad.sum (%j) in {0 <= %j <= 7} -> f64 {
      %2 = tad.read %a[%i] : tensor<9xf64>
      %3 = tad.read %b[%j] : tensor<8xf64>
      %4 = arith.mulf %2, %3 : f64
      %5 = math.exp %4 : f64
      %6 = arith.mulf %5, %0 : f64
      tad.yield %6 : f64
    }
    tad.yield %1 : f64
  }
  return %f, %g : tensor<9xf64>, tensor<9xf64>
}

// CHECK:      %f:2 = tad.map (%i) -> tensor<9xf64>, tensor<9xf64> {
// CHECK-NEXT:   %0:2 = tad.sum (%j) in {0 <= %j <= 7} -> f64, f64 {
// CHECK-NEXT:     %2 = tad.read %a[%i] : tensor<9xf64>
// CHECK-NEXT:     %3 = tad.read %b[%j] : tensor<8xf64>
// CHECK-NEXT:     %4 = arith.mulf %2, %3 : f64
// CHECK-NEXT:     %5 = math.exp %4 : f64
// CHECK-NEXT:     %6 = arith.mulf %5, %3 : f64
// CHECK-NEXT:     tad.yield %5, %6 : f64, f64
// CHECK-NEXT:   }
// CHECK-NEXT:   %1 = tad.sum (%j) in {0 <= %j <= 7} -> f64 {
