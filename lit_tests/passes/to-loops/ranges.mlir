// RUN: tadc %s --passes 'tad-to-loops{vector-bytes=0},canonicalize,cse' | filecheck %s
// A map of many operations is lowered over a range of its elements, one of few over all.

func.func @f(%x: tensor<65536xf64> {tad.name = "x"}) -> (tensor<65536xf64> {tad.name = "y"}, tensor<9xf64> {tad.name = "z"}) {
  %y = tad.map (%i) -> tensor<65536xf64> {
    %0 = tad.read %x[%i] : tensor<65536xf64>
    %1 = math.exp %0 : f64
    tad.yield %1 : f64
  }
  %z = tad.map (%i) -> tensor<9xf64> {
    %0 = tad.read %y[%i] : tensor<65536xf64>
    tad.yield %0 : f64
  }
  return %y, %z : tensor<65536xf64>, tensor<9xf64>
}

// The entry says how many elements there are, what ranges begin at multiples of, and how many operations it is.
// CHECK:        func.func @tad_f(%x: memref<65536xf64> {llvm.noalias}, %y: memref<65536xf64> {llvm.noalias}, %z: memref<9xf64> {llvm.noalias}) {
// CHECK-DAG:      %c65536 = arith.constant 65536 : index
// CHECK-DAG:      %c64 = arith.constant 64 : index
// CHECK-DAG:      %c786432 = arith.constant 786432 : index
// CHECK-NEXT:     call @tad_f.0.split(%x, %y, %c65536, %c64, %c786432)
// CHECK-NEXT:     call @tad_f.1(%y, %z) : (memref<65536xf64>, memref<9xf64>) -> ()
// CHECK-NEXT:     return
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func private @tad_f.0(%x: memref<65536xf64> {llvm.noalias}, %y: memref<65536xf64> {llvm.noalias}, %begin: index, %end: index) attributes {llvm.linkage = #llvm.linkage<internal>, llvm.no_inline} {
// CHECK-NEXT:     %c1 = arith.constant 1 : index
// CHECK-NEXT:     scf.for %i = %begin to %end step %c1 {
// CHECK:        func.func private @tad_f.1(%y: memref<65536xf64> {llvm.noalias}, %z: memref<9xf64> {llvm.noalias}) attributes
// CHECK:          scf.for %i = %c0 to %c9 step %c1 {
// CHECK:        func.func private @tad_f.0.split(memref<65536xf64>, memref<65536xf64>, index, index, index)
