// RUN: tadc %s --passes 'tad-to-loops,canonicalize,cse' | filecheck %s
// Lanes along %j read elements of %x that are rows apart, and 8 copies along %i those side by side: 8 rows are read along %i, and transposed,
// row after row.

func.func @y(%x: tensor<400x300xf64> {tad.name = "x"}) -> (tensor<300x400xf64> {tad.name = "y"}) {
  %y = tad.map (%i, %j) -> tensor<300x400xf64> {
    %0 = tad.read %x[%j, %i] : tensor<400x300xf64>
    tad.yield %0 : f64
  }
  return %y : tensor<300x400xf64>
}

// CHECK:      func.func private @tad_y.0
// CHECK:        scf.for %j = %begin to %end step %c8
// CHECK-NEXT:     %[[J:.*]] = affine.min affine_map<(d0) -> (392, d0)>(%j)
// CHECK-NEXT:     scf.for %i = %c0 to %c300 step %c8
// CHECK-NEXT:       %[[I:.*]] = affine.min affine_map<(d0) -> (292, d0)>(%i)
// CHECK-NEXT:       vector.load %x[%[[J]], %[[I]]]
// CHECK-COUNT-7:    vector.load %x[
// CHECK-COUNT-24:   vector.shuffle
// CHECK-COUNT-8:    vector.store
// CHECK-NOT:    vector.gather
