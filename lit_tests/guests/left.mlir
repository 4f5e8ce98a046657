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

#at = affine_map<(d0) -> (d0)>
#all = affine_map<(d0) -> ()>
func.func @place(%x: tensor<4xf64>, %start: tensor<f64>) -> tensor<f64> {
  %none = arith.constant dense<0> : tensor<index>
  // expected-warning@below {{@place stays as it is: the place of a largest or smallest element}}
  %r:2 = linalg.generic {indexing_maps = [#at, #all, #all], iterator_types = ["reduction"]} ins(%x : tensor<4xf64>) outs(%start, %none : tensor<f64>, tensor<index>) {
  ^bb0(%in: f64, %most: f64, %where: index):
    %i = linalg.index 0 : index
    %more = arith.cmpf ogt, %in, %most : f64
    %m = arith.select %more, %in, %most : f64
    %w = arith.select %more, %i, %where : index
    linalg.yield %m, %w : f64, index
  } -> (tensor<f64>, tensor<index>)
  return %r#0 : tensor<f64>
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
