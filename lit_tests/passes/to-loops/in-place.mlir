// RUN: tadc %s --passes 'tad-to-loops{vector-bytes=0},canonicalize,cse' | filecheck %s
// What a map adds to another on a thin set is stored where that is, at the points of the set alone.

func.func @f(%x: tensor<30x20xf64> {tad.name = "x"}, %t: tensor<20xf64> {tad.name = "t"}) -> (tensor<30x20xf64> {tad.name = "f"}) {
  %e = tad.map (%i, %j) -> tensor<30x20xf64> {
    %0 = tad.read %x[%i, %j] : tensor<30x20xf64>
    %1 = math.exp %0 : f64
    tad.yield %1 : f64
  }
  %f = "tad.map"() ({
  ^bb0(%i: index, %j: index):
    %0 = tad.guard where {%i == 2*%j} -> f64 {
      %1 = tad.read %t[%j] : tensor<20xf64>
      %2 = tad.read %e[%i, %j] : tensor<30x20xf64>
      %3 = arith.addf %1, %2 : f64
      tad.yield %3 : f64
    } else {
      %1 = tad.read %e[%i, %j] : tensor<30x20xf64>
      tad.yield %1 : f64
    }
    tad.yield %0 : f64
  }) {domain = affine_set<(d0, d1) : (d0 >= 0, -d0 + 29 >= 0, d1 >= 0, -d1 + 19 >= 0)>, tad.in_place} : () -> tensor<30x20xf64>
  return %f : tensor<30x20xf64>
}

// CHECK:      func.func @tad_f(%x: memref<30x20xf64> {llvm.noalias}, %t: memref<20xf64> {llvm.noalias}, %[[F:.*]]: memref<30x20xf64> {llvm.noalias}) {
// CHECK-NEXT:   call @tad_f.0(%x, %[[F]])
// CHECK-NEXT:   call @tad_f.1(%t, %[[F]])
// CHECK:      func.func private @tad_f.1(%t: memref<20xf64> {llvm.noalias}, %[[F:.*]]: memref<30x20xf64> {llvm.noalias})
// CHECK:        scf.for %[[J:.*]] = %c0 to %c15 step %c1 {
// CHECK-NEXT:     %0 = memref.load %t[%[[J]]] : memref<20xf64>
// CHECK-NEXT:     %1 = affine.apply affine_map<(d0) -> (d0 * 2)>(%[[J]])
// CHECK-NEXT:     %2 = memref.load %[[F]][%1, %[[J]]] : memref<30x20xf64>
// CHECK-NEXT:     %3 = arith.addf %0, %2 : f64
// CHECK-NEXT:     memref.store %3, %[[F]][%1, %[[J]]] : memref<30x20xf64>
