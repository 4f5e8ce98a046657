// RUN: tadc %s --passes 'tad-to-loops{vector-bytes=0},canonicalize,cse' | filecheck %s
// Tensors in between may share memory in the entry, not in a map that uses both.

func.func @f(%x: tensor<9xf64> {tad.name = "x"}) -> (tensor<7xf64> {tad.name = "y"}) {
  %s = tad.map (%i) -> tensor<9xf64> {
    %0 = tad.read %x[%i] : tensor<9xf64>
    %1 = math.exp %0 : f64
    tad.yield %1 : f64
  }
  %t = tad.map (%i) -> tensor<8xf64> {
    %0 = tad.read %s[%i + 1] : tensor<9xf64>
    tad.yield %0 : f64
  }
  %y = tad.map (%i) -> tensor<7xf64> {
    %0 = tad.read %t[%i + 1] : tensor<8xf64>
    tad.yield %0 : f64
  }
  return %y : tensor<7xf64>
}

// CHECK:      func.func @tad_f(%x: memref<9xf64> {llvm.noalias}, %y: memref<7xf64> {llvm.noalias}, %s: memref<9xf64>, %t: memref<8xf64>) {
// CHECK:      func.func private @tad_f.1(%s: memref<9xf64> {llvm.noalias}, %t: memref<8xf64> {llvm.noalias})
