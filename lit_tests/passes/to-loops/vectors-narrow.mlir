// RUN: tadc %s --passes 'tad-to-loops,canonicalize,cse' | filecheck %s
// Away from its boundaries a convolution has all terms, and tiles of 2 vectors; the 4 elements before and after that
// have one vector.

func.func @f(%x: tensor<64x1020xf32> {tad.name = "x"}, %w: tensor<64x8x5xf32> {tad.name = "w"}) -> (tensor<8x1024xf32> {tad.name = "f"}) {
  %f = tad.map (%o, %i) -> tensor<8x1024xf32> {
    %0 = tad.sum (%c, %k)[%i] in {0 <= %c <= 63, 0 <= %k <= 4, 0 <= %i - %k <= 1019} -> f32 {
      %2 = tad.read %x[%c, %i - %k] : tensor<64x1020xf32>
      %3 = tad.read %w[%c, %o, %k] : tensor<64x8x5xf32>
      %4 = arith.mulf %2, %3 : f32
      tad.yield %4 : f32
    }
    tad.yield %0 : f32
  }
  return %f : tensor<8x1024xf32>
}

// CHECK:      func.func private @tad_f.0
// CHECK:        scf.for %i = %begin to %{{.*}} step %c16
// CHECK:        scf.for %i = %{{.*}} to %{{.*}} step %c32
// CHECK:        scf.for %i = %{{.*}} to %end step %c16
