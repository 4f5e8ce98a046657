// RUN: tadc %s --passes 'tad-to-gpu,canonicalize' | filecheck %s
// A block shares a very long sum: warp by warp through shared memory, in order; the bounds may move.

func.func @f(%x: tensor<64x16384xf64> {tad.name = "x"}) -> (tensor<64xf64> {tad.name = "f"}) {
  %f = tad.map (%i) -> tensor<64xf64> {
    %0 = tad.reduce "max" (%k) in {%i <= %k <= 16383} -> f64 {
      %1 = tad.read %x[%i, %k] : tensor<64x16384xf64>
      tad.yield %1 : f64
    }
    tad.yield %0 : f64
  }
  return %f : tensor<64xf64>
}

// CHECK:      gpu.func @tad_f_0({{.*}}) workgroup(%[[SHARED:.*]] : memref<1x{{[0-9]+}}xf64, #gpu.address_space<workgroup>> {llvm.align = 16 : i64})
// CHECK:      %[[TURNS:.*]] = affine.apply affine_map<()[s0, s1] -> ((-s0 - s1 + 1023) floordiv 1024 + 16)>
// CHECK:      scf.for %k0 = %c0 to %[[TURNS]] step %c1 iter_args
// CHECK-NEXT:   affine.apply affine_map<(d0)[s0, s1] -> (d0 * 1024 + s0 + s1)>(%k0)
// CHECK:      gpu.shuffle idx
// CHECK:      scf.if
// CHECK-NEXT:   memref.store %{{.*}}, %[[SHARED]]
// CHECK:      gpu.barrier
// CHECK-NEXT: memref.load %[[SHARED]][%c0, %c0]
// CHECK-NEXT: memref.load %[[SHARED]][%c0, %c1]
// CHECK:      gpu.barrier
// CHECK:      scf.if
// CHECK-NEXT:   memref.store %{{.*}}, %f[%block_id_x]
