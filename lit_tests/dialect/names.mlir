// Names of tensors and indices survive the passes.
// RUN: tadc %s --emit opt | filecheck %s

// CHECK:      func.func @weighted(%weight: tensor<3xf64>
// CHECK:      %y = tad.map (%row) -> tensor<2xf64> {
// CHECK:        tad.sum (%col) in {0 <= %col <= 2} -> f64 {
// CHECK:          tad.read %weight[%col] : tensor<3xf64>

func.func @weighted(%weight: tensor<3xf64> {tad.name = "weight"}) -> (tensor<2xf64> {tad.name = "y"}) {
  %out = tad.map (%row) -> tensor<2xf64> {
    %total = tad.sum (%col) in {0 <= %col <= 2} -> f64 {
      %0 = tad.read %weight[%col] : tensor<3xf64>
      %1 = tad.index %row + %col : index
      %2 = tad.value_of %1 : f64
      %3 = arith.mulf %0, %2 : f64
      tad.yield %3 : f64
    }
    tad.yield %total : f64
  }
  return %out : tensor<2xf64>
}
