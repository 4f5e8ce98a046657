// RUN: tadc %s --passes tad-other-factors | filecheck %s
// The product of the others is that of those before, in the order of the fibre, times that of those after.
module {
  func.func @dx(%d: tensor<8xi32> {tad.below = affine_map<() -> (4)>, tad.name = "d"}, %x: tensor<8xf64> {tad.name = "x"}, %d.ptr: tensor<5xi32> {tad.below = affine_map<() -> (9)>, tad.increasing, tad.inspected = ["ptr", 0, "d"], tad.name = "d.ptr"}, %d.perm: tensor<8xi32> {tad.below = affine_map<() -> (8)>, tad.inspected = ["perm", 0, "d"], tad.name = "d.perm"}) -> (tensor<8xf64> {tad.name = "dx"}) {
    %dx = tad.map (%e) -> tensor<8xf64> {
      %t = tad.lookup %d[%e] : tensor<8xi32>
      %t_0 = tad.lookup %d.ptr[%t] : tensor<5xi32>
      %t_1 = tad.lookup %d.ptr[%t + 1] : tensor<5xi32>
      %0 = tad.reduce "prod" (%q) in {%t_0 <= %q < %t_1} -> f64 {
        %t_2 = tad.lookup %d.perm[%q] : tensor<8xi32>
        %1 = tad.guard where {%t_2 == %e} -> f64 {
          %cst = arith.constant 1.000000e+00 : f64
          tad.yield %cst : f64
        } else {
          %2 = tad.read %x[%t_2] : tensor<8xf64>
          tad.yield %2 : f64
        }
        tad.yield %1 : f64
      }
      tad.yield %0 : f64
    }
    return %dx : tensor<8xf64>
  }
}

// CHECK-LABEL:  func.func @dx(
// CHECK-SAME:     %d.perm.perm: tensor<8xi32> {tad.below = affine_map<() -> (8)>, tad.inspected = ["perm", 0, "d.perm"]
// CHECK-NEXT:     %dx_0 = tad.scan %own (%q) by %q -> tensor<8xf64> {
// CHECK:            %0 = tad.guard where {%q > %t_1} -> f64 {
// CHECK:              %2 = tad.read %own[%q - 1] : tensor<8xf64>
// CHECK-NEXT:         %3 = arith.mulf %2, %1 : f64
// CHECK:          %dx_1 = tad.scan %own (%q) by -%q -> tensor<8xf64> {
// CHECK:            %0 = tad.guard where {%t_1 >= %q + 2} -> f64 {
// CHECK:              %2 = tad.read %own[%q + 1] : tensor<8xf64>
// CHECK-NEXT:         %3 = arith.mulf %1, %2 : f64
// CHECK:          %dx = tad.map (%e) -> tensor<8xf64> {
// CHECK-NEXT:       %t = tad.lookup %d.perm.perm[%e] : tensor<8xi32>
// CHECK-NEXT:       %0 = tad.read %dx_0[%t] : tensor<8xf64>
// CHECK-NEXT:       %1 = tad.read %dx_1[%t] : tensor<8xf64>
// CHECK-NEXT:       %2 = arith.mulf %0, %1 : f64
