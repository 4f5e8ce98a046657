// RUN: tadc %s --passes 'tad-to-gpu' | filecheck %s
// One thread per element; threads out of range are idle. No atomics.

func.func @f(%x: tensor<8xf64> {tad.name = "x"}) -> (tensor<3x4xf64> {tad.name = "f"}) {
  %f = tad.map (%i, %j) -> tensor<3x4xf64> {
    %0 = tad.read %x[%i + %j] : tensor<8xf64>
    tad.yield %0 : f64
  }
  return %f : tensor<3x4xf64>
}

// CHECK:      module attributes {gpu.container_module} {
// CHECK-NEXT:   gpu.module @tad_f {
// CHECK-NEXT:     gpu.func @tad_f_0(%x: memref<8xf64> {llvm.align = 16 : i64, llvm.noalias}, %f: memref<3x4xf64> {llvm.align = 16 : i64, llvm.noalias}) kernel attributes {known_block_size = array<i32: 64, 1, 1>, known_grid_size = array<i32: 1, 1, 1>} {
// CHECK-NEXT:       %thread_id_x = gpu.thread_id x
// CHECK-NEXT:       %block_id_x = gpu.block_id x
// CHECK-NEXT:       %0 = affine.apply affine_map<(d0, d1) -> (d0 + d1 * 64)>(%thread_id_x, %block_id_x)
// CHECK-NEXT:       %c0 = arith.constant 0 : index
// CHECK-NEXT:       %1 = affine.apply affine_map<(d0) -> (-d0 + 11)>(%0)
// CHECK-NEXT:       %2 = arith.cmpi sge, %1, %c0 : index
// CHECK-NEXT:       scf.if %2 {
// CHECK-NEXT:         %3 = affine.apply affine_map<(d0) -> (d0 floordiv 4)>(%0)
// CHECK-NEXT:         %4 = affine.apply affine_map<(d0) -> (d0 mod 4)>(%0)
// CHECK-NEXT:         %5 = affine.apply affine_map<(d0, d1) -> (d0 + d1)>(%3, %4)
// CHECK-NEXT:         %6 = memref.load %x[%5] : memref<8xf64>
// CHECK-NEXT:         memref.store %6, %f[%3, %4] : memref<3x4xf64>
// CHECK-NEXT:       }
// CHECK-NEXT:       gpu.return
// CHECK-NEXT:     }
// CHECK-NEXT:   }
