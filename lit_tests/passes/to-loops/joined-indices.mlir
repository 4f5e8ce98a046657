// RUN: tadc %s --passes 'tad-to-loops{vector-bytes=0},canonicalize,cse' | filecheck %s
// Rows of few elements stand one after the other in memory: one loop is over all elements.

func.func @f(%x: tensor<?x3xf64> {tad.name = "x", tad.shape = affine_map<()[s0] -> (s0, 3)>},
             %N: index {tad.name = "N"}) -> (tensor<?x3xf64> {tad.name = "y"}) {
  %y = tad.map (%i, %j) in {0 <= %i < %N, 0 <= %j <= 2} -> tensor<?x3xf64> {
    %0 = tad.read %x[%i, %j] : tensor<?x3xf64>
    tad.yield %0 : f64
  }
  return %y : tensor<?x3xf64>
}

// CHECK:       func.func private @tad_f.0
// CHECK:         scf.for %ij = %begin to %end step %c1 {
// CHECK-NEXT:      memref.load
// CHECK-SAME:        [%ij] : memref<?xf64
// CHECK-NEXT:      memref.store
// CHECK-SAME:        [%ij] : memref<?xf64
// CHECK-NEXT:    }
