// RUN: tadc %s | filecheck %s
// RUN: tadc %s -o %t.mlir
// RUN: tadc %t.mlir | filecheck %s
// RUN: tadc %s --size N=5 | filecheck %s --check-prefix=FIVE

// CHECK: func.func @f(%x: tensor<?xf64> {tad.name = "x", tad.shape = affine_map<()[s0, s1] -> (s0 + 2)>}, %N: index {tad.name = "N"}, %M: index {tad.name = "M"})
// CHECK-SAME: tad.excluded = [affine_set<()[s0, s1] : (s1 - s0 - 1 >= 0)>]
func.func @f(%x: tensor<?xf64> {tad.name = "x", tad.shape = affine_map<()[s0, s1] -> (s0 + 2)>},
             %N: index {tad.name = "N"}, %M: index {tad.name = "M"}) -> (tensor<?x3xf64> {tad.name = "f"})
    attributes {tad.excluded = [affine_set<()[s0, s1] : (s1 - s0 - 1 >= 0)>]} {
  // CHECK: tad.map (%i, %j) in {0 <= %i < %M, 0 <= %j <= 2} -> tensor<?x3xf64> {
  // FIVE: %x: tensor<7xf64>
  // FIVE: tad.map (%i, %j) in {0 <= %i < %M, 0 <= %j <= 2} -> tensor<?x3xf64> {
  %f = tad.map (%i, %j) in {0 <= %i < %M, 0 <= %j < 3} -> tensor<?x3xf64> {
    // CHECK: tad.read %x[%i + %j] : tensor<?xf64>
    %0 = tad.read %x[%i + %j] : tensor<?xf64>
    // CHECK: tad.index %N - %i : index
    %1 = tad.index %N - %i : index
    %2 = tad.value_of %1 : f64
    %3 = arith.mulf %0, %2 : f64
    tad.yield %3 : f64
  }
  return %f : tensor<?x3xf64>
}
