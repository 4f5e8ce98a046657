// RUN: tadc %s --passes 'tad-to-loops{vector-bytes=0}' | filecheck %s
// Bounds of several rows are a maximum and a minimum; a sum carries its total.

func.func @f(%df: tensor<3x4xf64> {tad.name = "df"}) -> (tensor<8xf64> {tad.name = "dx"}) {
  %dx = tad.map (%b) -> tensor<8xf64> {
    %0 = tad.sum (%j) in {0 <= %j <= 3, %b - 2 <= %j, %j <= %b} -> f64 {
      %1 = tad.read %df[%b - %j, %j] : tensor<3x4xf64>
      tad.yield %1 : f64
    }
    tad.yield %0 : f64
  }
  return %dx : tensor<8xf64>
}

// CHECK:        func.func private @tad_f.0(%df: memref<3x4xf64> {llvm.noalias}, %dx: memref<8xf64> {llvm.noalias}) attributes {{.*}} {
// CHECK-NEXT:     %c8 = arith.constant 8 : index
// CHECK-NEXT:     %c0 = arith.constant 0 : index
// CHECK-NEXT:     %c1 = arith.constant 1 : index
// CHECK-NEXT:     scf.for %b = %c0 to %c8 step %c1 {
// CHECK-NEXT:       %cst = arith.constant 0.000000e+00 : f64
// CHECK-NEXT:       %0 = affine.max affine_map<(d0) -> (0, d0 - 2)>(%b)
// CHECK-NEXT:       %1 = affine.min affine_map<(d0) -> (4, d0 + 1)>(%b)
// CHECK-NEXT:       %c1_0 = arith.constant 1 : index
// CHECK-NEXT:       %2 = scf.for %j = %0 to %1 step %c1_0 iter_args(%arg4 = %cst) -> (f64) {
// CHECK-NEXT:         %3 = affine.apply affine_map<(d0, d1) -> (d0 - d1)>(%b, %j)
// CHECK-NEXT:         %4 = memref.load %df[%3, %j] : memref<3x4xf64>
// CHECK-NEXT:         %5 = arith.addf %arg4, %4 : f64
// CHECK-NEXT:         scf.yield %5 : f64
// CHECK-NEXT:       }
// CHECK-NEXT:       memref.store %2, %dx[%b] : memref<8xf64>
// CHECK-NEXT:     }
// CHECK-NEXT:     return
// CHECK-NEXT:   }
