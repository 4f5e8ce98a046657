// RUN: tad-opt %s --linalg-to-tad | filecheck %s
// A function whose sizes are open keeps its type, and calls a program beside it. The shapes that operations of linalg
// ask for, and what the function asserts, stop the host.

func.func @scaled(%by: f64, %a: tensor<?x?xf64>, %x: tensor<?xf64>) -> tensor<?xf64> {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %n = tensor.dim %a, %c0 : tensor<?x?xf64>
  %enough = arith.cmpi sge, %n, %c2 : index
  cf.assert %enough, "at least two rows"
  %zero = arith.constant 0.0 : f64
  %e = tensor.empty(%n) : tensor<?xf64>
  %z = linalg.fill ins(%zero : f64) outs(%e : tensor<?xf64>) -> tensor<?xf64>
  %p = linalg.matvec ins(%a, %x : tensor<?x?xf64>, tensor<?xf64>) outs(%z : tensor<?xf64>) -> tensor<?xf64>
  %r = linalg.map { arith.mulf } ins(%p, %p : tensor<?xf64>, tensor<?xf64>) outs(%e : tensor<?xf64>)
  %b = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%r, %by : tensor<?xf64>, f64) outs(%e : tensor<?xf64>) {
  ^bb0(%in: f64, %s: f64, %out: f64):
    %v = arith.mulf %in, %s : f64
    linalg.yield %v : f64
  } -> tensor<?xf64>
  return %b : tensor<?xf64>
}

// An index is a size, so it is not negative.
func.func @shift(%x: tensor<?xf64>, %k: index) -> tensor<?xf64> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?xf64>
  %z = arith.constant 0.0 : f64
  %e = tensor.empty(%n) : tensor<?xf64>
  %r = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} outs(%e : tensor<?xf64>) {
  ^bb0(%b: f64):
    %i = linalg.index 0 : index
    %j = arith.addi %i, %k : index
    %a = arith.cmpi sge, %j, %c0 : index
    %c = arith.cmpi slt, %j, %n : index
    %d = arith.andi %a, %c : i1
    %g = arith.select %d, %j, %c0 : index
    %v = tensor.extract %x[%g] : tensor<?xf64>
    %w = arith.select %d, %v, %z : f64
    linalg.yield %w : f64
  } -> tensor<?xf64>
  return %r : tensor<?xf64>
}

// CHECK:      func.func private @scaled_program(%by: tensor<f64> {tad.name = "by"}, %a: tensor<?x?xf64> {tad.name = "a", tad.shape = affine_map<()[s0, s1] -> (s0, s1)>}, %x: tensor<?xf64> {tad.name = "x", tad.shape = affine_map<()[s0, s1] -> (s1)>}, %N: index {tad.name = "N"}, %M: index {tad.name = "M"}) -> (tensor<?xf64> {tad.name = "scaled"}) attributes {tad.excluded = [affine_set<()[s0, s1] : (-s0 + 1 >= 0)>]} {
// CHECK:      func.func @scaled(%by: f64, %a: tensor<?x?xf64>, %x: tensor<?xf64>) -> tensor<?xf64> {
// CHECK:        cf.assert %{{.*}}, "tadc: @scaled does not take the sizes of a call"
// CHECK:        cf.assert %{{.*}}, "tadc: @scaled does not take the extent of dimension 0 of argument 2"
// CHECK:        [[BY:%.*]] = tensor.from_elements %by : tensor<f64>
// CHECK-NEXT:   [[MADE:%.*]] = call @scaled_program([[BY]], %a, %x, %dim, %dim_{{.*}}) : (tensor<f64>, tensor<?x?xf64>, tensor<?xf64>, index, index) -> tensor<?xf64>
// CHECK-NEXT:   return [[MADE]] : tensor<?xf64>

// CHECK:      func.func private @shift_program(
// CHECK-SAME:   %k: index {tad.name = "k"}, %N: index {tad.name = "N"}) -> (tensor<?xf64> {tad.name = "shift"}) attributes {tad.excluded = [affine_set<()[s0, s1] : (-s0 - 1 >= 0)>]} {
// CHECK:        tad.guard where {%N > %i + %k} -> f64 {
// CHECK:      func.func @shift(
// CHECK:        cf.assert %{{.*}}, "tadc: @shift does not take the sizes of a call"
