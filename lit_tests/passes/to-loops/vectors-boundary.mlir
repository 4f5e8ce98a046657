// RUN: tadc %s --passes 'tad-to-loops,canonicalize,cse' | filecheck %s
// The gradient of a convolution with a stride: elements in groups of 2, each with the same 2 or 1 steps, whose
// index moves with the lanes. Groups at both ends take the same steps under masks,
// in one vector: they are few. The steps are written out, so the masks are the same for all %o.

func.func @f(%dy: tensor<64x2047xf32> {tad.name = "dy"}, %w: tensor<64x3xf32> {tad.name = "w"}) -> (tensor<4096xf32> {tad.name = "dx"}) {
  %dx = tad.map (%e) -> tensor<4096xf32> {
    %0 = tad.sum (%o, %i)[%e] in {0 <= %o <= 63, 0 <= %i <= 2046, 0 <= %e - 2*%i <= 2} -> f32 {
      %1 = tad.read %dy[%o, %i] : tensor<64x2047xf32>
      %2 = tad.read %w[%o, %e - 2*%i] : tensor<64x3xf32>
      %3 = arith.mulf %1, %2 : f32
      tad.yield %3 : f32
    }
    tad.yield %0 : f32
  }
  return %dx : tensor<4096xf32>
}

// CHECK:      func.func private @tad_f.0
// CHECK:        scf.for %e = %{{.*}} to %{{.*}} step %c16 {
// CHECK-NEXT:     scf.for %o = %c0 to %c64
// CHECK:            %[[FIRST:.*]] = affine.apply affine_map<(d0) -> (d0 - 1)>(%e)
// CHECK-NOT:        scf.for
// CHECK:            vector.maskedload %dy[%o, %[[FIRST]]]
// CHECK-NOT:        scf.for
// CHECK:            vector.maskedload %dy[%o, %e]
// CHECK:        scf.for %e = %{{.*}} to %{{.*}} step %c64 {
// CHECK:              vector.load %dy[%o,
// CHECK:        scf.for %e = %{{.*}} to %{{.*}} step %c16 {
// CHECK:              vector.maskedload %dy[%o,
