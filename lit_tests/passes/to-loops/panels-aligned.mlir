// RUN: tadc %s --passes 'tad-to-loops{registers=28},canonicalize,cse' | filecheck %s
// Rows of %b may start anywhere in a line, as the caller gives it: vectors that many %i read are packed. Those of
// %c start with a line, and are read where they are.

func.func @f(%a: tensor<200x64xf32> {tad.name = "a"}, %b: tensor<64x64xf32> {tad.name = "b"}) -> (tensor<200x64xf32> {tad.name = "f"}, tensor<200x64xf32> {tad.name = "g"}, tensor<64x64xf32> {tad.name = "c"}) {
  %f = tad.map (%i, %j) -> tensor<200x64xf32> {
    %0 = tad.sum (%k) in {0 <= %k <= 63} -> f32 {
      %1 = tad.read %a[%i, %k] : tensor<200x64xf32>
      %2 = tad.read %b[%k, %j] : tensor<64x64xf32>
      %3 = arith.mulf %1, %2 : f32
      tad.yield %3 : f32
    }
    tad.yield %0 : f32
  }
  %c = tad.map (%k, %j) -> tensor<64x64xf32> {
    %0 = tad.read %b[%k, %j] : tensor<64x64xf32>
    %1 = math.exp %0 : f32
    tad.yield %1 : f32
  }
  %g = tad.map (%i, %j) -> tensor<200x64xf32> {
    %0 = tad.sum (%k) in {0 <= %k <= 63} -> f32 {
      %1 = tad.read %a[%i, %k] : tensor<200x64xf32>
      %2 = tad.read %c[%k, %j] : tensor<64x64xf32>
      %3 = arith.mulf %1, %2 : f32
      tad.yield %3 : f32
    }
    tad.yield %0 : f32
  }
  return %f, %g, %c : tensor<200x64xf32>, tensor<200x64xf32>, tensor<64x64xf32>
}

// CHECK:      func.func private @tad_f.0
// CHECK:        %[[PANEL:.*]] = memref.alloca() {alignment = 64 : i64} : memref<64x64xf32>
// CHECK:          vector.load %b[
// CHECK:          vector.store %{{.*}}, %[[PANEL]][
// CHECK:        scf.for %i = %begin to %end step %c5
// CHECK:            vector.load %[[PANEL]][
// CHECK:      func.func private @tad_f.2
// CHECK-NOT:    memref.alloca
// CHECK:            vector.load %c[
