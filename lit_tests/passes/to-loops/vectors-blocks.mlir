// RUN: tadc %s --passes 'tad-to-loops{registers=28},canonicalize,cse' | filecheck %s
// A panel of all that the sum reads would be too large: its first index runs around the packing, the second one
// in blocks. What a block finds is added to what is in memory, but for the very first.

func.func @f(%a: tensor<3x64x4000xf32> {tad.name = "a"}, %b: tensor<3x64x4000xf32> {tad.name = "b"}) -> (tensor<64x64xf32> {tad.name = "f"}) {
  %f = tad.map (%i, %j) -> tensor<64x64xf32> {
    %0 = tad.sum (%k, %l) in {0 <= %k <= 2, 0 <= %l <= 3999} -> f32 {
      %1 = tad.read %a[%k, %i, %l] : tensor<3x64x4000xf32>
      %2 = tad.read %b[%k, %j, %l] : tensor<3x64x4000xf32>
      %3 = arith.mulf %1, %2 : f32
      tad.yield %3 : f32
    }
    tad.yield %0 : f32
  }
  return %f : tensor<64x64xf32>
}

// CHECK:      func.func private @tad_f.0
// CHECK:        %[[PANEL:.*]] = memref.alloca() {alignment = 64 : i64} : memref<1000x64xf32>
// CHECK-NEXT:   scf.for %[[K:.*]] = %c0 to %c3 step %c1 {
// CHECK-NEXT:     scf.for %[[L:.*]] = %c0 to %c4000 step %c1000 {
// CHECK-NEXT:       %[[END:.*]] = affine.apply affine_map<(d0) -> (d0 + 1000)>(%[[L]])
// CHECK:            scf.for %[[LANE:.*]] = %c0 to %c64 step %c16
// CHECK:              scf.for %[[AT:.*]] = %[[L]] to %{{.*}} step %c16
// CHECK-NEXT:           vector.load %b[%[[K]], %[[LANE]], %[[AT]]]
// CHECK:              scf.for %[[AT:.*]] = %{{.*}} to %[[END]] step %c1
// CHECK:                vector.gather %b[%[[K]], %[[LANE]], %[[AT]]]
// CHECK:            scf.for %i = %begin to %{{.*}} step %c5
// CHECK:              scf.for %l = %[[L]] to %[[END]] step %c1 iter_args(%{{.*}} = %cst
// CHECK:                vector.load %[[PANEL]][
// CHECK:                memref.load %a[%[[K]],
// CHECK:              %[[FIRST:.*]] = arith.cmpi eq, %[[K]], %c0
// CHECK-NEXT:         %[[ALSO:.*]] = arith.cmpi eq, %[[L]], %c0
// CHECK-NEXT:         %[[BOTH:.*]] = arith.andi %[[FIRST]], %[[ALSO]]
// CHECK-NEXT:         scf.if %[[BOTH]]
// CHECK:                vector.load %f[
// CHECK:                arith.addf
