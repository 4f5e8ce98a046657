// RUN: tadc %s --passes 'linalg-to-tad' | filecheck %s
// Compared indices become guards, or bounds of reductions; a maximum starts below all numbers.

func.func @below(%a: tensor<5x5xf64>) -> tensor<5xf64> {
  %low = arith.constant 0xFFF0000000000000 : f64
  %empty = tensor.empty() : tensor<5xf64>
  %start = linalg.fill ins(%low : f64) outs(%empty : tensor<5xf64>) -> tensor<5xf64>
  %r = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%a : tensor<5x5xf64>) outs(%start : tensor<5xf64>) {
  ^bb0(%in: f64, %out: f64):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %inside = arith.cmpi sle, %j, %i : index
    %more = arith.maximumf %out, %in : f64
    %taken = arith.select %inside, %more, %out : f64
    linalg.yield %taken : f64
  } -> tensor<5xf64>
  return %r : tensor<5xf64>
}

func.func @shifted(%x: tensor<9xf64>) -> tensor<9xf64> {
  %zero = arith.constant 0.0 : f64
  %empty = tensor.empty() : tensor<9xf64>
  %r = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} outs(%empty : tensor<9xf64>) {
  ^bb0(%out: f64):
    %c0 = arith.constant 0 : index
    %i = linalg.index 0 : index
    %before = affine.apply affine_map<(d0) -> (d0 - 2)>(%i)
    %at = affine.max affine_map<(d0) -> (d0, 0)>(%before)
    %read = tensor.extract %x[%at] : tensor<9xf64>
    %inside = arith.cmpi sge, %before, %c0 : index
    %v = arith.select %inside, %read, %zero : f64
    linalg.yield %v : f64
  } -> tensor<9xf64>
  return %r : tensor<9xf64>
}

// CHECK:      %below = tad.map (%i) -> tensor<5xf64> {
// CHECK-NEXT:   %0 = tad.reduce "max" (%j) in {0 <= %j <= 4, %j <= %i} -> f64 {
// CHECK-NEXT:     %1 = tad.read %a[%i, %j] : tensor<5x5xf64>
// CHECK:      %shifted = tad.map (%i) -> tensor<9xf64> {
// CHECK:        tad.read %x[%i - 2] : tensor<9xf64>
