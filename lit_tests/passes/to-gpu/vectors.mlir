// RUN: tadc %s --passes 'tad-to-gpu,canonicalize' | filecheck %s
// A thread loads and stores four elements at once where all of their addresses are aligned, and not else.

func.func @f(%x: tensor<4096x4096xf32> {tad.name = "x"}, %y: tensor<4096xf32> {tad.name = "y"}) -> (tensor<4096x4096xf32> {tad.name = "f"}, tensor<4092xf32> {tad.name = "g"}) {
  %f = tad.map (%i, %j) -> tensor<4096x4096xf32> {
    %0 = tad.read %x[%i, %j] : tensor<4096x4096xf32>
    %1 = tad.read %y[%j] : tensor<4096xf32>
    %2 = arith.mulf %0, %1 : f32
    tad.yield %2 : f32
  }
  %g = tad.map (%i) -> tensor<4092xf32> {
    %0 = tad.read %y[%i] : tensor<4096xf32>
    %1 = tad.read %y[%i + 1] : tensor<4096xf32>
    %2 = arith.mulf %0, %1 : f32
    tad.yield %2 : f32
  }
  return %f, %g : tensor<4096x4096xf32>, tensor<4092xf32>
}

// CHECK:      gpu.func @tad_f_0
// CHECK:      vector.load %x{{.*}} {alignment = 16 : i64}
// CHECK:      vector.load %y{{.*}} {alignment = 16 : i64}
// CHECK:      arith.mulf {{.*}} : vector<4xf32>
// CHECK:      vector.store %{{.*}}, %f{{.*}} {alignment = 16 : i64}
// CHECK:      gpu.func @tad_f_1
// CHECK-NOT:  vector
// CHECK:      memref.store
