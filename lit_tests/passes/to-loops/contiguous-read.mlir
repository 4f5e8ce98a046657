// RUN: tadc %s --passes 'tad-to-loops{vector-bytes=0},canonicalize' | filecheck %s
// No residues: the read of %w is contiguous as it is.

func.func @f(%x: tensor<3xf64> {tad.name = "x"}, %w: tensor<9xf64> {tad.name = "w"}) -> (tensor<9xf64> {tad.name = "y"}) {
  %y = tad.map (%i) -> tensor<9xf64> {
    %0 = tad.read %x[%i mod 3] : tensor<3xf64>
    %1 = tad.read %w[%i] : tensor<9xf64>
    %2 = arith.mulf %0, %1 : f64
    tad.yield %2 : f64
  }
  return %y : tensor<9xf64>
}

// CHECK:        func.func private @tad_f.0(%x: memref<3xf64> {llvm.noalias}, %w: memref<9xf64> {llvm.noalias}, %y: memref<9xf64> {llvm.noalias}) attributes {{.*}} {
// CHECK-NEXT:     %c9 = arith.constant 9 : index
// CHECK-NEXT:     %c0 = arith.constant 0 : index
// CHECK-NEXT:     %c1 = arith.constant 1 : index
// CHECK-NEXT:     scf.for %i = %c0 to %c9 step %c1 {
// CHECK-NEXT:       %0 = affine.apply affine_map<(d0) -> (d0 mod 3)>(%i)
// CHECK-NEXT:       %1 = memref.load %x[%0] : memref<3xf64>
// CHECK-NEXT:       %2 = memref.load %w[%i] : memref<9xf64>
// CHECK-NEXT:       %3 = arith.mulf %1, %2 : f64
// CHECK-NEXT:       memref.store %3, %y[%i] : memref<9xf64>
// CHECK-NEXT:     }
// CHECK-NEXT:     return
// CHECK-NEXT:   }
