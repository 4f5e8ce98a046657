// RUN: tadc %s --passes 'tad-to-loops{vector-bytes=0},canonicalize' | filecheck %s
// Away from both ends a strided sum has bounds without a maximum: two terms for an even index, one for an odd one.

func.func @f(%w: tensor<3xf64> {tad.name = "w"}, %df: tensor<15xf64> {tad.name = "df"}) -> (tensor<32xf64> {tad.name = "dx"}) {
  %dx = tad.map (%b) -> tensor<32xf64> {
    %0 = tad.sum (%i) in {0 <= %i <= 14, 0 <= %b - 2 * %i <= 2} -> f64 {
      %1 = tad.read %df[%i] : tensor<15xf64>
      %2 = tad.read %w[%b - 2 * %i] : tensor<3xf64>
      %3 = arith.mulf %1, %2 : f64
      tad.yield %3 : f64
    }
    tad.yield %0 : f64
  }
  return %dx : tensor<32xf64>
}

// CHECK:        func.func private @tad_f.0(%w: memref<3xf64> {llvm.noalias}, %df: memref<15xf64> {llvm.noalias}, %dx: memref<32xf64> {llvm.noalias}) attributes {{.*}} {
// CHECK-NEXT:     %c15 = arith.constant 15 : index
// CHECK-NEXT:     %c28 = arith.constant 28 : index
// CHECK-NEXT:     %c32 = arith.constant 32 : index
// CHECK-NEXT:     %c14 = arith.constant 14 : index
// CHECK-NEXT:     %cst = arith.constant 0.000000e+00 : f64
// CHECK-NEXT:     %c2 = arith.constant 2 : index
// CHECK-NEXT:     %c0 = arith.constant 0 : index
// CHECK-NEXT:     %c1 = arith.constant 1 : index
// CHECK-NEXT:     scf.for %b = %c0 to %c2 step %c1 {
// CHECK-NEXT:       %0 = memref.load %df[%c0] : memref<15xf64>
// CHECK-NEXT:       %1 = memref.load %w[%b] : memref<3xf64>
// CHECK-NEXT:       %2 = math.fma %0, %1, %cst : f64
// CHECK-NEXT:       memref.store %2, %dx[%b] : memref<32xf64>
// CHECK-NEXT:     }
// CHECK-NEXT:     scf.for %b = %c1 to %c14 step %c1 {
// CHECK-NEXT:       %0 = affine.apply affine_map<(d0) -> (d0 - 1)>(%b)
// CHECK-NEXT:       %1 = affine.apply affine_map<(d0) -> (d0 + 1)>(%b)
// CHECK-NEXT:       %2 = scf.for %i = %0 to %1 step %c1 iter_args(%arg5 = %cst) -> (f64) {
// CHECK-NEXT:         %7 = memref.load %df[%i] : memref<15xf64>
// CHECK-NEXT:         %8 = affine.apply affine_map<(d0, d1) -> (d0 * 2 - d1 * 2)>(%b, %i)
// CHECK-NEXT:         %9 = memref.load %w[%8] : memref<3xf64>
// CHECK-NEXT:         %10 = math.fma %7, %9, %arg5 : f64
// CHECK-NEXT:         scf.yield %10 : f64
// CHECK-NEXT:       }
// CHECK-NEXT:       %3 = affine.apply affine_map<(d0) -> (d0 * 2)>(%b)
// CHECK-NEXT:       memref.store %2, %dx[%3] : memref<32xf64>
// CHECK-NEXT:       %4 = affine.apply affine_map<(d0) -> (d0 + 1)>(%b)
// CHECK-NEXT:       %5 = scf.for %i = %b to %4 step %c1 iter_args(%arg5 = %cst) -> (f64) {
// CHECK-NEXT:         %7 = memref.load %df[%i] : memref<15xf64>
// CHECK-NEXT:         %8 = affine.apply affine_map<(d0, d1) -> (d0 * 2 - d1 * 2 + 1)>(%b, %i)
// CHECK-NEXT:         %9 = memref.load %w[%8] : memref<3xf64>
// CHECK-NEXT:         %10 = math.fma %7, %9, %arg5 : f64
// CHECK-NEXT:         scf.yield %10 : f64
// CHECK-NEXT:       }
// CHECK-NEXT:       %6 = affine.apply affine_map<(d0) -> (d0 * 2 + 1)>(%b)
// CHECK-NEXT:       memref.store %5, %dx[%6] : memref<32xf64>
// CHECK-NEXT:     }
// CHECK-NEXT:     scf.for %b = %c28 to %c32 step %c1 {
// CHECK-NEXT:       %0 = affine.apply affine_map<(d0) -> (-((-d0) floordiv 2) - 1)>(%b)
// CHECK-NEXT:       %1 = scf.for %i = %0 to %c15 step %c1 iter_args(%arg5 = %cst) -> (f64) {
// CHECK-NEXT:         %2 = memref.load %df[%i] : memref<15xf64>
// CHECK-NEXT:         %3 = affine.apply affine_map<(d0, d1) -> (d0 - d1 * 2)>(%b, %i)
// CHECK-NEXT:         %4 = memref.load %w[%3] : memref<3xf64>
// CHECK-NEXT:         %5 = math.fma %2, %4, %arg5 : f64
// CHECK-NEXT:         scf.yield %5 : f64
// CHECK-NEXT:       }
// CHECK-NEXT:       memref.store %1, %dx[%b] : memref<32xf64>
// CHECK-NEXT:     }
// CHECK-NEXT:     return
// CHECK-NEXT:   }
