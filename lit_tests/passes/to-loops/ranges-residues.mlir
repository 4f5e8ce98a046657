// RUN: tadc %s --passes 'tad-to-loops{vector-bytes=0},canonicalize,cse' | filecheck %s
// A range may begin and end between two multiples of 2: a pair belongs to the range in which it starts.

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
// CHECK:          %[[END:.*]] = affine.min affine_map<()[s0] -> (49999, -((-s0) floordiv 2))>()[%end]
// CHECK-NEXT:     %[[FIRST:.*]] = affine.apply affine_map<()[s0] -> (-((-s0) floordiv 2))>()[%begin]
// CHECK-NEXT:     scf.for %b = %[[FIRST]] to %[[END]] step %c1 {
// CHECK:          scf.for %b = %c99998 to %end step %c1 {
