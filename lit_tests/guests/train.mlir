// RUN: tad-opt %s --tad-vjp --tad-cancel-deltas --tad-simplify --tad-fuse --tad-to-loops=vector-bytes=0 --one-shot-bufferize='bufferize-function-boundaries allow-return-allocs-from-loops function-boundary-type-conversion=identity-layout-map' --convert-linalg-to-loops | filecheck %s
// A host in linalg fits a line by gradient descent: the gradient of its loss is a call. `tests/passes/test_hosts.py`
// runs it.

func.func @loss(%w: tensor<2xf64> {tad.name = "w"}, %x: tensor<8x2xf64> {tad.name = "x"}, %y: tensor<8xf64> {tad.name = "y"}) -> (tensor<f64> {tad.name = "loss"}) {
  %r = tad.map (%i) -> tensor<8xf64> {
    %0 = tad.sum (%k) in {0 <= %k <= 1} -> f64 {
      %1 = tad.read %x[%i, %k] : tensor<8x2xf64>
      %2 = tad.read %w[%k] : tensor<2xf64>
      %3 = arith.mulf %1, %2 : f64
      tad.yield %3 : f64
    }
    %4 = tad.read %y[%i] : tensor<8xf64>
    %5 = arith.subf %0, %4 : f64
    tad.yield %5 : f64
  }
  %loss = tad.map () -> tensor<f64> {
    %0 = tad.sum (%i) in {0 <= %i <= 7} -> f64 {
      %1 = tad.read %r[%i] : tensor<8xf64>
      %2 = arith.mulf %1, %1 : f64
      tad.yield %2 : f64
    }
    tad.yield %0 : f64
  }
  return %loss : tensor<f64>
}

func.func @train(%start: tensor<2xf64>, %x: tensor<8x2xf64>, %y: tensor<8xf64>) -> tensor<2xf64> attributes {llvm.emit_c_interface} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %steps = arith.constant 200 : index
  %rate = arith.constant 0.05 : f64
  %0 = tad.vjp @loss attributes {wrt = ["w"], unit_cotangent} : (tensor<2xf64>, tensor<8x2xf64>, tensor<8xf64>) -> tensor<2xf64>
  %found = scf.for %n = %c0 to %steps step %c1 iter_args(%w = %start) -> tensor<2xf64> {
    %g = func.call_indirect %0(%w, %x, %y) : (tensor<2xf64>, tensor<8x2xf64>, tensor<8xf64>) -> tensor<2xf64>
    %e = tensor.empty() : tensor<2xf64>
    %next = linalg.map ins(%w, %g : tensor<2xf64>, tensor<2xf64>) outs(%e : tensor<2xf64>) (%a: f64, %b: f64, %o: f64) {
      %s = arith.mulf %b, %rate : f64
      %r = arith.subf %a, %s : f64
      linalg.yield %r : f64
    }
    scf.yield %next : tensor<2xf64>
  }
  return %found : tensor<2xf64>
}

// CHECK: func.func @tad_loss_vjp(
// CHECK: func.func @loss_vjp(%w: memref<2xf64>, %x: memref<8x2xf64>, %y: memref<8xf64>) -> memref<2xf64> {
// CHECK: func.func @train(%start: memref<2xf64>, %x: memref<8x2xf64>, %y: memref<8xf64>) -> memref<2xf64>
// CHECK:   scf.for
// CHECK:     func.call @loss_vjp(
// CHECK:     scf.for
// CHECK-NOT: linalg
// CHECK-NOT: tad.
