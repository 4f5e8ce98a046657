// RUN: tadc %s --passes 'tad-to-loops{vector-bytes=0},canonicalize,cse' | filecheck %s

// Buffers whose shape depends on sizes are passed by address; a view has their shape.
// CHECK: func.func @tad_f(%x: memref<1xf64> {llvm.noalias}, %f: memref<1xf64> {llvm.noalias}, %N: index, %M: index)
func.func @f(%x: tensor<?x?xf64> {tad.name = "x", tad.shape = affine_map<()[s0, s1] -> (s0, s1 + 1)>},
             %N: index {tad.name = "N"}, %M: index {tad.name = "M"}) -> (tensor<?xf64> {tad.name = "f"}) {
  // CHECK-DAG: %[[ROW:.*]] = affine.apply {{.*}}()[%M]
  // CHECK-DAG: %[[X:.*]] = memref.reinterpret_cast %x to offset: [0], sizes: [%N, %[[ROW]]], strides: [%[[ROW]], 1] : memref<1xf64> to memref<?x?xf64, strided<[?, 1]>>
  // CHECK: scf.for %i = %begin to %end step %c1
  %f = tad.map (%i) in {0 <= %i < %N} -> tensor<?xf64> {
    // CHECK: memref.load %[[X]][%i, %M]
    %0 = tad.index %M : index
    %1 = tad.read %x[%i, %0] : tensor<?x?xf64>
    tad.yield %1 : f64
  }
  return %f : tensor<?xf64>
}
