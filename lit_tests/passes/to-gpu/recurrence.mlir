// RUN: tadc %s --passes 'tad-window{gpu=sm_90},tad-to-gpu,canonicalize' | filecheck %s
// A launch for each step: its number is the last argument. Memory has the two steps that are read.

func.func @f(%x: tensor<8192xf64> {tad.name = "x"}) -> (tensor<8192xf64> {tad.name = "y"}) {
  %u = tad.scan %own (%t, %i) by %t -> tensor<100x8192xf64> {
    %0 = tad.guard where {%t >= 1} -> f64 {
      %1 = tad.read %own[%t - 1, -%i + 8191] : tensor<100x8192xf64>
      tad.yield %1 : f64
    } else {
      %1 = tad.read %x[%i] : tensor<8192xf64>
      tad.yield %1 : f64
    }
    tad.yield %0 : f64
  }
  %y = tad.map (%i) -> tensor<8192xf64> {
    %0 = tad.read %u[99, %i] : tensor<100x8192xf64>
    tad.yield %0 : f64
  }
  return %y : tensor<8192xf64>
}

// CHECK:      gpu.func @tad_f_0(%x: memref<8192xf64> {{{.*}}}, %u: memref<2x8192xf64> {{{.*}}}, %[[STEP:.*]]: index)
// CHECK-NOT:  scf.for
// CHECK:        memref.load %u[%{{.*}}, %{{.*}}] : memref<2x8192xf64>
// CHECK:      %[[PLACE:.*]] = affine.apply affine_map<()[s0] -> (s0 mod 2)>()[%[[STEP]]]
// CHECK-NEXT: memref.store %{{.*}}, %u[%[[PLACE]], %{{.*}}]
// CHECK-NEXT: gpu.return
// CHECK:      gpu.func @tad_f_1(%u: memref<2x8192xf64> {{.*}}, %y: memref<8192xf64> {{.*}})
