// RUN: tadc %s --passes 'tad-to-loops{registers=28},canonicalize,cse' | filecheck %s
// Lanes along %o, which are far apart in memory, and copies along %t, which are side by side: four vectors are
// woven, and what a lane has of them is stored together. The fifth is stored lane by lane.

func.func @f(%x: tensor<64x2045xf32> {tad.name = "x"}, %w: tensor<64x64x6xf32> {tad.name = "w"}) -> (tensor<64x2040xf32> {tad.name = "f"}) {
  %f = tad.map (%o, %t) -> tensor<64x2040xf32> {
    %0 = tad.sum (%c, %u) in {0 <= %c <= 63, 0 <= %u <= 5} -> f32 {
      %1 = tad.read %x[%c, %t + %u] : tensor<64x2045xf32>
      %2 = tad.read %w[%o, %c, %u] : tensor<64x64x6xf32>
      %3 = arith.mulf %1, %2 : f32
      tad.yield %3 : f32
    }
    tad.yield %0 : f32
  }
  return %f : tensor<64x2040xf32>
}

// CHECK:      func.func private @tad_f.0
// CHECK:        %[[SUM:.*]]:20 = scf.for
// CHECK:        %[[EVEN:.*]] = vector.interleave %[[SUM]]#0, %[[SUM]]#8 : vector<16xf32> -> vector<32xf32>
// CHECK-NEXT:   %[[ODD:.*]] = vector.interleave %[[SUM]]#4, %[[SUM]]#12
// CHECK-NEXT:   %[[ALL:.*]] = vector.interleave %[[EVEN]], %[[ODD]] : vector<32xf32> -> vector<64xf32>
// CHECK-NEXT:   %[[FIRST:.*]] = vector.extract_strided_slice %[[ALL]] {offsets = [0], sizes = [4]
// CHECK-NEXT:   vector.store %[[FIRST]], %f[%c0, %[[T:.*]]] : memref<64x2040xf32>, vector<4xf32>
// CHECK-NEXT:   %[[SECOND:.*]] = vector.extract_strided_slice %[[ALL]] {offsets = [4], sizes = [4]
// CHECK-NEXT:   vector.store %[[SECOND]], %f[%c1, %[[T]]]
// CHECK-COUNT-4: vector.scatter %f
// CHECK-NOT:    vector.scatter
