// RUN: tadc %s --passes tad-window | filecheck %s
// %y reads the last step of %u, %u reads one step back, and %e and %m read each step: %e runs along with %u, and
// the sum over steps of %m is accumulated. Two steps of %u are kept, for the %N elements of each.

func.func @f(%x: tensor<?xf64> {tad.name = "x", tad.shape = affine_map<()[s0, s1] -> (s0)>}, %N: index {tad.name = "N"}, %T: index {tad.name = "T"}) -> (tensor<?xf64> {tad.name = "y"}, tensor<?xf64> {tad.name = "e"}, tensor<?xf64> {tad.name = "m"}) attributes {tad.excluded = [affine_set<()[s0, s1] : (-s1 >= 0, s0 - 1 >= 0)>]} {
  %u = tad.scan %own (%t, %i) by %t in {0 <= %t < %T, 0 <= %i < %N} -> tensor<?x?xf64> {
    %0 = tad.guard where {%t >= 1, %i >= 1} -> f64 {
      %1 = tad.read %own[%t - 1, %i - 1] : tensor<?x?xf64>
      %2 = math.sin %1 : f64
      tad.yield %2 : f64
    } else {
      %1 = tad.read %x[%i] : tensor<?xf64>
      tad.yield %1 : f64
    }
    tad.yield %0 : f64
  }
  %y = tad.map (%i) in {0 <= %i < %N} -> tensor<?xf64> {
    %0 = tad.read %u[%T - 1, %i] : tensor<?x?xf64>
    tad.yield %0 : f64
  }
  %e = tad.map (%t) in {0 <= %t < %T} -> tensor<?xf64> {
    %0 = tad.sum (%i) in {0 <= %i < %N} -> f64 {
      %1 = tad.read %u[%t, %i] : tensor<?x?xf64>
      tad.yield %1 : f64
    }
    tad.yield %0 : f64
  }
  %m = tad.map (%i) in {0 <= %i < %N} -> tensor<?xf64> {
    %0 = tad.sum (%t) in {0 <= %t < %T} -> f64 {
      %1 = tad.read %u[%t, %i] : tensor<?x?xf64>
      tad.yield %1 : f64
    }
    tad.yield %0 : f64
  }
  return %y, %e, %m : tensor<?xf64>, tensor<?xf64>, tensor<?xf64>
}

// CHECK:      %u = tad.scan %own (%t, %i) by %t in {0 <= %t < %T, 0 <= %i < %N} attributes {tad.chain = array<i64: 0, 1>, tad.sweep = array<i64: 0, 1, 0, 0>, tad.window = array<i64: 2, 1, 0>} -> tensor<?x?xf64> {
// CHECK:      %e = tad.map (%t) in {0 <= %t < %T} attributes {tad.chain = array<i64: 0, 1>, tad.sweep = array<i64: 0, 1, 0, 0>} -> tensor<?xf64> {
// CHECK:      %0 = tad.scan %own (%step, %i) by %step in {0 <= %step < %T, 0 <= %i < %N} attributes {tad.chain = array<i64: 0, 1>, tad.sweep = array<i64: 0, 1, 0, 0>, tad.window = array<i64: 2, 1, 0>} -> tensor<?x?xf64> {
// CHECK:        %2 = tad.read %u[%step, %i] : tensor<?x?xf64>
// CHECK-NEXT:   %3 = arith.addf %1, %2 : f64
// CHECK:      %y = tad.map (%i) in {0 <= %i < %N} -> tensor<?xf64> {
// CHECK:      %m = tad.map (%i) in {0 <= %i < %N} -> tensor<?xf64> {
// CHECK:          %2 = tad.read %0[%T - 1, %i] : tensor<?x?xf64>
