// RUN: tadc %s --passes 'tad-to-gpu,canonicalize' | filecheck %s
// Where all that is read lies as the elements do, threads take vectors in the order of memory, for any
// sizes; what is left after the last whole one is computed element by element.

func.func @f(%x: tensor<?x?xf32> {tad.name = "x", tad.shape = affine_map<()[s0, s1] -> (s0, s1)>},
             %N: index {tad.name = "N"}, %M: index {tad.name = "M"}) -> (tensor<?x?xf32> {tad.name = "f"}) {
  %f = tad.map (%i, %j) in {0 <= %i < %N, 0 <= %j < %M} -> tensor<?x?xf32> {
    %0 = tad.read %x[%i, %j] : tensor<?x?xf32>
    %1 = arith.mulf %0, %0 : f32
    tad.yield %1 : f32
  }
  return %f : tensor<?x?xf32>
}

// CHECK:      gpu.func @tad_f_0
// CHECK-NOT:  arith.divui
// CHECK:      scf.if
// CHECK-NEXT:   %[[FIRST:.*]] = affine.apply affine_map<()[s0, s1] -> (s0 * 4 + s1 * 1024)>
// CHECK-NEXT:   vector.load %{{.*}}[%[[FIRST]]] {alignment = 16 : i64} : memref<{{.*}}xf32{{.*}}>, vector<4xf32>
// CHECK:        vector.store {{.*}} {alignment = 16 : i64}
// CHECK:      } else {
// CHECK:        scf.for
// CHECK:          memref.store
// CHECK-NOT:      memref.store
// CHECK-NOT:  gpu.func
