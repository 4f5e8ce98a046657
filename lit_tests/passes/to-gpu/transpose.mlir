// RUN: tadc %s --passes 'tad-to-gpu,canonicalize,cse' | filecheck %s
// A tile goes through shared memory: it is read along the rows of %x and stored along those of %f. Rows of shared
// memory have 33 elements, so that the threads of a warp are in different banks.

func.func @f(%x: tensor<256x256xf32> {tad.name = "x"}) -> (tensor<256x256xf32> {tad.name = "f"}) {
  %f = tad.map (%i, %j) -> tensor<256x256xf32> {
    %0 = tad.read %x[%j, %i] : tensor<256x256xf32>
    tad.yield %0 : f32
  }
  return %f : tensor<256x256xf32>
}

// CHECK:         gpu.func @tad_f_0({{.*}}) workgroup(%[[TILE:.*]] : memref<32x33xf32
// CHECK-COUNT-4:   memref.store %{{.*}}, %[[TILE]]
// CHECK:           gpu.barrier
// CHECK-COUNT-4:   memref.store %{{.*}}, %f
// CHECK-NOT:       scf.if
