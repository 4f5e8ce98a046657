// RUN: tadc %s --passes 'tad-to-loops{registers=28},canonicalize,cse' | filecheck %s
// What all %n read of %w fits in a cache for one %o, not for all: the loop over %o comes first, and is divided.

func.func @f(%x: tensor<64x128xf32> {tad.name = "x"}, %w: tensor<64x128x128xf32> {tad.name = "w"}) -> (tensor<64x64x128xf32> {tad.name = "f"}) {
  %f = tad.map (%n, %o, %j) -> tensor<64x64x128xf32> {
    %0 = tad.sum (%i) in {0 <= %i <= 127} -> f32 {
      %1 = tad.read %x[%n, %i] : tensor<64x128xf32>
      %2 = tad.read %w[%o, %i, %j] : tensor<64x128x128xf32>
      %3 = arith.mulf %1, %2 : f32
      tad.yield %3 : f32
    }
    tad.yield %0 : f32
  }
  return %f : tensor<64x64x128xf32>
}

// CHECK:        call @tad_f.0.split(%x, %w, %f, %c64, %c1, %{{.*}})
// CHECK:      func.func private @tad_f.0
// CHECK:        scf.for %o = %begin to %end
// CHECK:          scf.for %n = %c0 to %c64 step %c5
// CHECK:            scf.for %j = %c0 to %c128 step %c64
