// The generic form reads as well, mixed with the readable one, and comes out readable.
// RUN: tadc %s --emit tad | filecheck %s

// CHECK:      %f = tad.map (%p) -> tensor<4xf64> {
// CHECK-NEXT:   %0 = tad.read %a[%p] : tensor<4xf64>
// CHECK-NEXT:   %1 = tad.sum (%k) in {0 <= %k <= %p} -> f64 {
// CHECK-NEXT:     tad.yield %0 : f64
// CHECK-NEXT:   }
// CHECK-NEXT:   tad.yield %1 : f64
// CHECK-NEXT: }

#line = affine_set<(d0) : (d0 >= 0, -d0 + 3 >= 0)>
func.func @f(%a: tensor<4xf64> {tad.name = "a"}) -> (tensor<4xf64> {tad.name = "f"}) {
  %f = "tad.map"() ({
  ^bb0(%p: index):
    %0 = "tad.read"(%a, %p) {at = affine_map<(d0) -> (d0)>} : (tensor<4xf64>, index) -> f64
    %1 = tad.sum (%k) [%p] in affine_set<(d0)[s0] : (d0 >= 0, s0 - d0 >= 0)> -> f64 {
      "tad.yield"(%0) : (f64) -> ()
    }
    tad.yield %1 : f64
  }) {domain = #line} : () -> tensor<4xf64> loc("f")
  return %f : tensor<4xf64>
}
