// RUN: tad-opt %s --linalg-to-tad | filecheck %s
// Loops that carry tensors or numbers are recurrences; rows that each step inserts are its states.

func.func @rnn(%w: tensor<3x3xf64>, %x: tensor<?x3xf64>, %h: tensor<3xf64>) -> (tensor<3xf64>, tensor<?x3xf64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = tensor.dim %x, %c0 : tensor<?x3xf64>
  %e = tensor.empty(%n) : tensor<?x3xf64>
  %r:2 = scf.for %t = %c0 to %n step %c1 iter_args(%s = %h, %all = %e) -> (tensor<3xf64>, tensor<?x3xf64>) {
    %xt = tensor.extract_slice %x[%t, 0] [1, 3] [1, 1] : tensor<?x3xf64> to tensor<3xf64>
    %m = linalg.matvec ins(%w, %s : tensor<3x3xf64>, tensor<3xf64>) outs(%xt : tensor<3xf64>) -> tensor<3xf64>
    %e3 = tensor.empty() : tensor<3xf64>
    %u = linalg.tanh ins(%m : tensor<3xf64>) outs(%e3 : tensor<3xf64>) -> tensor<3xf64>
    %a = tensor.insert_slice %u into %all[%t, 0] [1, 3] [1, 1] : tensor<3xf64> into tensor<?x3xf64>
    scf.yield %u, %a : tensor<3xf64>, tensor<?x3xf64>
  }
  return %r#0, %r#1 : tensor<3xf64>, tensor<?x3xf64>
}

func.func @horner(%c: tensor<6xf64>, %x: f64) -> tensor<f64> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c6 = arith.constant 6 : index
  %zero = arith.constant 0.0 : f64
  %r = scf.for %t = %c0 to %c6 step %c1 iter_args(%s = %zero) -> (f64) {
    %a = tensor.extract %c[%t] : tensor<6xf64>
    %m = arith.mulf %s, %x : f64
    %u = arith.addf %m, %a : f64
    scf.yield %u : f64
  }
  %t = tensor.from_elements %r : tensor<f64>
  return %t : tensor<f64>
}

func.func @prefix(%x: tensor<8xf64>) -> tensor<8xf64> {
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %r = scf.for %t = %c1 to %c8 step %c1 iter_args(%y = %x) -> (tensor<8xf64>) {
    %b = arith.subi %t, %c1 : index
    %p = tensor.extract %y[%b] : tensor<8xf64>
    %a = tensor.extract %x[%t] : tensor<8xf64>
    %u = arith.addf %p, %a : f64
    %n = tensor.insert %u into %y[%t] : tensor<8xf64>
    scf.yield %n : tensor<8xf64>
  }
  return %r : tensor<8xf64>
}

// CHECK:      func.func private @rnn_program(
// CHECK-NEXT:   %h_1 = tad.scan %own (%i, %j) by %i in {0 <= %i <= %N, 0 <= %j <= 2} -> tensor<?x3xf64> {
// CHECK:          tad.read %own[%i - 1, %k] : tensor<?x3xf64>
// CHECK:        %rnn_0 = tad.map (%i) -> tensor<3xf64> {
// CHECK-NEXT:     tad.read %h_1[%N, %i] : tensor<?x3xf64>
// CHECK:        %rnn_1 = tad.map (%i, %j)
// CHECK-NEXT:     tad.read %h_1[%i + 1, %j] : tensor<?x3xf64>
// CHECK:      func.func private @horner_program(
// CHECK-NEXT:   %h = tad.scan %own (%i) by %i -> tensor<7xf64> {
// CHECK:      func.func @prefix(%x: tensor<8xf64> {tad.name = "x"}) -> (tensor<8xf64> {tad.name = "prefix"}) {
// CHECK-NEXT:   %h = tad.scan %own (%i, %j) by %i -> tensor<8x8xf64> {
// CHECK:          tad.guard where {%j == %i} -> f64 {
