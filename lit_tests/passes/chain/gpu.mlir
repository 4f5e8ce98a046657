// RUN: tadc %s --passes 'tad-chain{gpu=sm_90}' | filecheck %s
// RUN: tadc %s --passes 'tad-chain{gpu=sm_90},tad-to-gpu,canonicalize' | filecheck %s --check-prefix GPU
// A block computes both maps for a row of a warp each. Two rows a block, one leading index, 32 threads a row, 64 a block.

func.func @f(%x: tensor<8x64xf32> {tad.name = "x"}) -> (tensor<8x64xf32> {tad.name = "y"}) {
  %m = tad.map (%i) -> tensor<8xf32> {
    %0 = tad.sum (%k) in {0 <= %k <= 63} -> f32 {
      %1 = tad.read %x[%i, %k] : tensor<8x64xf32>
      tad.yield %1 : f32
    }
    tad.yield %0 : f32
  }
  %y = tad.map (%i, %k) -> tensor<8x64xf32> {
    %0 = tad.read %x[%i, %k] : tensor<8x64xf32>
    %1 = tad.read %m[%i] : tensor<8xf32>
    %2 = arith.subf %0, %1 : f32
    tad.yield %2 : f32
  }
  return %y : tensor<8x64xf32>
}

// CHECK-COUNT-2: tad.chain = array<i64: 0, 2, 1, 32, 64>

// %m has two places in shared memory, and none in global memory.
// GPU:       gpu.func @tad_f_0(%x: {{[^%]*}}, %y: {{[^%]*}}) workgroup(%[[M:.*]] : memref<2xf32,
// GPU:       gpu.shuffle
// GPU:       memref.store %{{.*}}, %[[M]]
// GPU:       gpu.barrier
// GPU:       memref.load %[[M]]
// GPU:       vector.store %{{.*}}, %y
// GPU-NOT:   gpu.func
