// RUN: tadc %s --passes 'tad-to-loops,canonicalize,cse' | filecheck %s
// A scalar has no index of its own for lanes: the sum is taken in vectors, the last under a mask, and joined by halves.

func.func @f(%x: tensor<1003xf64> {tad.name = "x"}, %y: tensor<1003xf64> {tad.name = "y"}) -> (tensor<f64> {tad.name = "f"}) {
  %f = tad.map () -> tensor<f64> {
    %0 = tad.sum (%k) in {0 <= %k <= 1002} -> f64 {
      %1 = tad.read %x[%k] : tensor<1003xf64>
      %2 = tad.read %y[%k] : tensor<1003xf64>
      %3 = arith.mulf %1, %2 : f64
      tad.yield %3 : f64
    }
    tad.yield %0 : f64
  }
  return %f : tensor<f64>
}

// CHECK:      func.func private @tad_f.0
// CHECK:        scf.for %k0 = %c0 to %{{.*}} step %c1 iter_args
// CHECK:          %[[K:.*]] = affine.apply affine_map<(d0) -> (d0 * 32)>(%k0)
// CHECK:          vector.load %x[%[[K]]]
// CHECK:          math.fma
// CHECK:        scf.if
// CHECK:          vector.maskedload %x
// Copies are joined before lanes are.
// CHECK-COUNT-3: arith.addf {{.*}} : vector<8xf64>
// CHECK:        vector.shuffle {{.*}} [0, 1, 2, 3] : vector<8xf64>, vector<8xf64>
// CHECK:        vector.shuffle {{.*}} [4, 5, 6, 7] : vector<8xf64>, vector<8xf64>
// CHECK:        vector.extract
