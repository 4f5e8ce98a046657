// RUN: tadc %s --passes 'tad-to-loops{vector-bytes=0},canonicalize,cse' | filecheck %s
// Maps of a chain run over 4 rows at a time: the last time over what is left of a range too, and of all rows.
// Only they use %e, whose rows are in the same place each time.

func.func @f(%x: tensor<30x9xf64> {tad.name = "x"}) -> (tensor<30xf64> {tad.name = "f"}) {
  %e = "tad.map"() ({
  ^bb0(%i: index, %j: index):
    %0 = tad.read %x[%i, %j] : tensor<30x9xf64>
    %1 = math.exp %0 : f64
    tad.yield %1 : f64
  }) {domain = affine_set<(d0, d1) : (d0 >= 0, -d0 + 29 >= 0, d1 >= 0, -d1 + 8 >= 0)>, tad.chain = array<i64: 0, 4>} : () -> tensor<30x9xf64>
  %f = "tad.map"() ({
  ^bb0(%i: index):
    %0 = tad.sum (%j) in {0 <= %j <= 8} -> f64 {
      %1 = tad.read %e[%i, %j] : tensor<30x9xf64>
      tad.yield %1 : f64
    }
    tad.yield %0 : f64
  }) {domain = affine_set<(d0) : (d0 >= 0, -d0 + 29 >= 0)>, tad.chain = array<i64: 0, 4>} : () -> tensor<30xf64>
  return %f : tensor<30xf64>
}

// Threads divide 28 of 30 rows, at multiples of 4.
// CHECK:        func.func @tad_f(%x: memref<30x9xf64> {llvm.noalias}, %arg1: memref<30xf64> {llvm.noalias}, %arg2: memref<30x9xf64>) {
// CHECK-DAG:      %c28 = arith.constant 28 : index
// CHECK-DAG:      %c4 = arith.constant 4 : index
// CHECK:          call @tad_f.0.rows.split(%x, %arg1, %arg2, %c28, %c4, %{{.*}})
// CHECK:        func.func private @tad_f.0(%x: memref<30x9xf64> {llvm.noalias}, %arg1: memref<30x9xf64> {llvm.noalias}, %begin: index, %end: index, %shift: index)
// CHECK:          scf.for %i = %begin to %end step %c1 {
// CHECK:              %[[PLACE:.*]] = affine.apply affine_map<(d0)[s0] -> (d0 - s0)>(%i)[%shift]
// CHECK-NEXT:         memref.store %{{.*}}, %arg1[%[[PLACE]], %j] : memref<30x9xf64>
// CHECK:        func.func private @tad_f.1(%arg0: memref<30xf64> {llvm.noalias}, %arg1: memref<30x9xf64> {llvm.noalias}, %begin: index, %end: index, %shift: index)
// CHECK:        func.func private @tad_f.0.rows(
// CHECK:          %0 = affine.apply affine_map<()[s0] -> (s0 - 28)>()[%end]
// CHECK-NEXT:     %1 = arith.cmpi eq, %0, %c0 : index
// CHECK-NEXT:     %2 = arith.select %1, %c30, %end : index
// CHECK-NEXT:     %3 = affine.apply affine_map<()[s0] -> (s0 - 3)>()[%2]
// CHECK-NEXT:     scf.for %row = %begin to %3 step %c4 {
// CHECK-NEXT:       %4 = affine.apply affine_map<(d0)[s0] -> (-d0 + s0 - 8)>(%row)[%2]
// CHECK-NEXT:       %5 = arith.cmpi sge, %4, %c0 : index
// CHECK-NEXT:       %6 = affine.apply affine_map<(d0) -> (d0 + 4)>(%row)
// CHECK-NEXT:       %7 = arith.select %5, %6, %2 : index
// CHECK-NEXT:       %8 = affine.apply affine_map<(d0)[s0] -> (d0 - s0)>(%row)[%begin]
// CHECK-NEXT:       func.call @tad_f.0(%x, %arg2, %row, %7, %8)
// CHECK-NEXT:       func.call @tad_f.1(%arg1, %arg2, %row, %7, %8)
