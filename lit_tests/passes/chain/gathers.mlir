// RUN: tadc %s --passes tad-chain | filecheck %s
// All rows of %e read the diagonal of %x, which is gathered once.

func.func @f(%x: tensor<512x512xf64> {tad.name = "x"}) -> (tensor<512xf64> {tad.name = "s"}) {
  %e = tad.map (%i, %j) -> tensor<512x512xf64> {
    %0 = tad.read %x[%i, %j] : tensor<512x512xf64>
    %1 = tad.read %x[%j, %j] : tensor<512x512xf64>
    %2 = arith.subf %0, %1 : f64
    %3 = math.exp %2 : f64
    tad.yield %3 : f64
  }
  %s = tad.map (%i) -> tensor<512xf64> {
    %0 = tad.sum (%j) in {0 <= %j <= 511} -> f64 {
      %1 = tad.read %e[%i, %j] : tensor<512x512xf64>
      tad.yield %1 : f64
    }
    tad.yield %0 : f64
  }
  return %s : tensor<512xf64>
}

// CHECK:      %[[OF:.*]] = tad.map (%j) -> tensor<512xf64> {
// CHECK-NEXT:   %1 = tad.read %x[%j, %j] : tensor<512x512xf64>
// CHECK:      %e = tad.map (%i, %j) attributes {tad.chain = array<i64: 0, 60>} -> tensor<512x512xf64> {
// CHECK-NEXT:   %1 = tad.read %x[%i, %j] : tensor<512x512xf64>
// CHECK-NEXT:   %2 = tad.read %[[OF]][%j] : tensor<512xf64>
