// RUN: tadc %s --passes 'tad-to-loops,canonicalize,cse' | filecheck %s
// The index of the sum moves with the lane, so that all lanes read the same of `x` and all vectors the same of
// `w`, the other way round. The first and the last steps, which not all lanes take, are under masks.

func.func @f(%x: tensor<10127xf32> {tad.name = "x"}, %w: tensor<128xf32> {tad.name = "w"}) -> (tensor<10000xf32> {tad.name = "y"}) {
  %y = tad.map (%i) -> tensor<10000xf32> {
    %0 = tad.sum (%k) in {0 <= %k <= 127} -> f32 {
      %1 = tad.read %x[%i + %k] : tensor<10127xf32>
      %2 = tad.read %w[%k] : tensor<128xf32>
      %3 = arith.mulf %1, %2 : f32
      tad.yield %3 : f32
    }
    tad.yield %0 : f32
  }
  return %y : tensor<10000xf32>
}

// CHECK:      scf.for %i = %begin to %end step %c320
// CHECK:        %[[BEFORE:.*]]:20 = scf.for %k = %c0 to %c15 step %c1
// CHECK:          vector.maskedload %w[
// CHECK:        %[[ALL:.*]]:20 = scf.for %k = %c15 to %c128 step %c1 iter_args(%{{.*}} = %[[BEFORE]]#0
// CHECK:          %[[X:.*]] = memref.load %x[%{{.*}}]
// CHECK:          %[[RUN:.*]] = vector.load %w[%{{.*}}] : memref<128xf32>, vector<16xf32>
// CHECK:          %[[W:.*]] = vector.shuffle %[[RUN]], %{{.*}} [15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0]
// CHECK:          %[[SAME:.*]] = vector.broadcast %[[X]] : f32 to vector<16xf32>
// CHECK:          math.fma %[[SAME]], %[[W]]
// CHECK-NOT:      vector.load
// CHECK:        scf.for %k = %c128 to %c143 step %c1 iter_args(%{{.*}} = %[[ALL]]#0
// CHECK:          vector.maskedload %w[
