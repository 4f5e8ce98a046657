// RUN: tadc %s --passes tad-lay-out | filecheck %s
// Rows of 3x3 elements fill no vector: in the tensors of the chain, the index %e of rows comes last.

func.func @f(%u: tensor<40000x3x3xf32> {tad.name = "u"}) -> (tensor<40000xf32> {tad.name = "q"}) {
  %s = tad.map (%e, %a, %b) attributes {tad.chain = array<i64: 0, 1200>} -> tensor<40000x3x3xf32> {
    %0 = tad.sum (%k) in {0 <= %k <= 2} -> f32 {
      %1 = tad.read %u[%e, %k, %a] : tensor<40000x3x3xf32>
      %2 = tad.read %u[%e, %k, %b] : tensor<40000x3x3xf32>
      %3 = arith.mulf %1, %2 : f32
      tad.yield %3 : f32
    }
    tad.yield %0 : f32
  }
  %q = tad.map (%e) attributes {tad.chain = array<i64: 0, 1200>} -> tensor<40000xf32> {
    %0 = tad.sum (%a, %b) in {0 <= %a <= 2, 0 <= %b <= 2} -> f32 {
      %1 = tad.read %s[%e, %a, %b] : tensor<40000x3x3xf32>
      %2 = tad.read %s[%e, %b, %a] : tensor<40000x3x3xf32>
      %3 = arith.mulf %1, %2 : f32
      tad.yield %3 : f32
    }
    tad.yield %0 : f32
  }
  return %q : tensor<40000xf32>
}

// CHECK:      %u_0 = tad.map (%i1, %i2, %i0) attributes {tad.chain = array<i64: 0, 1200>, tad.row = 2 : i64} -> tensor<3x3x40000xf32> {
// CHECK-NEXT:   %0 = tad.read %u[%i0, %i1, %i2] : tensor<40000x3x3xf32>
// CHECK:      %s = tad.map (%a, %b, %e) attributes {tad.chain = array<i64: 0, 1200>, tad.row = 2 : i64} -> tensor<3x3x40000xf32> {
// CHECK:          %1 = tad.read %u_0[%k, %a, %e] : tensor<3x3x40000xf32>
// CHECK:      %q = tad.map (%e) attributes {tad.chain = array<i64: 0, 1200>} -> tensor<40000xf32> {
// CHECK:          %1 = tad.read %s[%a, %b, %e] : tensor<3x3x40000xf32>
