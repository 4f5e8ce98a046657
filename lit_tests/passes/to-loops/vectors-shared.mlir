// RUN: tadc %s --passes 'tad-to-loops,canonicalize,cse' | filecheck %s
// A diagonal is read with large steps, so several rows share what lanes read of it.

func.func @f(%a: tensor<140x140xf32> {tad.name = "a"}) -> (tensor<140x140xf32> {tad.name = "f"}) {
  %f = tad.map (%i, %j) -> tensor<140x140xf32> {
    %0 = tad.read %a[%i, %j] : tensor<140x140xf32>
    %1 = tad.read %a[%j, %j] : tensor<140x140xf32>
    %2 = arith.subf %0, %1 : f32
    tad.yield %2 : f32
  }
  return %f : tensor<140x140xf32>
}

// CHECK:      func.func private @tad_f.0
// CHECK:        scf.for %i = %{{.*}} to %{{.*}} step %c14
// CHECK:          scf.for %j = %c0 to %c140 step %c16
// CHECK-COUNT-1:    vector.gather
// CHECK-NOT:        vector.gather
// CHECK-COUNT-14:   vector.store
