// RUN: tadc %s --passes 'tad-to-loops,canonicalize,cse' | filecheck %s
// Lanes along %j read rows of %b, which are consecutive along %k: 8 vectors along %k are transposed for each panel.

func.func @f(%a: tensor<200x300xf64> {tad.name = "a"}, %b: tensor<64x300xf64> {tad.name = "b"}) -> (tensor<200x64xf64> {tad.name = "f"}) {
  %f = tad.map (%i, %j) -> tensor<200x64xf64> {
    %0 = tad.sum (%k) in {0 <= %k <= 299} -> f64 {
      %1 = tad.read %a[%i, %k] : tensor<200x300xf64>
      %2 = tad.read %b[%j, %k] : tensor<64x300xf64>
      %3 = arith.mulf %1, %2 : f64
      tad.yield %3 : f64
    }
    tad.yield %0 : f64
  }
  return %f : tensor<200x64xf64>
}

// CHECK:      func.func private @tad_f.0
// CHECK:        %[[PANEL:.*]] = memref.alloca() {alignment = 64 : i64} : memref<300x32xf64>
// CHECK:        scf.for %j = %begin to %end step %c32
// CHECK:          scf.for %[[FIRST:.*]] = %c0 to %c32 step %c8
// CHECK:            scf.for %[[K:.*]] = %c0 to %c300 step %c8
// CHECK-NEXT:         %[[AT:.*]] = affine.min affine_map<(d0) -> (292, d0)>(%[[K]])
// CHECK-COUNT-8:      vector.load %b[
// CHECK-COUNT-24:     vector.shuffle
// CHECK-COUNT-8:      vector.store %{{.*}}, %[[PANEL]][
// CHECK-NOT:      vector.gather
