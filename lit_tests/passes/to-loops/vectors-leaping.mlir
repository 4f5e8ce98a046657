// RUN: tadc %s --passes 'tad-to-loops{registers=12},canonicalize,cse' | filecheck %s
// A step takes in the elements at k and k + 16: what a vector reads for the second, its neighbour reads for the
// first. Ten elements are left, for which a step takes one.

func.func @f(%x: tensor<10137xf32> {tad.name = "x"}, %w: tensor<138xf32> {tad.name = "w"}) -> (tensor<10000xf32> {tad.name = "y"}) {
  %y = tad.map (%i) -> tensor<10000xf32> {
    %0 = tad.sum (%k) in {0 <= %k <= 137} -> f32 {
      %1 = tad.read %x[%i + %k] : tensor<10137xf32>
      %2 = tad.read %w[%k] : tensor<138xf32>
      %3 = arith.mulf %1, %2 : f32
      tad.yield %3 : f32
    }
    tad.yield %0 : f32
  }
  return %y : tensor<10000xf32>
}

// CHECK:      scf.for %i = %begin to %end step %c128
// CHECK:        %[[BLOCKS:.*]]:8 = scf.for %k0 = %c0 to %c4 step %c1
// CHECK:          scf.for %k3 = %c0 to %c16 step %c1 iter_args(%[[Y0:[a-z0-9]+]] = %{{[a-z0-9]+}}, %[[Y1:[a-z0-9]+]] = 
// CHECK:            %[[X0:.*]] = vector.load %x[
// CHECK-NEXT:       %[[K:.*]] = affine.apply affine_map<(d0, d1) -> (d0 * 32 + d1)>(%k0, %k3)
// CHECK-NEXT:       memref.load %w[%[[K]]]
// CHECK-NEXT:       %[[W0:.*]] = vector.broadcast
// CHECK-NEXT:       %[[SUM:.*]] = math.fma %[[X0]], %[[W0]], %[[Y0]]
// CHECK:            %[[X1:.*]] = vector.load %x[
// CHECK-NEXT:       %[[NEXT:.*]] = math.fma %[[X1]], %[[W0]], %[[Y1]]
// CHECK-NEXT:       %[[K16:.*]] = affine.apply affine_map<(d0, d1) -> (d0 * 32 + d1 + 16)>(%k0, %k3)
// CHECK-NEXT:       memref.load %w[%[[K16]]]
// CHECK-NEXT:       %[[W1:.*]] = vector.broadcast
// CHECK-NEXT:       math.fma %[[X1]], %[[W1]], %[[SUM]]
// CHECK:            %[[X2:.*]] = vector.load %x[
// CHECK-NEXT:       math.fma %[[X2]], %[[W0]]
// CHECK-NEXT:       math.fma %[[X2]], %[[W1]], %[[NEXT]]
// CHECK-NOT:        memref.load %w
// CHECK:        scf.for %k3 = %c0 to %c10 step %c1 iter_args(%{{.*}} = %[[BLOCKS]]#0
// CHECK-NOT:      scf.for
// CHECK:            math.fma
