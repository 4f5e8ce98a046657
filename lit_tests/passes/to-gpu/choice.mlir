// RUN: tadc %s --passes 'tad-to-gpu,canonicalize' | filecheck %s
// Where sizes are not known, there is a kernel for long sums and one for others; sizes choose at launch.

func.func @f(%x: tensor<?xf32> {tad.name = "x", tad.shape = affine_map<()[s0] -> (s0)>}, %N: index {tad.name = "N"}) -> (tensor<f32> {tad.name = "f"}) {
  %f = tad.map () -> tensor<f32> {
    %0 = tad.sum (%k) in {0 <= %k < %N} -> f32 {
      %1 = tad.read %x[%k] : tensor<?xf32>
      tad.yield %1 : f32
    }
    tad.yield %0 : f32
  }
  return %f : tensor<f32>
}

// CHECK:     gpu.func @tad_f_0(
// CHECK:     gpu.barrier
// CHECK:     gpu.func @tad_f_0_1(
// CHECK:     gpu.shuffle
// CHECK-NOT: gpu.barrier
// CHECK:     gpu.func @tad_f_0_2(
// CHECK-NOT: gpu.shuffle
// CHECK:     gpu.return
