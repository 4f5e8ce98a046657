// RUN: tad-opt %s --split-input-file --verify-diagnostics --allow-unregistered-dialect --linalg-to-tad
// What cannot be read stays, and is told at its place.

// expected-warning@below {{@buffers stays as it is: it works on buffers}}
func.func @buffers(%x: memref<4xf64>, %y: memref<4xf64>) {
  linalg.copy ins(%x : memref<4xf64>) outs(%y : memref<4xf64>)
  return
}

// -----

func.func @theirs(%x: tensor<4xf64>) -> tensor<4xf64> {
  // expected-warning@below {{@theirs stays as it is: `theirs.op` cannot be imported}}
  %y = "theirs.op"(%x) : (tensor<4xf64>) -> tensor<4xf64>
  %z = linalg.exp ins(%y : tensor<4xf64>) outs(%y : tensor<4xf64>) -> tensor<4xf64>
  return %z : tensor<4xf64>
}

// -----

func.func @shares(%x: tensor<4x5xf64>) -> tensor<4x5xf64> {
  // expected-warning@below {{@shares stays as it is: `linalg.softmax` cannot be imported}}
  %y = linalg.softmax dimension(1) ins(%x : tensor<4x5xf64>) outs(%x : tensor<4x5xf64>) -> tensor<4x5xf64>
  return %y : tensor<4x5xf64>
}

// -----

func.func @branches(%x: tensor<4xf64>) -> tensor<4xf64> {
  %y = linalg.exp ins(%x : tensor<4xf64>) outs(%x : tensor<4xf64>) -> tensor<4xf64>
  return %y : tensor<4xf64>
}
func.func @caller(%x: tensor<4xf64>) -> tensor<4xf64> {
  // expected-warning@below {{@caller stays as it is: it calls functions: `inline` puts these in their places}}
  %y = func.call @branches(%x) : (tensor<4xf64>) -> tensor<4xf64>
  %z = linalg.exp ins(%y : tensor<4xf64>) outs(%y : tensor<4xf64>) -> tensor<4xf64>
  return %z : tensor<4xf64>
}

// -----

func.func @steps(%x: tensor<4xf64>, %n: index, %by: index) -> tensor<4xf64> {
  %c0 = arith.constant 0 : index
  // expected-warning@below {{@steps stays as it is: a loop of steps that no number tells cannot be imported}}
  %r = scf.for %t = %c0 to %n step %by iter_args(%s = %x) -> (tensor<4xf64>) {
    %e = linalg.exp ins(%s : tensor<4xf64>) outs(%s : tensor<4xf64>) -> tensor<4xf64>
    scf.yield %e : tensor<4xf64>
  }
  return %r : tensor<4xf64>
}

// -----

// expected-warning@below {{@points stays as it is: elements of `at` are for dimensions of several sizes: give an array for each}}
func.func @points(%x: tensor<7x3xf64>, %at: tensor<5x2xi32>) -> tensor<5xf64> {
  %s = tensor.gather %x[%at] gather_dims([0, 1]) : (tensor<7x3xf64>, tensor<5x2xi32>) -> tensor<5xf64>
  return %s : tensor<5xf64>
}
