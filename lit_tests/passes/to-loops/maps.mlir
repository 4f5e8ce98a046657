// RUN: tadc %s --passes 'tad-fuse,tad-to-loops,canonicalize,cse' | filecheck %s
// Two tensors in one loop. They are written by turns, so several vectors of each at a time.

func.func @f(%a: tensor<4096xf32> {tad.name = "a"}) -> (tensor<4096xf32> {tad.name = "f"}, tensor<4096xf32> {tad.name = "g"}) {
  %f = tad.map (%i) -> tensor<4096xf32> {
    %0 = tad.read %a[%i] : tensor<4096xf32>
    %1 = arith.mulf %0, %0 : f32
    tad.yield %1 : f32
  }
  %g = tad.map (%i) -> tensor<4096xf32> {
    %0 = tad.read %a[%i] : tensor<4096xf32>
    %1 = arith.addf %0, %0 : f32
    tad.yield %1 : f32
  }
  return %f, %g : tensor<4096xf32>, tensor<4096xf32>
}

// CHECK:         func.func private @tad_f.0(%a: memref<4096xf32> {llvm.noalias}, %f: memref<4096xf32> {llvm.noalias}, %g: memref<4096xf32> {llvm.noalias})
// CHECK:           scf.for %i = %c0 to %c4096 step %c64 {
// CHECK-COUNT-4:     vector.load %a
// CHECK-COUNT-4:     arith.mulf
// CHECK-COUNT-4:     arith.addf
// CHECK-COUNT-4:     vector.store {{.*}}, %f
// CHECK-COUNT-4:     vector.store {{.*}}, %g
// CHECK-NOT:       scf.for
