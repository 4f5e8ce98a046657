// RUN: tadc %s --passes 'tad-to-gpu,canonicalize' | filecheck %s
// A warp shares a long sum: consecutive threads read consecutive elements, and join by halves.

func.func @f(%x: tensor<4096x256xf32> {tad.name = "x"}) -> (tensor<4096xf32> {tad.name = "f"}) {
  %f = tad.map (%i) -> tensor<4096xf32> {
    %0 = tad.sum (%k) in {0 <= %k <= 255} -> f32 {
      %1 = tad.read %x[%i, %k] : tensor<4096x256xf32>
      tad.yield %1 : f32
    }
    tad.yield %0 : f32
  }
  return %f : tensor<4096xf32>
}

// CHECK:      %[[I:.*]] = affine.apply affine_map<()[s0, s1] -> (s1 * 8 + s0 floordiv 32)>
// CHECK:      %[[OWN:.*]] = scf.for %k0 = %c0 to %c8 step %c1
// CHECK-NEXT:   %[[K:.*]] = affine.apply affine_map<(d0)[s0] -> (d0 * 32 + s0 mod 32)>(%k0)
// CHECK:        memref.load %x[%[[I]], %[[K]]]
// CHECK:      gpu.shuffle down %[[OWN]], %c16_i32
// CHECK:      gpu.shuffle down %{{.*}}, %c8_i32
// CHECK:      gpu.shuffle down %{{.*}}, %c4_i32
// CHECK:      gpu.shuffle down %{{.*}}, %c2_i32
// CHECK:      gpu.shuffle down %{{.*}}, %c1_i32
// CHECK:      gpu.shuffle idx %{{.*}}, %c0_i32
// CHECK-NOT:  gpu.barrier
// CHECK:      memref.store %{{.*}}, %f[%[[I]]]
