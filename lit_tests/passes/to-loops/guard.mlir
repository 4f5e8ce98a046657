// RUN: tadc %s --passes 'tad-to-loops{vector-bytes=0}' | filecheck %s
// A guard is lazy: the read stays inside the branch.

func.func @f(%df: tensor<4xf64> {tad.name = "df"}) -> (tensor<9xf64> {tad.name = "dx"}) {
  %dx = tad.map (%b) -> tensor<9xf64> {
    %0 = tad.guard where {%b >= 2, %b <= 5} -> f64 {
      %1 = tad.read %df[%b - 2] : tensor<4xf64>
      tad.yield %1 : f64
    } else {
      %zero = arith.constant 0.0 : f64
      tad.yield %zero : f64
    }
    tad.yield %0 : f64
  }
  return %dx : tensor<9xf64>
}

// CHECK:        func.func private @tad_f.0(%df: memref<4xf64> {llvm.noalias}, %dx: memref<9xf64> {llvm.noalias}) attributes {{.*}} {
// CHECK-NEXT:     %c9 = arith.constant 9 : index
// CHECK-NEXT:     %c0 = arith.constant 0 : index
// CHECK-NEXT:     %c1 = arith.constant 1 : index
// CHECK-NEXT:     scf.for %b = %c0 to %c9 step %c1 {
// CHECK-NEXT:       %c0_0 = arith.constant 0 : index
// CHECK-NEXT:       %0 = affine.apply affine_map<(d0) -> (d0 - 2)>(%b)
// CHECK-NEXT:       %1 = arith.cmpi sge, %0, %c0_0 : index
// CHECK-NEXT:       %2 = affine.apply affine_map<(d0) -> (-d0 + 5)>(%b)
// CHECK-NEXT:       %3 = arith.cmpi sge, %2, %c0_0 : index
// CHECK-NEXT:       %4 = arith.andi %1, %3 : i1
// CHECK-NEXT:       %5 = scf.if %4 -> (f64) {
// CHECK-NEXT:         %6 = affine.apply affine_map<(d0) -> (d0 - 2)>(%b)
// CHECK-NEXT:         %7 = memref.load %df[%6] : memref<4xf64>
// CHECK-NEXT:         scf.yield %7 : f64
// CHECK-NEXT:       } else {
// CHECK-NEXT:         %cst = arith.constant 0.000000e+00 : f64
// CHECK-NEXT:         scf.yield %cst : f64
// CHECK-NEXT:       }
// CHECK-NEXT:       memref.store %5, %dx[%b] : memref<9xf64>
// CHECK-NEXT:     }
// CHECK-NEXT:     return
// CHECK-NEXT:   }
