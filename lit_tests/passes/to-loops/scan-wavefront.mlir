// RUN: tadc %s --passes 'tad-to-loops{vector-bytes=0}' | filecheck %s
// Reads that no loops over the indices have before them: the outermost loop is over the values of the order.

func.func @f(%x: tensor<6x6xf64> {tad.name = "x"}) -> (tensor<6x6xf64> {tad.name = "f"}) {
  %f = tad.scan %own (%i, %j) by %i + %j -> tensor<6x6xf64> {
    %0 = tad.guard where {%i >= 2, %i <= 4, %j >= 2, %j <= 4} -> f64 {
      %1 = tad.read %own[%i + 1, %j - 2] : tensor<6x6xf64>
      %2 = tad.read %own[%i - 2, %j + 1] : tensor<6x6xf64>
      %3 = arith.addf %1, %2 : f64
      tad.yield %3 : f64
    } else {
      %1 = tad.read %x[%i, %j] : tensor<6x6xf64>
      tad.yield %1 : f64
    }
    tad.yield %0 : f64
  }
  return %f : tensor<6x6xf64>
}

// CHECK:      scf.for %step = %c0 to %c11 step %c1 {
// CHECK-NEXT:   %0 = affine.min affine_map<(d0) -> (6, d0 + 1)>(%step)
// CHECK-NEXT:   %1 = affine.max affine_map<(d0) -> (0, d0 - 5)>(%step)
// CHECK:        scf.for %j = %1 to %0
// CHECK:          memref.store %{{.*}}, %f
