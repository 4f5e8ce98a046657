// RUN: tadc %s --passes 'tad-to-gpu,canonicalize' | filecheck %s
// Where the sum runs over rows, the threads of a warp take neighbouring columns, and warps share the rows.

func.func @f(%x: tensor<4096x256xf32> {tad.name = "x"}) -> (tensor<256xf32> {tad.name = "f"}) {
  %f = tad.map (%i) -> tensor<256xf32> {
    %0 = tad.sum (%k) in {0 <= %k <= 4095} -> f32 {
      %1 = tad.read %x[%k, %i] : tensor<4096x256xf32>
      tad.yield %1 : f32
    }
    tad.yield %0 : f32
  }
  return %f : tensor<256xf32>
}

// CHECK:      workgroup(%[[SHARED:.*]] : memref<1x32x32xf32, #gpu.address_space<workgroup>> {llvm.align = 16 : i64})
// CHECK:      known_block_size = array<i32: 1024, 1, 1>
// CHECK:      scf.for %k0 = %c0 to %c128 step %c1
// CHECK-NEXT:   %[[ROW:.*]] = affine.apply affine_map<(d0)[s0] -> (d0 * 32 + s0 floordiv 32)>(%k0)[%thread_id_x]
// CHECK-NEXT:   memref.load %x[%[[ROW]], %[[COLUMN:.*]]]
// CHECK:      memref.store %{{.*}}, %[[SHARED]]
// CHECK-NOT:  gpu.shuffle
// CHECK:      gpu.barrier
// CHECK:      memref.store %{{.*}}, %f[%[[COLUMN]]]
