// RUN: tadc %s --passes 'tad-to-loops,canonicalize,cse' | filecheck %s
// Rows of %x come from memory: the sum runs in steps of a line, and a line of each row of the next tile is asked
// for before it.

func.func @f(%x: tensor<4096x4096xf32> {tad.name = "x"}, %b: tensor<4096x32xf32> {tad.name = "b"}) -> (tensor<4096x32xf32> {tad.name = "f"}) {
  %f = tad.map (%i, %r) -> tensor<4096x32xf32> {
    %0 = tad.sum (%k) in {0 <= %k <= 4095} -> f32 {
      %1 = tad.read %x[%i, %k] : tensor<4096x4096xf32>
      %2 = tad.read %b[%k, %r] : tensor<4096x32xf32>
      %3 = arith.mulf %1, %2 : f32
      tad.yield %3 : f32
    }
    tad.yield %0 : f32
  }
  return %f : tensor<4096x32xf32>
}

// CHECK:      func.func private @tad_f.0
// CHECK:        scf.for %[[LINE:.*]] = %{{.*}} to %{{.*}} step %c16
// CHECK:          memref.prefetch %x[%{{.*}}, %[[LINE]]], read, locality<3>, data
// CHECK:          %[[END:.*]] = affine.min affine_map<(d0{{.*}}) -> ({{.*}}d0 + 16{{.*}})>
// CHECK:          scf.for %{{.*}} = %[[LINE]] to %[[END]] step %c1
