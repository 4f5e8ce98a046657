// RUN: tadc %s --passes 'tad-to-gpu,canonicalize,cse' | filecheck %s
// What the threads of a block read many times goes through shared memory, block of steps by block; one
// operand is turned, so that both are read along the threads. Sums are in registers from block to block. Barriers
// stand in no branch.

func.func @f(%a: tensor<1024x1024xf32> {tad.name = "a"}, %b: tensor<1024x1024xf32> {tad.name = "b"}) -> (tensor<1024x1024xf32> {tad.name = "f"}) {
  %f = tad.map (%i, %j) -> tensor<1024x1024xf32> {
    %0 = tad.sum (%k) in {0 <= %k <= 1023} -> f32 {
      %1 = tad.read %a[%i, %k] : tensor<1024x1024xf32>
      %2 = tad.read %b[%k, %j] : tensor<1024x1024xf32>
      %3 = arith.mulf %1, %2 : f32
      tad.yield %3 : f32
    }
    tad.yield %0 : f32
  }
  return %f : tensor<1024x1024xf32>
}

// CHECK:     gpu.func @tad_f_0({{.*}}) workgroup(%{{[a-z0-9]+}} : memref<32x{{.*}}xf32, {{.*}}, %{{[a-z0-9]+}} : memref<32x{{.*}}
// CHECK:     scf.for %k0 = %c0 to %c32 step %c1
// CHECK:       vector.load %{{[ab]}}[{{.*}} {alignment = 16 : i64}
// CHECK:       gpu.barrier
// CHECK:       memref.load
// CHECK:       scf.for
// CHECK:         vector.load %{{[a-z0-9]+}}[{{.*}}vector<4xf32>
// CHECK:         math.fma
// CHECK:       gpu.barrier
// CHECK-NOT: scf.if
// CHECK:     vector.store {{.*}}, %f[{{.*}} {alignment = 16 : i64}
