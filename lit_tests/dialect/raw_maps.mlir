// Maps whose operands are not their names in order of use stay as MLIR writes them.
// RUN: tadc %s --emit tad | filecheck %s

// CHECK: tad.index [%i, %i] at affine_map<(d0, d1) -> (d0 + d1)> : index
// CHECK: tad.read %a[%i, %j] at affine_map<(d0, d1) -> (d1)> : tensor<4xf64>
// CHECK: tad.sum (%k) [%j, %i] in {%i <= %k < %j} -> f64 {
// CHECK: tad.guard [%i, %i] where affine_set<(d0, d1) : (d0 + d1 - 3 >= 0)> -> f64 {

func.func @f(%a: tensor<4xf64>) -> tensor<4x4xf64> {
  %f = tad.map (%i, %j) -> tensor<4x4xf64> {
    %0 = tad.index [%i, %i] at affine_map<(d0, d1) -> (d0 + d1)>
    %1 = tad.value_of %0 : f64
    %2 = tad.read %a[%i, %j] at affine_map<(d0, d1) -> (d1)> : tensor<4xf64>
    %3 = tad.sum (%k) [%j, %i] in {%i <= %k < %j} -> f64 {
      tad.yield %2 : f64
    }
    %4 = tad.guard [%i, %i] where affine_set<(d0, d1) : (d0 + d1 - 3 >= 0)> -> f64 {
      tad.yield %3 : f64
    } else {
      tad.yield %1 : f64
    }
    tad.yield %4 : f64
  }
  return %f : tensor<4x4xf64>
}
