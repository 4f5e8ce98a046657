// RUN: tadc %s --passes 'tad-to-loops,canonicalize,cse' | filecheck %s
// Near the first rows of %dx some copies of a step are in no row of %dy. What such a copy loads is masked in all
// lanes; it is loaded from the first row, for the memory before an array may not be mapped, which is slow.

func.func @f(%dy: tensor<256x256xf32> {tad.name = "dy"}, %w: tensor<15xf32> {tad.name = "w"}) -> (tensor<270x256xf32> {tad.name = "dx"}) {
  %dx = tad.map (%i, %j) -> tensor<270x256xf32> {
    %0 = tad.sum (%p)[%i] in {0 <= %p <= 14, 0 <= %i - %p <= 255} -> f32 {
      %1 = tad.read %dy[%i - %p, %j] : tensor<256x256xf32>
      %2 = tad.read %w[%p] : tensor<15xf32>
      %3 = arith.mulf %1, %2 : f32
      tad.yield %3 : f32
    }
    tad.yield %0 : f32
  }
  return %dx : tensor<270x256xf32>
}

// CHECK:      scf.for %p = %c0 to
// CHECK:      scf.for %p = %{{.*}} to %{{.*}} step %c1
// CHECK-NEXT:   %[[ROW:.*]] = affine.apply affine_map<(d0, d1) -> (d0 - d1)>(%i, %p)
// CHECK-NEXT:   %[[IS_ONE:.*]] = arith.cmpi sge, %[[ROW]], %c0
// CHECK:        %[[READ:.*]] = arith.select %[[IS_ONE]], %[[ROW]], %c0
// CHECK:        vector.maskedload %dy[%[[READ]], %j]
