// RUN: tadc %s --passes 'tad-to-loops{l2=67108864},canonicalize,cse' | filecheck %s
// %x comes from memory, and vectors of it from rows far apart, many bytes for each %i: what the next tile reads
// of each row is asked for. (With a smaller cache lanes are of %r.)

func.func @f(%x: tensor<64x1024x256xf32> {tad.name = "x"}, %b: tensor<1024x32xf32> {tad.name = "b"}) -> (tensor<64x32x256xf32> {tad.name = "f"}) {
  %f = tad.map (%i, %r, %k) -> tensor<64x32x256xf32> {
    %0 = tad.sum (%j) in {0 <= %j <= 1023} -> f32 {
      %1 = tad.read %x[%i, %j, %k] : tensor<64x1024x256xf32>
      %2 = tad.read %b[%j, %r] : tensor<1024x32xf32>
      %3 = arith.mulf %1, %2 : f32
      tad.yield %3 : f32
    }
    tad.yield %0 : f32
  }
  return %f : tensor<64x32x256xf32>
}

// CHECK:      func.func private @tad_f.0
// CHECK:        scf.for %k = %{{.*}} to %{{.*}} step %c32
// CHECK-NEXT:     %{{.*}} = scf.for %j = %c0 to %c1024 step %c1
// CHECK-NEXT:       %[[NEXT:.*]] = affine.apply affine_map<(d0) -> (d0 + 32)>(%k)
// CHECK-NEXT:       memref.prefetch %x[%i, %j, %[[NEXT]]], read, locality<3>, data
// CHECK:            memref.prefetch %x[
// CHECK-NOT:        memref.prefetch
// CHECK:            vector.load %x[%i, %j, %k]
