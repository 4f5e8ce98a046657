// RUN: tadc %s --passes 'tad-to-loops{vector-bytes=0},canonicalize' | filecheck %s
// Pairs of elements side by side: no test of a remainder, no division; the ninth element is on its own.

func.func @f(%df: tensor<5xf64> {tad.name = "df"}) -> (tensor<9xf64> {tad.name = "dx"}) {
  %dx = tad.map (%b) -> tensor<9xf64> {
    %0 = tad.guard where {%b mod 2 == 0} -> f64 {
      %1 = tad.read %df[%b floordiv 2] : tensor<5xf64>
      tad.yield %1 : f64
    } else {
      %zero = arith.constant 0.0 : f64
      tad.yield %zero : f64
    }
    tad.yield %0 : f64
  }
  return %dx : tensor<9xf64>
}

// CHECK:        func.func private @tad_f.0(%df: memref<5xf64> {llvm.noalias}, %dx: memref<9xf64> {llvm.noalias}) attributes {{.*}} {
// CHECK-NEXT:     %c8 = arith.constant 8 : index
// CHECK-NEXT:     %cst = arith.constant 0.000000e+00 : f64
// CHECK-NEXT:     %c4 = arith.constant 4 : index
// CHECK-NEXT:     %c0 = arith.constant 0 : index
// CHECK-NEXT:     %c1 = arith.constant 1 : index
// CHECK-NEXT:     scf.for %b = %c0 to %c4 step %c1 {
// CHECK-NEXT:       %1 = memref.load %df[%b] : memref<5xf64>
// CHECK-NEXT:       %2 = affine.apply affine_map<(d0) -> (d0 * 2)>(%b)
// CHECK-NEXT:       memref.store %1, %dx[%2] : memref<9xf64>
// CHECK-NEXT:       %3 = affine.apply affine_map<(d0) -> (d0 * 2 + 1)>(%b)
// CHECK-NEXT:       memref.store %cst, %dx[%3] : memref<9xf64>
// CHECK-NEXT:     }
// CHECK-NEXT:     %0 = memref.load %df[%c4] : memref<5xf64>
// CHECK-NEXT:     memref.store %0, %dx[%c8] : memref<9xf64>
// CHECK-NEXT:     return
// CHECK-NEXT:   }
