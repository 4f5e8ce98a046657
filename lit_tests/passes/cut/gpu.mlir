// RUN: tadc %s --passes "tad-cut{gpu=sm_90}" | filecheck %s
// A contraction of few elements in equal parts, which blocks of threads compute, and their sum.

func.func @f(%a: tensor<64x16384xf32> {tad.name = "a"}, %b: tensor<16384x64xf32> {tad.name = "b"}) -> (tensor<64x64xf32> {tad.name = "f"}) {
  %f = tad.map (%i, %j) -> tensor<64x64xf32> {
    %0 = tad.sum (%k) in {0 <= %k < 16384} -> f32 {
      %1 = tad.read %a[%i, %k] : tensor<64x16384xf32>
      %2 = tad.read %b[%k, %j] : tensor<16384x64xf32>
      %3 = arith.mulf %1, %2 : f32
      tad.yield %3 : f32
    }
    tad.yield %0 : f32
  }
  return %f : tensor<64x64xf32>
}

// CHECK:      %f_parts = tad.map (%part, %i, %j) {{.*}} -> tensor<128x64x64xf32> {
// CHECK-NEXT:   tad.sum (%k) in {%part * 128 <= %k <= %part * 128 + 127, 0 <= %k <= 16383}
// CHECK:        tad.read %b[%k, %j]
// CHECK:      %f = tad.map (%i, %j) {{.*}} -> tensor<64x64xf32> {
// CHECK-NEXT:   tad.sum (%part) in {0 <= %part <= 127}
// CHECK-NEXT:     tad.read %f_parts[%part, %i, %j]
