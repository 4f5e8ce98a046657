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
