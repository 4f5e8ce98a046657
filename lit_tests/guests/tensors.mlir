// RUN: tad-opt %s --tad-to-loops='vector-bytes=0 tensors=true' | filecheck %s
// What nothing in the module calls stays a function of tensors where that is asked for.

func.func @f(%x: tensor<8xf64> {tad.name = "x"}) -> (tensor<3x4xf64> {tad.name = "f"}) {
  %f = tad.map (%i, %j) -> tensor<3x4xf64> {
    %0 = tad.read %x[%i + %j] : tensor<8xf64>
    %1 = math.exp %0 : f64
    tad.yield %1 : f64
  }
  return %f : tensor<3x4xf64>
}

// CHECK: func.func @tad_f(
// CHECK: func.func @f(%x: tensor<8xf64>) -> tensor<3x4xf64> {
