// RUN: tadc %s --passes 'tad-to-loops{vector-bytes=0}' | filecheck %s
// Integer powers are products; what upstream lacks is spelt out.

func.func @f(%x: tensor<5xf64> {tad.name = "x"}) -> (tensor<5xf64> {tad.name = "f"}) {
  %f = tad.map (%i) -> tensor<5xf64> {
    %0 = tad.read %x[%i] : tensor<5xf64>
    %three = arith.constant 3 : i64
    %1 = math.fpowi %0, %three : f64, i64
    %2 = tad.apply "relu"(%1) : f64
    %3 = tad.index %i * 2 + 1 : index
    %4 = tad.value_of %3 : f64
    %5 = arith.mulf %2, %4 : f64
    tad.yield %5 : f64
  }
  return %f : tensor<5xf64>
}

// CHECK:        func.func private @tad_f.0(%x: memref<5xf64> {llvm.noalias}, %f: memref<5xf64> {llvm.noalias}) attributes {{.*}} {
// CHECK-NEXT:     %c5 = arith.constant 5 : index
// CHECK-NEXT:     %c0 = arith.constant 0 : index
// CHECK-NEXT:     %c1 = arith.constant 1 : index
// CHECK-NEXT:     scf.for %i = %c0 to %c5 step %c1 {
// CHECK-NEXT:       %0 = memref.load %x[%i] : memref<5xf64>
// CHECK-NEXT:       %1 = arith.mulf %0, %0 : f64
// CHECK-NEXT:       %2 = arith.mulf %0, %1 : f64
// CHECK-NEXT:       %cst = arith.constant 0.000000e+00 : f64
// CHECK-NEXT:       %3 = arith.cmpf ole, %2, %cst : f64
// CHECK-NEXT:       %4 = arith.select %3, %cst, %2 : f64
// CHECK-NEXT:       %5 = affine.apply affine_map<(d0) -> (d0 * 2 + 1)>(%i)
// CHECK-NEXT:       %6 = arith.index_cast %5 : index to i64
// CHECK-NEXT:       %7 = arith.sitofp %6 : i64 to f64
// CHECK-NEXT:       %8 = arith.mulf %4, %7 : f64
// CHECK-NEXT:       memref.store %8, %f[%i] : memref<5xf64>
// CHECK-NEXT:     }
// CHECK-NEXT:     return
// CHECK-NEXT:   }
