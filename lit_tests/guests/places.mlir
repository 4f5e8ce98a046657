// RUN: tad-opt %s --linalg-to-tad | filecheck %s
// RUN: tad-opt %s --linalg-to-tad --tad-vjp=function=take_program | filecheck %s --check-prefix VJP
// Integers of tensors in subscripts are index arrays, of any type of integers: the function tests the elements, and gives
// them as the program takes them. Their gradient gathers.

func.func @take(%x: tensor<?x3xf64>, %at: tensor<?xi64>) -> tensor<?x3xf64> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %at, %c0 : tensor<?xi64>
  %e = tensor.empty(%n) : tensor<?x3xf64>
  %r = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%at : tensor<?xi64>) outs(%e : tensor<?x3xf64>) {
  ^bb0(%a: i64, %o: f64):
    %k = linalg.index 1 : index
    %i = arith.index_cast %a : i64 to index
    %v = tensor.extract %x[%i, %k] : tensor<?x3xf64>
    linalg.yield %v : f64
  } -> tensor<?x3xf64>
  return %r : tensor<?x3xf64>
}

func.func @gathered(%x: tensor<7x3xf64>, %at: tensor<5x1xi32>) -> tensor<5x3xf64> {
  %s = tensor.gather %x[%at] gather_dims([0]) : (tensor<7x3xf64>, tensor<5x1xi32>) -> tensor<5x3xf64>
  return %s : tensor<5x3xf64>
}

// CHECK:      func.func private @take_program(%x: tensor<?x3xf64> {{.*}}, %at: tensor<?xi32> {tad.below = affine_map<()[s0, s1] -> (s0)>,
// CHECK:          %t = tad.lookup %at[%i] : tensor<?xi32>
// CHECK-NEXT:     %0 = tad.read %x[%t, %j] : tensor<?x3xf64>
// CHECK:      func.func @take(%x: tensor<?x3xf64>, %at: tensor<?xi64>) -> tensor<?x3xf64> {
// CHECK:        ^bb0(%in: i64, %out: i1):
// CHECK:        cf.assert %{{.*}}, "tadc: @take does not take the elements of argument 1"
// CHECK:          arith.trunci %in : i64 to i32
// CHECK:        call @take_program(
// CHECK:      func.func private @gathered_program(%x: tensor<7x3xf64> {tad.name = "x"}, %at: tensor<5x1xi32> {tad.below = affine_map<() -> (7)>, tad.name = "at"})
// CHECK:          %t = tad.lookup %at[%i, 0] : tensor<5x1xi32>
// CHECK-NEXT:     %0 = tad.read %x[%t, %j] : tensor<7x3xf64>

// VJP:        func.func @take_program_vjp(
// VJP:            tad.sum (%i, %j_0) at (%t = %at[%i] : tensor<?xi32>) in {%t == %x_0,
