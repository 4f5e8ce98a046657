// RUN: tadc %s --passes tad-lay-out | filecheck %s
// Each range of %j for a thread would pack columns of %a again, for the rows of its tiles. They are copied once.

func.func @f(%a: tensor<512x512xf32> {tad.name = "a"}, %b: tensor<512x512xf32> {tad.name = "b"}) -> (tensor<512x512xf32> {tad.name = "c"}) {
  %c = tad.map (%i, %j) -> tensor<512x512xf32> {
    %0 = tad.sum (%k) in {0 <= %k <= 511} -> f32 {
      %1 = tad.read %a[%k, %i] : tensor<512x512xf32>
      %2 = tad.read %b[%k, %j] : tensor<512x512xf32>
      %3 = arith.mulf %1, %2 : f32
      tad.yield %3 : f32
    }
    tad.yield %0 : f32
  }
  return %c : tensor<512x512xf32>
}

// CHECK:      %0 = tad.map (%i1, %i0) -> tensor<512x512xf32> {
// CHECK-NEXT:   %1 = tad.read %a[%i0, %i1] : tensor<512x512xf32>
// CHECK:      %c = tad.map (%i, %j) -> tensor<512x512xf32> {
// CHECK-NEXT:   %1 = tad.sum (%k) in {0 <= %k <= 511} -> f32 {
// CHECK-NEXT:     %2 = tad.read %0[%i, %k] : tensor<512x512xf32>
// CHECK-NEXT:     %3 = tad.read %b[%k, %j] : tensor<512x512xf32>
