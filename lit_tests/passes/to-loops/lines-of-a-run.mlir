// RUN: tadc %s --passes 'tad-to-loops,canonicalize,cse' | filecheck %s
// %x comes from memory, and vectors of it from rows far apart; but all that is read of it for one %i is one run
// of memory. Each step asks for the next line of that for the next %i.

func.func @f(%x: tensor<256x256x256xf32> {tad.name = "x"}, %b: tensor<256x32xf32> {tad.name = "b"}) -> (tensor<256x32x256xf32> {tad.name = "f"}) {
  %f = tad.map (%i, %r, %k) -> tensor<256x32x256xf32> {
    %0 = tad.sum (%j) in {0 <= %j <= 255} -> f32 {
      %1 = tad.read %x[%i, %j, %k] : tensor<256x256x256xf32>
      %2 = tad.read %b[%j, %r] : tensor<256x32xf32>
      %3 = arith.mulf %1, %2 : f32
      tad.yield %3 : f32
    }
    tad.yield %0 : f32
  }
  return %f : tensor<256x32x256xf32>
}

// 4096 lines, in 2048 steps for each of two tiles along %r; the third is moved back.
// CHECK:      func.func private @tad_f.0
// CHECK:        scf.for %i
// CHECK-NEXT:     scf.for %r = %c0 to %c32 step %c12
// CHECK:            scf.for %k = %c0 to %c256 step %c32
// CHECK:              scf.for %j = %c0 to %c256 step %c1
// CHECK-NEXT:           %[[NEXT:.*]] = affine.apply affine_map<(d0) -> (d0 + 1)>(%i)
// CHECK-NEXT:           %[[LINE:.*]] = affine.apply affine_map<(d0, d1, d2) -> (d2 * 16 + (d0 floordiv 12) * 32768 + (d1 floordiv 32) * 4096)>(%r, %k, %j)
// CHECK-NEXT:           memref.prefetch %x[%[[NEXT]], %c0, %[[LINE]]], read, locality<2>, data
// CHECK-NOT:            memref.prefetch
// CHECK:                vector.load %x[%i, %j, %k]
