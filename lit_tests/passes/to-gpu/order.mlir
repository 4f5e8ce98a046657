// RUN: tadc %s --passes 'tad-to-gpu' | filecheck %s
// A kernel for each tensor, in the order of the text, over the buffers that it uses.

func.func @f(%x: tensor<3xf64> {tad.name = "x"}) -> (tensor<3xf64> {tad.name = "f"}) {
  %h = tad.map (%i) -> tensor<3xf64> {
    %0 = tad.read %x[%i] : tensor<3xf64>
    %1 = math.sin %0 : f64
    tad.yield %1 : f64
  }
  %f = tad.map (%i) -> tensor<3xf64> {
    %2 = tad.read %h[%i] : tensor<3xf64>
    tad.yield %2 : f64
  }
  return %f : tensor<3xf64>
}

// CHECK:      module attributes {gpu.container_module} {
// CHECK-NEXT:   gpu.module @tad_f {
// CHECK-NEXT:     gpu.func @tad_f_0(%x: memref<3xf64> {llvm.align = 16 : i64, llvm.noalias}, %h: memref<3xf64> {llvm.align = 16 : i64, llvm.noalias}) kernel attributes {known_block_size = array<i32: 64, 1, 1>, known_grid_size = array<i32: 1, 1, 1>} {
// CHECK-NEXT:       %thread_id_x = gpu.thread_id x
// CHECK-NEXT:       %block_id_x = gpu.block_id x
// CHECK-NEXT:       %0 = affine.apply affine_map<(d0, d1) -> (d0 + d1 * 64)>(%thread_id_x, %block_id_x)
// CHECK-NEXT:       %c0 = arith.constant 0 : index
// CHECK-NEXT:       %1 = affine.apply affine_map<(d0) -> (-d0 + 2)>(%0)
// CHECK-NEXT:       %2 = arith.cmpi sge, %1, %c0 : index
// CHECK-NEXT:       scf.if %2 {
// CHECK-NEXT:         %3 = memref.load %x[%0] : memref<3xf64>
// CHECK-NEXT:         %4 = math.sin %3 : f64
// CHECK-NEXT:         memref.store %4, %h[%0] : memref<3xf64>
// CHECK-NEXT:       }
// CHECK-NEXT:       gpu.return
// CHECK-NEXT:     }
// CHECK-NEXT:     gpu.func @tad_f_1(%h: memref<3xf64> {llvm.align = 16 : i64, llvm.noalias}, %f: memref<3xf64> {llvm.align = 16 : i64, llvm.noalias}) kernel attributes {known_block_size = array<i32: 64, 1, 1>, known_grid_size = array<i32: 1, 1, 1>} {
// CHECK-NEXT:       %thread_id_x = gpu.thread_id x
// CHECK-NEXT:       %block_id_x = gpu.block_id x
// CHECK-NEXT:       %0 = affine.apply affine_map<(d0, d1) -> (d0 + d1 * 64)>(%thread_id_x, %block_id_x)
// CHECK-NEXT:       %c0 = arith.constant 0 : index
// CHECK-NEXT:       %1 = affine.apply affine_map<(d0) -> (-d0 + 2)>(%0)
// CHECK-NEXT:       %2 = arith.cmpi sge, %1, %c0 : index
// CHECK-NEXT:       scf.if %2 {
// CHECK-NEXT:         %3 = memref.load %h[%0] : memref<3xf64>
// CHECK-NEXT:         memref.store %3, %f[%0] : memref<3xf64>
// CHECK-NEXT:       }
// CHECK-NEXT:       gpu.return
// CHECK-NEXT:     }
// CHECK-NEXT:   }
