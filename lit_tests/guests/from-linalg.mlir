// RUN: tad-opt %s --linalg-to-tad --tad-vjp --tad-cancel-deltas --tad-simplify | filecheck %s
// RUN: tad-opt %s --linalg-to-tad --tad-vjp --tad-cancel-deltas --tad-simplify --tad-to-linalg | filecheck %s --check-prefix BACK
// A host that is all linalg asks for a gradient; it and the loss go back to linalg. `tests/passes/test_hosts.py` runs
// such a one.

func.func @loss(%w: tensor<2xf64>, %x: tensor<8x2xf64>, %y: tensor<8xf64>) -> tensor<f64> {
  %zero = arith.constant 0.0 : f64
  %e = tensor.empty() : tensor<8xf64>
  %z = linalg.fill ins(%zero : f64) outs(%e : tensor<8xf64>) -> tensor<8xf64>
  %p = linalg.matvec ins(%x, %w : tensor<8x2xf64>, tensor<2xf64>) outs(%z : tensor<8xf64>) -> tensor<8xf64>
  %r = linalg.sub ins(%p, %y : tensor<8xf64>, tensor<8xf64>) outs(%e : tensor<8xf64>) -> tensor<8xf64>
  %e0 = tensor.empty() : tensor<f64>
  %z0 = linalg.fill ins(%zero : f64) outs(%e0 : tensor<f64>) -> tensor<f64>
  %s = linalg.dot ins(%r, %r : tensor<8xf64>, tensor<8xf64>) outs(%z0 : tensor<f64>) -> tensor<f64>
  return %s : tensor<f64>
}

func.func @step(%w: tensor<2xf64>, %x: tensor<8x2xf64>, %y: tensor<8xf64>) -> tensor<2xf64> {
  %0 = tad.vjp @loss attributes {wrt = ["w"], unit_cotangent} : (tensor<2xf64>, tensor<8x2xf64>, tensor<8xf64>) -> tensor<2xf64>
  %g = func.call_indirect %0(%w, %x, %y) : (tensor<2xf64>, tensor<8x2xf64>, tensor<8xf64>) -> tensor<2xf64>
  return %g : tensor<2xf64>
}

// CHECK:      func.func @loss_vjp(%w: tensor<2xf64> {tad.name = "w"}, %x: tensor<8x2xf64> {tad.name = "x"}, %y: tensor<8xf64> {tad.name = "y"}) -> (tensor<2xf64>
// CHECK:        tad.sum (%i) in {0 <= %i <= 7} -> f64 {
// CHECK:      func.func @loss(
// CHECK:      func.func @step(%w: tensor<2xf64>, %x: tensor<8x2xf64>, %y: tensor<8xf64>) -> tensor<2xf64> {
// CHECK-NEXT:   %0 = call @loss_vjp(%w, %x, %y)

// BACK:       func.func @loss_vjp(%w: tensor<2xf64>, %x: tensor<8x2xf64>, %y: tensor<8xf64>) -> tensor<2xf64> {
// BACK:         iterator_types = ["parallel", "reduction"]
// BACK-NOT:     tad.
// BACK:       func.func @step(
