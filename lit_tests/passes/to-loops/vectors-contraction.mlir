// RUN: tadc %s --passes 'tad-to-loops{registers=28},canonicalize,cse' | filecheck %s
// A contraction: what all rows read of %b is packed, a block of the sum at a time; a tile of 5 rows and 4 vectors
// has 20 results in registers, and adds them to what is in memory in all blocks but the first.

func.func @f(%a: tensor<800x2000xf32> {tad.name = "a"}, %b: tensor<2000x512xf32> {tad.name = "b"}) -> (tensor<800x512xf32> {tad.name = "f"}) {
  %f = tad.map (%i, %j) -> tensor<800x512xf32> {
    %0 = tad.sum (%k) in {0 <= %k <= 1999} -> f32 {
      %1 = tad.read %a[%i, %k] : tensor<800x2000xf32>
      %2 = tad.read %b[%k, %j] : tensor<2000x512xf32>
      %3 = arith.mulf %1, %2 : f32
      tad.yield %3 : f32
    }
    tad.yield %0 : f32
  }
  return %f : tensor<800x512xf32>
}

// CHECK:      func.func private @tad_f.0
// CHECK:        %[[PANEL:.*]] = memref.alloca() {alignment = 64 : i64} : memref<1000x64xf32>
// CHECK:        scf.for %[[K:.*]] = %c0 to %c2000 step %c1000
// CHECK-NEXT:     %[[END:.*]] = affine.apply affine_map<(d0) -> (d0 + 1000)>(%[[K]])
// CHECK:          scf.for %j = %{{.*}} to %{{.*}} step %c64
// CHECK:            vector.store %{{.*}}, %[[PANEL]][
// CHECK:            scf.for %i = %c0 to %c800 step %c5
// CHECK:              scf.for %k = %[[K]] to %[[END]] step %c1 iter_args(%{{.*}} = %cst
// CHECK:                memref.load %a[
// CHECK:                vector.load %[[PANEL]][
// CHECK:                math.fma
// CHECK:              %[[FIRST:.*]] = arith.cmpi eq, %[[K]], %c0
// CHECK-NEXT:         scf.if %[[FIRST]]
// CHECK:                vector.load %f[
// CHECK:                arith.addf
// CHECK:              vector.store
