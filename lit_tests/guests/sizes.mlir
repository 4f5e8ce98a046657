// RUN: tad-opt %s --tad-specialise=sizes=N=6 | filecheck %s --check-prefix SPECIAL
// RUN: tad-opt %s --tad-to-loops=vector-bytes=0 | filecheck %s --check-prefix LOOPS
// What sizes must satisfy stays in the module: the host stops where they do not.

func.func @y(%x: tensor<?xf64> {tad.name = "x", tad.shape = affine_map<()[s0] -> (s0)>}, %N: index {tad.name = "N"}) -> (tensor<?xf64> {tad.name = "y"}) attributes {tad.excluded = [affine_set<()[s0] : (-s0 + 1 >= 0)>]} {
  %t = tad.map (%i) in {0 <= %i < %N} -> tensor<?xf64> {
    %0 = tad.read %x[%i] : tensor<?xf64>
    %1 = math.exp %0 : f64
    tad.yield %1 : f64
  }
  %y = tad.map (%i) in {0 <= %i <= %N - 3} -> tensor<?xf64> {
    %0 = tad.read %t[%i + 1] : tensor<?xf64>
    %5 = tad.read %t[%N - %i - 1] : tensor<?xf64>
    %6 = arith.addf %0, %5 : f64
    tad.yield %6 : f64
  }
  return %y : tensor<?xf64>
}
func.func @host(%x: tensor<?xf64>) -> tensor<?xf64> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?xf64>
  %0 = func.call @y(%x, %n) : (tensor<?xf64>, index) -> tensor<?xf64>
  return %0 : tensor<?xf64>
}

// SPECIAL:      func.func @y_specialised(%x: tensor<6xf64> {tad.name = "x"}) -> (tensor<4xf64> {tad.name = "y"}) {
// SPECIAL:      func.func @y(%x: tensor<?xf64>, %N: index) -> tensor<?xf64> {
// SPECIAL:        cf.assert %{{.*}}, "tadc: @y does not take the sizes of a call"
// SPECIAL:        cf.assert %{{.*}}, "tadc: @y does not take the extent of dimension 0 of argument 0"
// SPECIAL-NEXT:   %cast = tensor.cast %x : tensor<?xf64> to tensor<6xf64>
// SPECIAL-NEXT:   [[MADE:%.*]] = call @y_specialised(%cast) : (tensor<6xf64>) -> tensor<4xf64>
// SPECIAL-NEXT:   %cast_{{.*}} = tensor.cast [[MADE]] : tensor<4xf64> to tensor<?xf64>

// LOOPS:      func.func private @tad_y.0.split(
// LOOPS-NEXT:   %c0 = arith.constant 0 : index
// LOOPS-NEXT:   call @tad_y.0(
// LOOPS:      func.func @y(%x: tensor<?xf64>, %N: index) -> tensor<?xf64> {
// LOOPS:        cf.assert %{{.*}}, "tadc: @y does not take the sizes of a call"
// LOOPS:        cf.assert %{{.*}}, "tadc: @y does not take the extent of dimension 0 of argument 0"
// LOOPS:        call @tad_y(
