// RUN: tadc %s --passes 'tad-to-loops{vector-bytes=0}' | filecheck %s
// Tensors that are kept are globals, which the first call fills.

func.func @f(%x: tensor<4xf64> {tad.name = "x"}) -> (tensor<4xf64> {tad.name = "y"}, tensor<4xf64> {tad.name = "s"}) {
  %a = tad.map (%i) -> tensor<4xf64> {
    %0 = tad.read %x[%i] : tensor<4xf64>
    %1 = math.exp %0 : f64
    tad.yield %1 : f64
  }
  %c = tad.map (%k) attributes {tad.kept} -> tensor<4xf64> {
    %0 = tad.index %k
    %1 = tad.value_of %0 : f64
    %2 = math.cos %1 : f64
    tad.yield %2 : f64
  }
  %d = tad.map (%k) attributes {tad.kept} -> tensor<4xf64> {
    %0 = tad.read %c[-%k + 3] : tensor<4xf64>
    %1 = tad.read %c[%k] : tensor<4xf64>
    %2 = arith.mulf %0, %1 : f64
    tad.yield %2 : f64
  }
  %y = tad.map (%i) -> tensor<4xf64> {
    %0 = tad.read %a[%i] : tensor<4xf64>
    %1 = tad.read %d[%i] : tensor<4xf64>
    %2 = arith.mulf %0, %1 : f64
    tad.yield %2 : f64
  }
  %s = tad.map (%i) -> tensor<4xf64> {
    %0 = tad.index %i
    %1 = tad.value_of %0 : f64
    tad.yield %1 : f64
  }
  return %y, %s : tensor<4xf64>, tensor<4xf64>
}

// CHECK:      func.func @tad_f(%x: memref<4xf64> {{.*}}, %y: memref<4xf64> {{.*}}, %s: memref<4xf64> {{.*}}, %a: memref<4xf64>) {
// CHECK:        %[[C:.*]] = memref.get_global @tad_f.kept.0 : memref<4xf64>
// CHECK-NEXT:   %[[D:.*]] = memref.get_global @tad_f.kept.1 : memref<4xf64>
// CHECK:        call @tad_f.0(%x, %a)
// CHECK:        %[[ONCE:.*]] = memref.get_global @tad_f.once : memref<1xi64>
// CHECK:        memref.atomic_rmw ori
// CHECK-NEXT:   %[[EMPTY:.*]] = arith.cmpi eq
// CHECK-NEXT:   scf.if %[[EMPTY]] {
// CHECK-NEXT:     func.call @tad_f.1(%[[C]])
// CHECK-NEXT:     func.call @tad_f.2(%[[C]], %[[D]])
// CHECK-NEXT:     memref.atomic_rmw assign
// CHECK-NEXT:   }
// CHECK-NEXT:   call @tad_f.3(%y, %a, %[[D]])
// CHECK:        memref.global "private" @tad_f.kept.0 : memref<4xf64> = dense<0.000000e+00> {alignment = 64 : i64}
