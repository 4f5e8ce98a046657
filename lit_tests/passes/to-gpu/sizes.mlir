// RUN: tadc %s --passes tad-to-gpu,canonicalize | filecheck %s

// Sizes are the last parameters of every kernel; a thread finds its indices by division.
// CHECK: gpu.func @tad_f_0(%x: memref<1xf64> {llvm.align = 16 : i64, llvm.noalias}, %f: memref<1xf64> {llvm.align = 16 : i64, llvm.noalias}, %N: index, %M: index) kernel
func.func @f(%x: tensor<?xf64> {tad.name = "x", tad.shape = affine_map<()[s0, s1] -> (s0)>},
             %N: index {tad.name = "N"}, %M: index {tad.name = "M"}) -> (tensor<?x?xf64> {tad.name = "f"}) {
  // CHECK: %[[COUNT:.*]] = arith.muli %N, %M : index
  // CHECK: affine.apply {{.*}}, %[[COUNT]]]
  // CHECK-DAG: arith.remui %{{.*}}, %M : index
  // CHECK-DAG: %[[I:.*]] = arith.divui %{{.*}}, %M : index
  // CHECK: memref.load %{{.*}}[%[[I]]]
  %f = tad.map (%i, %j) in {0 <= %i < %N, 0 <= %j < %M} -> tensor<?x?xf64> {
    %0 = tad.read %x[%i] : tensor<?xf64>
    tad.yield %0 : f64
  }
  return %f : tensor<?x?xf64>
}
