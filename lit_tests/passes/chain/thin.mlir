// RUN: tadc %s --passes tad-chain | filecheck %s
// All of %d but for the diagonal is in the chain of %e: what waits for %c is added in place.

func.func @f(%x: tensor<512x512xf64> {tad.name = "x"}) -> (tensor<512x512xf64> {tad.name = "d"}) {
  %e = tad.map (%i, %j) -> tensor<512x512xf64> {
    %0 = tad.read %x[%i, %j] : tensor<512x512xf64>
    %1 = math.exp %0 : f64
    tad.yield %1 : f64
  }
  %c = tad.map (%j) -> tensor<512xf64> {
    %0 = tad.reduce "max" (%i) in {0 <= %i <= 511} -> f64 {
      %1 = tad.read %e[%i, %j] : tensor<512x512xf64>
      tad.yield %1 : f64
    }
    tad.yield %0 : f64
  }
  %d = tad.map (%i, %j) -> tensor<512x512xf64> {
    %0 = tad.guard where {%i == %j} -> f64 {
      %4 = tad.read %c[%i] : tensor<512xf64>
      tad.yield %4 : f64
    } else {
      %cst = arith.constant 0.0 : f64
      tad.yield %cst : f64
    }
    %1 = tad.read %e[%i, %j] : tensor<512x512xf64>
    %2 = arith.negf %1 : f64
    %3 = arith.addf %0, %2 : f64
    tad.yield %3 : f64
  }
  return %d : tensor<512x512xf64>
}

// CHECK:      %d = tad.map (%i, %j) attributes {tad.chain = array<i64: 0, 60>} -> tensor<512x512xf64> {
// CHECK-NEXT:   %0 = tad.read %e[%i, %j] : tensor<512x512xf64>
// CHECK-NEXT:   %1 = arith.negf %0 : f64
// CHECK-NEXT:   tad.yield %1 : f64
// CHECK:      %c = tad.map (%j) -> tensor<512xf64> {
// CHECK:      tad.map (%i, %j) attributes {tad.in_place} -> tensor<512x512xf64> {
// CHECK-NEXT:   %0 = tad.guard where {%i == %j} -> f64 {
// CHECK-NEXT:     tad.read %c[%i] : tensor<512xf64>
// CHECK:        tad.guard where {%i == %j} -> f64 {
// CHECK-NEXT:     %[[ELEMENT:.*]] = tad.read %d[%i, %j] : tensor<512x512xf64>
// CHECK-NEXT:     arith.addf %0, %[[ELEMENT]] : f64
