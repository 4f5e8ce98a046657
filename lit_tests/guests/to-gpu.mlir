// RUN: tad-opt %s --tad-to-gpu=gpu=sm_80 | filecheck %s
// A function that others call launches its kernels, over memory of the GPU that it copies arrays to. Which of several
// kernels for a tensor runs, sizes say. `tests/passes/test_gpu_hosts.py` runs what is here.

func.func @f(%x: tensor<?x?xf64> {tad.name = "x", tad.shape = affine_map<()[s0, s1] -> (s0, s1)>}, %N: index {tad.name = "N"}, %M: index {tad.name = "M"}) -> (tensor<?x?xf64> {tad.name = "f"}) {
  %total = tad.map (%i) in {0 <= %i < %N} -> tensor<?xf64> {
    %0 = tad.sum (%j) in {0 <= %j < %M} -> f64 {
      %1 = tad.read %x[%i, %j] : tensor<?x?xf64>
      tad.yield %1 : f64
    }
    tad.yield %0 : f64
  }
  %f = tad.map (%i, %j) in {0 <= %i < %N, 0 <= %j < %M} -> tensor<?x?xf64> {
    %0 = tad.read %x[%i, %j] : tensor<?x?xf64>
    %1 = tad.read %total[%i] : tensor<?xf64>
    %2 = arith.divf %0, %1 : f64
    tad.yield %2 : f64
  }
  return %f : tensor<?x?xf64>
}

func.func @host(%x: tensor<8x300xf64>) -> tensor<8x300xf64> {
  %n = arith.constant 8 : index
  %m = arith.constant 300 : index
  %y = tensor.cast %x : tensor<8x300xf64> to tensor<?x?xf64>
  %0 = func.call @f(%y, %n, %m) : (tensor<?x?xf64>, index, index) -> tensor<?x?xf64>
  %1 = tensor.cast %0 : tensor<?x?xf64> to tensor<8x300xf64>
  return %1 : tensor<8x300xf64>
}

// CHECK:      gpu.module @tad_f {
// CHECK:        gpu.func @tad_f_0(
// CHECK:      func.func @f(%x: tensor<?x?xf64>, %N: index, %M: index) -> tensor<?x?xf64> {
// CHECK:        cf.assert %{{.*}}, "tadc: @f does not take the extent of dimension 0 of argument 0"
// CHECK:        [[X:%.*]] = gpu.alloc  (%{{.*}}, %{{.*}}) : memref<?x?xf64>
// CHECK:        [[GIVEN:%.*]] = bufferization.to_buffer %x read_only : tensor<?x?xf64> to memref<?x?xf64>
// CHECK:        gpu.memcpy [[X]], [[GIVEN]] : memref<?x?xf64>, memref<?x?xf64>
// CHECK:        scf.if
// CHECK:          gpu.launch_func  @tad_f::@tad_f_0 blocks in
// CHECK:        gpu.launch_func  @tad_f::@tad_f_1
// CHECK:        [[BACK:%.*]] = memref.alloc(%{{.*}}, %{{.*}}) : memref<?x?xf64>
// CHECK-NEXT:   gpu.memcpy [[BACK]], %{{.*}} : memref<?x?xf64>, memref<?x?xf64>
// CHECK:        gpu.dealloc [[X]] : memref<?x?xf64>
// CHECK:        [[TENSOR:%.*]] = bufferization.to_tensor [[BACK]] restrict writable
// CHECK-NEXT:   return [[TENSOR]]
