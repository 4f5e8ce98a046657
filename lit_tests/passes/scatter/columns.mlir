// RUN: tadc %s --passes tad-scatter | filecheck %s
// Columns in four blocks: the entries of a block are read in order, and the column of an entry is looked up.

func.func @dx(%col: tensor<400000xi32> {tad.below = affine_map<() -> (5000)>, tad.name = "col"}, %v: tensor<400000xf64> {tad.name = "v"}, %col.ptr: tensor<5001xi32> {tad.below = affine_map<() -> (400001)>, tad.increasing, tad.inspected = ["ptr", 0, "col"], tad.name = "col.ptr"}, %col.perm: tensor<400000xi32> {tad.below = affine_map<() -> (400000)>, tad.inspected = ["perm", 0, "col"], tad.name = "col.perm"}) -> (tensor<5000xf64> {tad.name = "dx"}) {
  %dx = tad.map (%b) -> tensor<5000xf64> {
    %t = tad.lookup %col.ptr[%b] : tensor<5001xi32>
    %t_0 = tad.lookup %col.ptr[%b + 1] : tensor<5001xi32>
    %0 = tad.sum (%q) in {%t <= %q < %t_0} -> f64 {
      %t_1 = tad.lookup %col.perm[%q] : tensor<400000xi32>
      %1 = tad.read %v[%t_1] : tensor<400000xf64>
      tad.yield %1 : f64
    }
    tad.yield %0 : f64
  }
  return %dx : tensor<5000xf64>
}

// CHECK:      %dx = tad.map (%b) -> tensor<5000xf64> {
// CHECK-NEXT:   %t = tad.lookup %col.values0.ptr[%b floordiv 1280] : tensor<5xi32>
// CHECK-NEXT:   %t_0 = tad.lookup %col.values0.ptr[%b floordiv 1280 + 1] : tensor<5xi32>
// CHECK-NEXT:   %0 = tad.sum (%q) at (%t_1 = %col.col.values0.taken[%q] : tensor<400000xi32>) in {%t <= %q < %t_0, %t_1 == %b} -> f64 {
// CHECK-NEXT:     %t_2 = tad.lookup %col.values0.perm[%q] : tensor<400000xi32>
// CHECK-NEXT:     %1 = tad.read %v[%t_2] : tensor<400000xf64>
