// RUN: tad-opt %s --tad-vjp=function=f -tad-cancel-deltas --cse | filecheck %s
// A function that is named gets a gradient beside it, in the spelling of mlir-opt.

func.func @f(%x: tensor<8xf64> {tad.name = "x"}) -> (tensor<3x4xf64> {tad.name = "f"}) {
  %f = tad.map (%i, %j) -> tensor<3x4xf64> {
    %0 = tad.read %x[%i + %j] : tensor<8xf64>
    %1 = math.exp %0 : f64
    tad.yield %1 : f64
  }
  return %f : tensor<3x4xf64>
}

// CHECK:      func.func @f_vjp(
// CHECK-NEXT:   %dx = tad.map (%x_0) -> tensor<8xf64> {
// CHECK-NEXT:     %0 = tad.sum (%j) in {%j <= %x_0, %j >= %x_0 - 2, 0 <= %j <= 3} -> f64 {
// CHECK:      func.func @f(
