// RUN: tad-opt %s --tad-to-linalg --linalg-to-tad | filecheck %s
// Programs that become linalg come back: guards, sums over parts of boxes, sizes and what must hold of these.

func.func @y(%x: tensor<?xf64> {tad.name = "x", tad.shape = affine_map<()[s0, s1] -> (s0)>}, %w: tensor<?xf64> {tad.name = "w", tad.shape = affine_map<()[s0, s1] -> (s1)>}, %N: index {tad.name = "N"}, %K: index {tad.name = "K"}) -> (tensor<?xf64> {tad.name = "y"}) attributes {tad.excluded = [affine_set<()[s0, s1] : (s1 - s0 - 2 >= 0)>]} {
  %y = tad.map (%i) in {0 <= %i < %N - %K + 1} -> tensor<?xf64> {
    %0 = tad.sum (%k) in {0 <= %k < %K} -> f64 {
      %1 = tad.read %w[%k] : tensor<?xf64>
      %2 = tad.read %x[%i + %k] : tensor<?xf64>
      %3 = arith.mulf %1, %2 : f64
      tad.yield %3 : f64
    }
    tad.yield %0 : f64
  }
  return %y : tensor<?xf64>
}

func.func @t(%a: tensor<5x5xf64> {tad.name = "a"}, %x: tensor<5xf64> {tad.name = "x"}) -> (tensor<5xf64> {tad.name = "t"}) {
  %t = tad.map (%i) -> tensor<5xf64> {
    %0 = tad.sum (%k) in {0 <= %k <= %i - 1} -> f64 {
      %1 = tad.read %a[%i, %k] : tensor<5x5xf64>
      %2 = tad.read %x[%k] : tensor<5xf64>
      %3 = arith.mulf %1, %2 : f64
      tad.yield %3 : f64
    }
    tad.yield %0 : f64
  }
  return %t : tensor<5xf64>
}

// CHECK:      func.func @y(%x: tensor<?xf64> {tad.name = "x", tad.shape = affine_map<()[s0, s1] -> (s0)>}, %w: tensor<?xf64> {tad.name = "w", tad.shape = affine_map<()[s0, s1] -> (s1)>}, %N: index {tad.name = "N"}, %K: index {tad.name = "K"}) -> (tensor<?xf64> {tad.name = "y"}) attributes {tad.excluded = [affine_set<()[s0, s1] : (s1 - s0 - 2 >= 0)>]} {
// CHECK-NEXT:   %y = tad.map (%i) in {%i >= 0, -%i + %N - %K >= 0} -> tensor<?xf64> {
// CHECK-NEXT:     %0 = tad.sum (%j) in {0 <= %j < %K} -> f64 {
// CHECK:            tad.read %x[%i + %j] : tensor<?xf64>
// CHECK:      func.func @t(%a: tensor<5x5xf64> {tad.name = "a"}, %x: tensor<5xf64> {tad.name = "x"}) -> (tensor<5xf64> {tad.name = "t"}) {
// CHECK-NEXT:   %t = tad.map (%i) -> tensor<5xf64> {
// CHECK-NEXT:     %0 = tad.sum (%j) in {0 <= %j <= 4, %j < %i} -> f64 {
