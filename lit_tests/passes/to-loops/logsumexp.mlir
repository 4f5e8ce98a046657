// RUN: tadc %s --passes 'tad-to-loops{vector-bytes=0}' | filecheck %s
// Two nests: the maximum, then what exceeds it nowhere; an infinite maximum is not subtracted.

func.func @f(%x: tensor<3x4xf64> {tad.name = "x"}) -> (tensor<3xf64> {tad.name = "f"}) {
  %f = tad.map (%i) -> tensor<3xf64> {
    %0 = tad.reduce "logsumexp" (%k) in {0 <= %k <= %i} -> f64 {
      %1 = tad.read %x[%i, %k] : tensor<3x4xf64>
      tad.yield %1 : f64
    }
    tad.yield %0 : f64
  }
  return %f : tensor<3xf64>
}

// CHECK:        func.func private @tad_f.0(%x: memref<3x4xf64> {llvm.noalias}, %f: memref<3xf64> {llvm.noalias}) attributes {{.*}} {
// CHECK-NEXT:     %c3 = arith.constant 3 : index
// CHECK-NEXT:     %c0 = arith.constant 0 : index
// CHECK-NEXT:     %c1 = arith.constant 1 : index
// CHECK-NEXT:     scf.for %i = %c0 to %c3 step %c1 {
// CHECK-NEXT:       %cst = arith.constant 0xFFF0000000000000 : f64
// CHECK-NEXT:       %c0_0 = arith.constant 0 : index
// CHECK-NEXT:       %0 = affine.apply affine_map<(d0) -> (d0 + 1)>(%i)
// CHECK-NEXT:       %c1_1 = arith.constant 1 : index
// CHECK-NEXT:       %1 = scf.for %k = %c0_0 to %0 step %c1_1 iter_args(%arg4 = %cst) -> (f64) {
// CHECK-NEXT:         %9 = memref.load %x[%i, %k] : memref<3x4xf64>
// CHECK-NEXT:         %10 = arith.cmpf ogt, %arg4, %9 : f64
// CHECK-NEXT:         %11 = arith.select %10, %arg4, %9 : f64
// CHECK-NEXT:         %12 = arith.cmpf uno, %arg4, %arg4 : f64
// CHECK-NEXT:         %13 = arith.select %12, %arg4, %11 : f64
// CHECK-NEXT:         scf.yield %13 : f64
// CHECK-NEXT:       }
// CHECK-NEXT:       %cst_2 = arith.constant 0x7FF0000000000000 : f64
// CHECK-NEXT:       %cst_3 = arith.constant 0.000000e+00 : f64
// CHECK-NEXT:       %2 = math.absf %1 : f64
// CHECK-NEXT:       %3 = arith.cmpf olt, %2, %cst_2 : f64
// CHECK-NEXT:       %4 = arith.select %3, %1, %cst_3 : f64
// CHECK-NEXT:       %cst_4 = arith.constant 0.000000e+00 : f64
// CHECK-NEXT:       %c0_5 = arith.constant 0 : index
// CHECK-NEXT:       %5 = affine.apply affine_map<(d0) -> (d0 + 1)>(%i)
// CHECK-NEXT:       %c1_6 = arith.constant 1 : index
// CHECK-NEXT:       %6 = scf.for %k = %c0_5 to %5 step %c1_6 iter_args(%arg4 = %cst_4) -> (f64) {
// CHECK-NEXT:         %9 = memref.load %x[%i, %k] : memref<3x4xf64>
// CHECK-NEXT:         %10 = arith.subf %9, %4 : f64
// CHECK-NEXT:         %11 = math.exp %10 : f64
// CHECK-NEXT:         %12 = arith.addf %arg4, %11 : f64
// CHECK-NEXT:         scf.yield %12 : f64
// CHECK-NEXT:       }
// CHECK-NEXT:       %7 = math.log %6 : f64
// CHECK-NEXT:       %8 = arith.addf %7, %4 : f64
// CHECK-NEXT:       memref.store %8, %f[%i] : memref<3xf64>
// CHECK-NEXT:     }
// CHECK-NEXT:     return
// CHECK-NEXT:   }
