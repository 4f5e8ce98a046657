// RUN: tad-opt %s --tad-reverse-diff | filecheck %s --check-prefix REVERSE
// RUN: tad-opt %s --tad-forward-diff | filecheck %s --check-prefix FORWARD
// RUN: tad-opt %s --tad-jacobian | filecheck %s --check-prefix JACOBIAN
// RUN: tad-opt %s --tad-simplify --tad-fold --tad-cut --tad-fuse | filecheck %s --check-prefix SAME
// A function that others call stays, whatever is made of it.

func.func @f(%x: tensor<8xf64> {tad.name = "x"}) -> (tensor<3x4xf64> {tad.name = "f"}) {
  %f = tad.map (%i, %j) -> tensor<3x4xf64> {
    %0 = tad.read %x[%i + %j] : tensor<8xf64>
    %1 = math.exp %0 : f64
    tad.yield %1 : f64
  }
  return %f : tensor<3x4xf64>
}

func.func @host(%x: tensor<8xf64>) -> tensor<3x4xf64> {
  %0 = func.call @f(%x) : (tensor<8xf64>) -> tensor<3x4xf64>
  return %0 : tensor<3x4xf64>
}

// REVERSE: func.func @f_vjp(
// REVERSE: func.func @f(
// REVERSE: call @f(%x) : (tensor<8xf64>) -> tensor<3x4xf64>
// FORWARD: func.func @f_jvp(
// FORWARD: func.func @f(
// JACOBIAN: func.func @f_jacobian(
// JACOBIAN: func.func @f(
// SAME: func.func @f(%x: tensor<8xf64> {tad.name = "x"})
// SAME: call @f(%x) : (tensor<8xf64>) -> tensor<3x4xf64>
