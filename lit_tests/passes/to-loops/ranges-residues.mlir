// RUN: tadc %s --passes tad-to-loops,canonicalize,cse | filecheck %s
// A range may begin and end between two multiples of 2: the loop before the pairs stops where the range does.

func.func @f(%df: tensor<50000xf64> {tad.name = "df"}) -> (tensor<99999xf64> {tad.name = "dx"}) {
  %dx = tad.map (%b) -> tensor<99999xf64> {
    %0 = tad.guard where {%b mod 2 == 0} -> f64 {
      %1 = tad.read %df[%b floordiv 2] : tensor<50000xf64>
      tad.yield %1 : f64
    } else {
      %zero = arith.constant 0.0 : f64
      tad.yield %zero : f64
    }
    tad.yield %0 : f64
  }
  return %dx : tensor<99999xf64>
}

// CHECK:        func.func private @tad_f.0(
// CHECK:          %[[FIRST:.*]] = affine.min affine_map<()[s0, s1] -> (s1, -((-s0) floordiv 2))>()[%begin, %{{.*}}]
// CHECK-NEXT:     %[[END:.*]] = affine.max affine_map<()[s0, s1] -> (s1, s0 floordiv 2)>()[%end, %[[FIRST]]]
// CHECK-NEXT:     %[[BEFORE:.*]] = affine.min affine_map<()[s0, s1] -> (s1 * 2, s0)>()[%end, %[[FIRST]]]
// CHECK-NEXT:     scf.for %b = %begin to %[[BEFORE]] step %c1 {
// CHECK:          scf.for %b = %[[FIRST]] to %[[END]] step %c1 {
// CHECK:          %[[AFTER:.*]] = affine.apply affine_map<()[s0] -> (s0 * 2)>()[%[[END]]]
// CHECK-NEXT:     scf.for %b = %[[AFTER]] to %end step %c1 {
