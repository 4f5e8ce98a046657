// RUN: tad-opt %s --tad-to-loops=vector-bytes=0 | filecheck %s
// Loops are over buffers; the function of tensors that the host calls makes them.

func.func @f(%x: tensor<8xf64> {tad.name = "x"}) -> (tensor<3x4xf64> {tad.name = "f"}) {
  %f = tad.map (%i, %j) -> tensor<3x4xf64> {
    %0 = tad.read %x[%i + %j] : tensor<8xf64>
    %1 = math.exp %0 : f64
    tad.yield %1 : f64
  }
  return %f : tensor<3x4xf64>
}

func.func @host(%x: tensor<8xf64>) -> tensor<3x4xf64> {
  %0 = func.call @f(%x) : (tensor<8xf64>) -> tensor<3x4xf64>
  return %0 : tensor<3x4xf64>
}

// CHECK:      func.func @tad_f(%x: memref<8xf64> {llvm.noalias}, %f: memref<3x4xf64> {llvm.noalias}) {
// CHECK:      func.func @f(%x: tensor<8xf64>) -> tensor<3x4xf64> {
// CHECK-NEXT:   %0 = bufferization.to_buffer %x read_only : tensor<8xf64> to memref<8xf64>
// CHECK-NEXT:   %alloc = memref.alloc() : memref<3x4xf64>
// CHECK-NEXT:   call @tad_f(%0, %alloc) : (memref<8xf64>, memref<3x4xf64>) -> ()
// CHECK-NEXT:   %1 = bufferization.to_tensor %alloc restrict writable : memref<3x4xf64> to tensor<3x4xf64>
// CHECK-NEXT:   return %1 : tensor<3x4xf64>
