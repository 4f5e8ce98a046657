// RUN: tadc %s --passes 'tad-to-loops{registers=2},canonicalize,cse' | filecheck %s
// The lanes of a tile stop at different indices: they run to the least stop together, then under a mask.

func.func @f(%x: tensor<64x64xf64> {tad.name = "x"}) -> (tensor<64xf64> {tad.name = "f"}) {
  %f = tad.map (%i) -> tensor<64xf64> {
    %0 = tad.sum (%k) in {0 <= %k <= %i} -> f64 {
      %1 = tad.read %x[%k, %i] : tensor<64x64xf64>
      tad.yield %1 : f64
    }
    tad.yield %0 : f64
  }
  return %f : tensor<64xf64>
}

// CHECK:      func.func private @tad_f.0
// CHECK:        scf.for %i = %c0 to %c64 step %c8 {
// CHECK:          scf.for %k
// CHECK:            vector.load %x[%k, %i]
// CHECK-NEXT:       arith.addf
// CHECK:          scf.for %k
// CHECK:            %[[LEAST:.*]] = arith.index_cast %{{.*}} : index to i32
// CHECK-NEXT:       %[[SAME:.*]] = vector.broadcast %[[LEAST]] : i32 to vector<8xi32>
// CHECK-NEXT:       %[[MASK:.*]] = arith.cmpi sge, %[[SAME]], %{{.*}} : vector<8xi32>
// CHECK:            vector.reduction <or>, %[[MASK]]
// CHECK:            scf.if
// CHECK-NEXT:         vector.maskedload %x[%k, %i], %[[MASK]]
// CHECK-NEXT:         arith.addf
// CHECK-NEXT:         arith.select %[[MASK]]
