// Elements of index arrays: as indices, in sets over their own indices, and as bounds.
// RUN: tadc %s --emit tad | filecheck %s
// RUN: tadc %s --emit tad > %t.mlir && tadc %t.mlir --emit tad | filecheck %s

// CHECK-LABEL: func.func @f(%src: tensor<5xi32> {tad.below = affine_map<() -> (4)>, tad.name = "src"},
// CHECK-SAME:    tad.below = affine_map<() -> (6)>, tad.increasing, tad.name = "ptr"}
// CHECK-SAME:    tad.below = affine_map<() -> (5)>, tad.inspected = ["perm", 0, "src"], tad.name = "src.perm"}
// CHECK-NEXT:    %f = tad.map (%n) -> tensor<4xf64> {
// CHECK-NEXT:      %t = tad.lookup %ptr[%n] : tensor<5xi32>
// CHECK-NEXT:      %t_0 = tad.lookup %ptr[%n + 1] : tensor<5xi32>
// CHECK-NEXT:      %0 = tad.sum (%q) in {%t <= %q < %t_0} -> f64 {
// CHECK-NEXT:        %t_1 = tad.lookup %src.perm[%q] : tensor<5xi32>
// CHECK-NEXT:        %3 = tad.read %w[%t_1] : tensor<5xf64>
// CHECK-NEXT:        tad.yield %3 : f64
// CHECK-NEXT:      }
// CHECK-NEXT:      %1 = tad.reduce "max" (%e) at (%t_1 = %src.perm[%e] : tensor<5xi32>, %t_2 = %src[%t_1] : tensor<5xi32>) in {0 <= %e <= 4, %t_2 == %n} -> f64 {
// CHECK-NEXT:        %3 = tad.value_of %t_2 : f64
// CHECK-NEXT:        tad.yield %3 : f64
// CHECK-NEXT:      }
// CHECK-NEXT:      %2 = arith.addf %0, %1 : f64
// CHECK-NEXT:      tad.yield %2 : f64
// CHECK-NEXT:    }
// CHECK-NEXT:    %g = tad.map (%n) -> tensor<4xf64> {
// CHECK-NEXT:      %0 = tad.sum (%e) at (%t = %src[%e] : tensor<5xi32>) in {0 <= %e <= 4, %t == %n} -> f64 {
// CHECK-NEXT:        %1 = tad.read %w[%e] : tensor<5xf64>
// CHECK-NEXT:        tad.yield %1 : f64

func.func @f(%src: tensor<5xi32> {tad.name = "src", tad.below = affine_map<() -> (4)>},
             %ptr: tensor<5xi32> {tad.name = "ptr", tad.below = affine_map<() -> (6)>, tad.increasing},
             %w: tensor<5xf64> {tad.name = "w"},
             %src.perm: tensor<5xi32> {tad.name = "src.perm", tad.below = affine_map<() -> (5)>, tad.inspected = ["perm", 0, "src"]})
    -> (tensor<4xf64> {tad.name = "f"}, tensor<4xf64> {tad.name = "g"}) {
  %f = tad.map (%n) -> tensor<4xf64> {
    %t = tad.lookup %ptr[%n] : tensor<5xi32>
    %t_0 = tad.lookup %ptr[%n + 1] : tensor<5xi32>
    %0 = tad.sum (%q) in {%t <= %q < %t_0} -> f64 {
      %t_1 = tad.lookup %src.perm[%q] : tensor<5xi32>
      %3 = tad.read %w[%t_1] : tensor<5xf64>
      tad.yield %3 : f64
    }
    %1 = tad.reduce "max" (%e) at (%t_1 = %src.perm[%e] : tensor<5xi32>,
                                   %t_2 = %src[%t_1] : tensor<5xi32>) in {0 <= %e < 5, %t_2 == %n} -> f64 {
      %3 = tad.value_of %t_2 : f64
      tad.yield %3 : f64
    }
    %2 = arith.addf %0, %1 : f64
    tad.yield %2 : f64
  }
  %g = tad.map (%n) -> tensor<4xf64> {
    %0 = tad.sum (%e) at (%t = %src[%e] : tensor<5xi32>) in {0 <= %e <= 4, %t == %n} -> f64 {
      %1 = tad.read %w[%e] : tensor<5xf64>
      tad.yield %1 : f64
    }
    tad.yield %0 : f64
  }
  return %f, %g : tensor<4xf64>, tensor<4xf64>
}
