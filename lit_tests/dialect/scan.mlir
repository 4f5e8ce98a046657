// RUN: tadc %s --emit tad | filecheck %s
// RUN: tadc %s --emit tad > %t.mlir && tadc %t.mlir --emit tad | filecheck %s
// A scan names what stands for its tensor, and states the order of its elements.

func.func @f(%x: tensor<?xf64> {tad.name = "x", tad.shape = affine_map<()[s0] -> (s0)>}, %n: index {tad.name = "n"}) -> (tensor<?xf64> {tad.name = "f"}, tensor<3x4xf64> {tad.name = "g"}) {
  %f = tad.scan %own (%i) by -%i in {0 <= %i < %n} -> tensor<?xf64> {
    %0 = tad.guard where {%n >= %i + 2} -> f64 {
      %1 = tad.read %own[%i + 1] : tensor<?xf64>
      tad.yield %1 : f64
    } else {
      %1 = tad.read %x[%i] : tensor<?xf64>
      tad.yield %1 : f64
    }
    tad.yield %0 : f64
  }
  %g = tad.scan %own (%i, %j) by affine_map<(d0, d1) -> (d0 + d1 * 2)> -> tensor<3x4xf64> {
    %0 = tad.guard where {%i >= 1} -> f64 {
      %1 = tad.read %own[%i - 1, %j] : tensor<3x4xf64>
      tad.yield %1 : f64
    } else {
      %cst = arith.constant 1.0 : f64
      tad.yield %cst : f64
    }
    tad.yield %0 : f64
  }
  return %f, %g : tensor<?xf64>, tensor<3x4xf64>
}

// CHECK:      %f = tad.scan %own (%i) by -%i in {0 <= %i < %n} -> tensor<?xf64> {
// CHECK:        %1 = tad.read %own[%i + 1] : tensor<?xf64>
// CHECK:      %g = tad.scan %own (%i, %j) by %i + %j * 2 -> tensor<3x4xf64> {
// CHECK-NEXT:   %0 = tad.guard where {%i >= 1} -> f64 {
// CHECK-NEXT:     %1 = tad.read %own[%i - 1, %j] : tensor<3x4xf64>
