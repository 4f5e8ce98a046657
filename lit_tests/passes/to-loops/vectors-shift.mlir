// RUN: tadc %s --passes 'tad-to-loops,canonicalize,cse' | filecheck %s
// Both bounds of the sum move with %b: each lane runs through indices of its own, in as many steps.

func.func @f(%x: tensor<128xf64> {tad.name = "x"}, %w: tensor<8xf64> {tad.name = "w"}) -> (tensor<120xf64> {tad.name = "f"}) {
  %f = tad.map (%b) -> tensor<120xf64> {
    %0 = tad.sum (%z) in {%b <= %z <= %b + 7} -> f64 {
      %1 = tad.read %x[%z] : tensor<128xf64>
      %2 = tad.read %w[%z - %b] : tensor<8xf64>
      %3 = arith.mulf %1, %2 : f64
      tad.yield %3 : f64
    }
    tad.yield %0 : f64
  }
  return %f : tensor<120xf64>
}

// CHECK:      func.func private @tad_f.0
// CHECK:        scf.for %b = %c0 to %c120 step %[[TILE:.*]] {
// CHECK:          %[[BASE:.*]] = affine.min
// CHECK:          affine.apply affine_map<(d0) -> (d0 + 8)>(%[[BASE]])
// CHECK:          scf.for %z = %[[BASE]] to
// CHECK:            vector.load %x[%z]
// CHECK:            %[[AT:.*]] = affine.apply affine_map<(d0, d1) -> (-d0 + d1)>(%[[BASE]], %z)
// CHECK:            memref.load %w[%[[AT]]]
// CHECK:            math.fma
