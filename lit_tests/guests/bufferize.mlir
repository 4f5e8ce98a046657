// RUN: tad-opt %s --tad-to-loops=vector-bytes=0 --one-shot-bufferize='bufferize-function-boundaries function-boundary-type-conversion=identity-layout-map' --buffer-deallocation-pipeline --canonicalize | filecheck %s
// Upstream's bufferization joins host, wrapper and loops: nothing is copied.

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

// CHECK:      func.func @f(%x: memref<8xf64>) -> memref<3x4xf64> {
// CHECK-NEXT:   %alloc = memref.alloc() : memref<3x4xf64>
// CHECK-NEXT:   call @tad_f(%x, %alloc) : (memref<8xf64>, memref<3x4xf64>) -> ()
// CHECK-NEXT:   return %alloc : memref<3x4xf64>
// CHECK:      func.func @host(%x: memref<8xf64>) -> memref<3x4xf64> {
// CHECK-NEXT:   %0 = call @f(%x) : (memref<8xf64>) -> memref<3x4xf64>
// CHECK-NEXT:   return %0 : memref<3x4xf64>
