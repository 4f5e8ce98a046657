// RUN: tadc %s --passes 'tad-to-loops{vector-bytes=0}' | filecheck %s
// Loops follow the order of the recurrence: here i is outermost and counts down.

func.func @f(%x: tensor<4x5xf64> {tad.name = "x"}) -> (tensor<4x5xf64> {tad.name = "f"}) {
  %f = tad.scan %own (%j, %i) by -%i -> tensor<4x5xf64> {
    %0 = tad.guard where {%i <= 3, %j >= 1} -> f64 {
      %1 = tad.read %own[%j - 1, %i + 1] : tensor<4x5xf64>
      tad.yield %1 : f64
    } else {
      %1 = tad.read %x[%j, %i] : tensor<4x5xf64>
      tad.yield %1 : f64
    }
    tad.yield %0 : f64
  }
  return %f : tensor<4x5xf64>
}

// CHECK:      scf.for %i = %c0 to %c5 step %c1 {
// CHECK:        scf.for %j =
// CHECK:            %8 = affine.apply affine_map<(d0) -> (-d0 + 5)>(%i)
// CHECK-NEXT:       %9 = memref.load %f[%7, %8] : memref<4x5xf64>
// CHECK:          %6 = affine.apply affine_map<(d0) -> (-d0 + 4)>(%i)
// CHECK-NEXT:     memref.store %5, %f[%j, %6] : memref<4x5xf64>
