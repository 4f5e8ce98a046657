// RUN: tadc %s --passes 'tad-to-loops,canonicalize,cse' | filecheck %s
// A large result that nothing else reads goes past the caches, where a vector is a whole line of the cache.

func.func @f(%x: tensor<4194304xf32> {tad.name = "x"}) -> (tensor<4194304xf32> {tad.name = "y"}) {
  %y = tad.map (%i) -> tensor<4194304xf32> {
    %0 = tad.read %x[%i] : tensor<4194304xf32>
    %1 = arith.addf %0, %0 : f32
    tad.yield %1 : f32
  }
  return %y : tensor<4194304xf32>
}

// CHECK:      %[[START:.*]] = memref.extract_aligned_pointer_as_index %y
// CHECK:      %[[ADDRESS:.*]] = arith.addi %[[START]],
// CHECK:      %[[REST:.*]] = arith.andi %[[ADDRESS]], %c63
// CHECK:      %[[WHOLE:.*]] = arith.cmpi eq, %[[REST]], %c0
// CHECK:      scf.if %[[WHOLE]] {
// CHECK-NEXT:   vector.store %[[Y:.*]], %y[%{{.*}}] {alignment = 64 : i64, nontemporal = true}
// CHECK-NEXT: } else {
// CHECK-NEXT:   vector.store %[[Y]], %y[%{{.*}}] : memref<4194304xf32>, vector<16xf32>
