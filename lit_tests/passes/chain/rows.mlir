// RUN: tadc %s --passes tad-chain | filecheck %s
// %s and %f read rows of %e, which is large: they run with it, row by row. %c reads columns and comes after them.

func.func @f(%x: tensor<64x8192xf64> {tad.name = "x"}) -> (tensor<64x8192xf64> {tad.name = "f"}, tensor<8192xf64> {tad.name = "c"}) {
  %e = tad.map (%i, %j) -> tensor<64x8192xf64> {
    %0 = tad.read %x[%i, %j] : tensor<64x8192xf64>
    %1 = math.exp %0 : f64
    tad.yield %1 : f64
  }
  %c = tad.map (%j) -> tensor<8192xf64> {
    %0 = tad.reduce "max" (%i) in {0 <= %i <= 63} -> f64 {
      %1 = tad.read %e[%i, %j] : tensor<64x8192xf64>
      tad.yield %1 : f64
    }
    tad.yield %0 : f64
  }
  %s = tad.map (%i) -> tensor<64xf64> {
    %0 = tad.sum (%j) in {0 <= %j <= 8191} -> f64 {
      %1 = tad.read %e[%i, %j] : tensor<64x8192xf64>
      tad.yield %1 : f64
    }
    tad.yield %0 : f64
  }
  %f = tad.map (%i, %j) -> tensor<64x8192xf64> {
    %0 = tad.read %e[%i, %j] : tensor<64x8192xf64>
    %1 = tad.read %s[%i] : tensor<64xf64>
    %2 = arith.divf %0, %1 : f64
    tad.yield %2 : f64
  }
  return %f, %c : tensor<64x8192xf64>, tensor<8192xf64>
}

// CHECK:      %e = tad.map (%i, %j) attributes {tad.chain = array<i64: 0, 5>} -> tensor<64x8192xf64> {
// CHECK:      %s = tad.map (%i) attributes {tad.chain = array<i64: 0, 5>} -> tensor<64xf64> {
// CHECK:      %f = tad.map (%i, %j) attributes {tad.chain = array<i64: 0, 5>} -> tensor<64x8192xf64> {
// CHECK:      %c = tad.map (%j) -> tensor<8192xf64> {
