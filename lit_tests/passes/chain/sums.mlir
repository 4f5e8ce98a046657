// RUN: tadc %s --passes tad-chain | filecheck %s
// %c sums over all rows of %e: its parts, one for the rows of each step, are in the chain.

func.func @f(%x: tensor<640x8192xf64> {tad.name = "x"}) -> (tensor<8192xf64> {tad.name = "c"}) {
  %e = tad.map (%i, %j) -> tensor<640x8192xf64> {
    %0 = tad.read %x[%i, %j] : tensor<640x8192xf64>
    %1 = math.exp %0 : f64
    tad.yield %1 : f64
  }
  %s = tad.map (%i) -> tensor<640xf64> {
    %0 = tad.sum (%j) in {0 <= %j <= 8191} -> f64 {
      %1 = tad.read %e[%i, %j] : tensor<640x8192xf64>
      tad.yield %1 : f64
    }
    tad.yield %0 : f64
  }
  %c = tad.map (%j) -> tensor<8192xf64> {
    %0 = tad.sum (%i) in {0 <= %i <= 639} -> f64 {
      %1 = tad.read %e[%i, %j] : tensor<640x8192xf64>
      %2 = tad.read %s[%i] : tensor<640xf64>
      %3 = arith.divf %1, %2 : f64
      tad.yield %3 : f64
    }
    tad.yield %0 : f64
  }
  return %c : tensor<8192xf64>
}

// CHECK:      %s = tad.map (%i) attributes {tad.chain = array<i64: 0, 5>} -> tensor<640xf64> {
// CHECK:      %[[PARTS:.*]] = tad.map (%[[STEP:.*]], %j) attributes {tad.chain = array<i64: 0, 5>, tad.chain_steps} -> tensor<128x8192xf64> {
// CHECK-NEXT:   %0 = tad.sum (%i) in {0 <= %i <= 4} -> f64 {
// CHECK-NEXT:     %1 = tad.read %e[%i + %[[STEP]] * 5, %j] : tensor<640x8192xf64>
// CHECK-NEXT:     %2 = tad.read %s[%i + %[[STEP]] * 5] : tensor<640xf64>
// CHECK:      tad.map (%j) -> tensor<8192xf64> {
// CHECK-NEXT:   %0 = tad.sum (%step) in {0 <= %step <= 127} -> f64 {
// CHECK-NEXT:     tad.read %[[PARTS]][%step, %j] : tensor<128x8192xf64>
