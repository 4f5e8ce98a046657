// RUN: tad-opt %s --split-input-file --verify-diagnostics --tad-vjp
// What cannot be derived is an error at the operation that asks for it.

func.func @host(%x: tensor<8xf64>) {
  // expected-error@below {{no function @g of the module holds a program; has: none}}
  %0 = tad.vjp @g : (tensor<8xf64>) -> tensor<8xf64>
  return
}

// -----

func.func @host(%x: tensor<8xf64>) {
  // expected-error@below {{'wrt' must list names of arguments, got "x"}}
  %0 = tad.vjp @f attributes {wrt = "x"} : (tensor<8xf64>) -> tensor<8xf64>
  return
}

// -----

func.func @f(%x: tensor<8xf64> {tad.name = "x"}) -> (tensor<3x4xf64> {tad.name = "f"}) {
  %f = tad.map (%i, %j) -> tensor<3x4xf64> {
    %0 = tad.read %x[%i + %j] : tensor<8xf64>
    %1 = math.exp %0 : f64
    tad.yield %1 : f64
  }
  return %f : tensor<3x4xf64>
}

func.func @host() {
  // expected-error@below {{no argument `y`; has: x}}
  %0 = tad.vjp @f attributes {wrt = ["y"]} : (tensor<8xf64>) -> tensor<8xf64>
  return
}

// -----

func.func @f(%x: tensor<8xf64> {tad.name = "x"}) -> (tensor<3x4xf64> {tad.name = "f"}) {
  %f = tad.map (%i, %j) -> tensor<3x4xf64> {
    %0 = tad.read %x[%i + %j] : tensor<8xf64>
    %1 = math.exp %0 : f64
    tad.yield %1 : f64
  }
  return %f : tensor<3x4xf64>
}

func.func @host() {
  // expected-error@below {{the function is (tensor<8xf64>) -> tensor<8xf64>, but @f_vjp is (tensor<8xf64>, tensor<3x4xf64>) -> tensor<8xf64>}}
  %0 = tad.vjp @f : (tensor<8xf64>) -> tensor<8xf64>
  return
}

// -----

func.func @f(%x: tensor<8xf64> {tad.name = "x"}) -> (tensor<3x4xf64> {tad.name = "f"}) {
  %f = tad.map (%i, %j) -> tensor<3x4xf64> {
    %0 = tad.read %x[%i + %j] : tensor<8xf64>
    %1 = math.exp %0 : f64
    tad.yield %1 : f64
  }
  return %f : tensor<3x4xf64>
}

