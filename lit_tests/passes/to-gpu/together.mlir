// RUN: tadc %s --passes 'tad-to-gpu,canonicalize' | filecheck %s
// All values of a short index by the same threads: what does not move with it is computed once.

func.func @f(%x: tensor<4096xf32> {tad.name = "x"}, %w: tensor<4096x2xf32> {tad.name = "w"}) -> (tensor<2x4096xf32> {tad.name = "f"}) {
  %f = tad.map (%d, %i) -> tensor<2x4096xf32> {
    %0 = tad.sum (%k) in {0 <= %k <= 4095} -> f32 {
      %1 = tad.read %x[%i] : tensor<4096xf32>
      %2 = tad.read %x[%k] : tensor<4096xf32>
      %3 = arith.mulf %1, %2 : f32
      %4 = math.exp %3 : f32
      %5 = tad.read %w[%k, %d] : tensor<4096x2xf32>
      %6 = arith.mulf %4, %5 : f32
      tad.yield %6 : f32
    }
    tad.yield %0 : f32
  }
  return %f : tensor<2x4096xf32>
}

// CHECK:       gpu.func @tad_f_0
// CHECK:       scf.for
// CHECK:         math.exp
// CHECK-NOT:     math.exp
// CHECK:         scf.yield %{{.*}}, %{{.*}} : f32, f32
// CHECK:       gpu.shuffle idx
// CHECK:       gpu.shuffle idx
// CHECK:       memref.store %{{.*}}, %f[%c0,
// CHECK:       memref.store %{{.*}}, %f[%c1,
