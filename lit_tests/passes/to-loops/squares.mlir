// RUN: tadc %s --passes 'tad-to-loops{vector-bytes=0},canonicalize,cse' | filecheck %s
// A square is a product, which a sum adds in one rounding.

func.func @f(%x: tensor<100xf32> {tad.name = "x"}) -> (tensor<f32> {tad.name = "y"}) {
  %y = tad.map () -> tensor<f32> {
    %0 = tad.sum (%k) in {0 <= %k <= 99} -> f32 {
      %1 = tad.read %x[%k] : tensor<100xf32>
      %2 = arith.constant 2 : i64
      %3 = math.fpowi %1, %2 : f32, i64
      tad.yield %3 : f32
    }
    tad.yield %0 : f32
  }
  return %y : tensor<f32>
}

// CHECK:      scf.for %k = %c0 to %c100 step %c1 iter_args(%[[SUM:.*]] = %cst)
// CHECK-NEXT:   %[[X:.*]] = memref.load %x[%k]
// CHECK-NEXT:   %[[NEXT:.*]] = math.fma %[[X]], %[[X]], %[[SUM]]
// CHECK-NEXT:   scf.yield %[[NEXT]]
