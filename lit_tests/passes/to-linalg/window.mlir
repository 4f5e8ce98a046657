// RUN: tadc %s --passes 'tad-to-linalg' | filecheck %s
// A sum over a window is one operation over results and window, starting from zeros.

func.func @f(%x: tensor<8xf64> {tad.name = "x"}, %w: tensor<3xf64> {tad.name = "w"}) -> (tensor<6xf64> {tad.name = "f"}) {
  %f = tad.map (%i) -> tensor<6xf64> {
    %s = tad.sum (%k) in {0 <= %k <= 2} -> f64 {
      %0 = tad.read %x[%i + %k] : tensor<8xf64>
      %1 = tad.read %w[%k] : tensor<3xf64>
      %2 = arith.mulf %0, %1 : f64
      tad.yield %2 : f64
    }
    tad.yield %s : f64
  }
  return %f : tensor<6xf64>
}

// CHECK:      func.func @f(%x: tensor<8xf64>, %w: tensor<3xf64>) -> tensor<6xf64> {
// CHECK-NEXT:   %0 = tensor.empty() : tensor<6xf64>
// CHECK-NEXT:   %1 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} outs(%0 : tensor<6xf64>) {
// CHECK:        %2 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0 + d1)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%x, %w : tensor<8xf64>, tensor<3xf64>) outs(%1 : tensor<6xf64>) {
// CHECK-NEXT:   ^bb0(%in: f64, %in_0: f64, %out: f64):
// CHECK-NEXT:     %3 = arith.mulf %in, %in_0 : f64
// CHECK-NEXT:     %4 = arith.addf %out, %3 : f64
// CHECK-NEXT:     linalg.yield %4 : f64
// CHECK-NEXT:   } -> tensor<6xf64>
// CHECK-NEXT:   return %2 : tensor<6xf64>
