// RUN: tadc %s --passes 'tad-to-loops{vector-bytes=0},canonicalize' | filecheck %s
// An upsampled row is read once for two elements. The outer index keeps its division: nothing is won there.

func.func @f(%x: tensor<3x4xf64> {tad.name = "x"}) -> (tensor<6x8xf64> {tad.name = "y"}) {
  %y = tad.map (%i, %j) -> tensor<6x8xf64> {
    %0 = tad.read %x[%i floordiv 2, %j floordiv 2] : tensor<3x4xf64>
    tad.yield %0 : f64
  }
  return %y : tensor<6x8xf64>
}

// CHECK:        func.func private @tad_f.0(%x: memref<3x4xf64> {llvm.noalias}, %y: memref<6x8xf64> {llvm.noalias}) attributes {{.*}} {
// CHECK-NEXT:     %c4 = arith.constant 4 : index
// CHECK-NEXT:     %c6 = arith.constant 6 : index
// CHECK-NEXT:     %c0 = arith.constant 0 : index
// CHECK-NEXT:     %c1 = arith.constant 1 : index
// CHECK-NEXT:     scf.for %i = %c0 to %c6 step %c1 {
// CHECK-NEXT:       scf.for %j = %c0 to %c4 step %c1 {
// CHECK-NEXT:         %0 = affine.apply affine_map<(d0) -> (d0 floordiv 2)>(%i)
// CHECK-NEXT:         %1 = memref.load %x[%0, %j] : memref<3x4xf64>
// CHECK-NEXT:         %2 = affine.apply affine_map<(d0) -> (d0 * 2)>(%j)
// CHECK-NEXT:         memref.store %1, %y[%i, %2] : memref<6x8xf64>
// CHECK-NEXT:         %3 = affine.apply affine_map<(d0) -> (d0 floordiv 2)>(%i)
// CHECK-NEXT:         %4 = memref.load %x[%3, %j] : memref<3x4xf64>
// CHECK-NEXT:         %5 = affine.apply affine_map<(d0) -> (d0 * 2 + 1)>(%j)
// CHECK-NEXT:         memref.store %4, %y[%i, %5] : memref<6x8xf64>
// CHECK-NEXT:       }
// CHECK-NEXT:     }
// CHECK-NEXT:     return
// CHECK-NEXT:   }
