// RUN: tadc %s --passes 'tad-to-gpu' | filecheck %s
// A thread runs the loops of its element.

func.func @f(%x: tensor<3x4xf64> {tad.name = "x"}) -> (tensor<3xf64> {tad.name = "f"}) {
  %f = tad.map (%i) -> tensor<3xf64> {
    %0 = tad.reduce "max" (%k) in {0 <= %k <= %i} -> f64 {
      %1 = tad.read %x[%i, %k] : tensor<3x4xf64>
      tad.yield %1 : f64
    }
    tad.yield %0 : f64
  }
  return %f : tensor<3xf64>
}

// CHECK:        gpu.module @tad_f {
// CHECK-NEXT:     gpu.func @tad_f_0(%x: memref<3x4xf64> {llvm.align = 16 : i64, llvm.noalias}, %f: memref<3xf64> {llvm.align = 16 : i64, llvm.noalias}) kernel attributes {known_block_size = array<i32: 64, 1, 1>, known_grid_size = array<i32: 1, 1, 1>} {
// CHECK-NEXT:       %thread_id_x = gpu.thread_id x
// CHECK-NEXT:       %block_id_x = gpu.block_id x
// CHECK-NEXT:       %0 = affine.apply affine_map<(d0, d1) -> (d0 + d1 * 64)>(%thread_id_x, %block_id_x)
// CHECK-NEXT:       %c0 = arith.constant 0 : index
// CHECK-NEXT:       %1 = affine.apply affine_map<(d0) -> (-d0 + 2)>(%0)
// CHECK-NEXT:       %2 = arith.cmpi sge, %1, %c0 : index
// CHECK-NEXT:       scf.if %2 {
// CHECK-NEXT:         %cst = arith.constant 0xFFF0000000000000 : f64
// CHECK-NEXT:         %c0_0 = arith.constant 0 : index
// CHECK-NEXT:         %3 = affine.apply affine_map<(d0) -> (d0 + 1)>(%0)
// CHECK-NEXT:         %c1 = arith.constant 1 : index
// CHECK-NEXT:         %4 = scf.for %k = %c0_0 to %3 step %c1 iter_args(%arg3 = %cst) -> (f64) {
// CHECK-NEXT:           %5 = memref.load %x[%0, %k] : memref<3x4xf64>
// CHECK-NEXT:           %6 = arith.cmpf ogt, %arg3, %5 : f64
// CHECK-NEXT:           %7 = arith.select %6, %arg3, %5 : f64
// CHECK-NEXT:           %8 = arith.cmpf uno, %arg3, %arg3 : f64
// CHECK-NEXT:           %9 = arith.select %8, %arg3, %7 : f64
// CHECK-NEXT:           scf.yield %9 : f64
// CHECK-NEXT:         }
// CHECK-NEXT:         memref.store %4, %f[%0] : memref<3xf64>
// CHECK-NEXT:       }
// CHECK-NEXT:       gpu.return
// CHECK-NEXT:     }
// CHECK-NEXT:   }
