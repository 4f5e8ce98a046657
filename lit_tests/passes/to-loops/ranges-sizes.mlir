// RUN: tadc %s --passes 'tad-to-loops{vector-bytes=0},canonicalize,cse' | filecheck %s
// Where both extents are sizes, the call decides which index is divided: the second, if the first has few values.

func.func @f(%x: tensor<?x?xf64> {tad.name = "x", tad.shape = affine_map<()[s0, s1] -> (s0, s1)>},
             %B: index {tad.name = "B"}, %N: index {tad.name = "N"}) -> (tensor<?x?xf64> {tad.name = "y"}) {
  %y = tad.map (%i, %j) in {0 <= %i < %B, 0 <= %j < %N} -> tensor<?x?xf64> {
    %0 = tad.read %x[%i, %j] : tensor<?x?xf64>
    tad.yield %0 : f64
  }
  return %y : tensor<?x?xf64>
}

// CHECK:        func.func @tad_f
// CHECK:          %[[FEW:.*]] = arith.cmpi slt, %B, %c64 : index
// CHECK-NEXT:     %[[LESS:.*]] = arith.cmpi slt, %B, %N : index
// CHECK-NEXT:     %[[SECOND:.*]] = arith.andi %[[FEW]], %[[LESS]] : i1
// CHECK-NEXT:     %[[NUMBER:.*]] = arith.index_castui %[[SECOND]] : i1 to index
// CHECK-NEXT:     %[[ELEMENTS:.*]] = arith.select %[[SECOND]], %N, %B : index
// CHECK-NEXT:     %[[MULTIPLE:.*]] = arith.select %[[SECOND]], %c64, %c1 : index
// CHECK-NEXT:     call @tad_f.0.split(%x, %y, %B, %N, %[[NUMBER]], %[[ELEMENTS]], %[[MULTIPLE]], %{{.*}})
// CHECK:        func.func private @tad_f.0({{.*}}, %B: index, %N: index, %second: index, %begin: index, %end: index)
// CHECK:          %[[B1:.*]] = affine.min affine_map<()[s0, s1] -> (s1, s0)>()[%B, %end]
// CHECK-NEXT:     %[[LESS:.*]] = affine.apply affine_map<()[s0] -> (s0 - 1)>()[%second]
// CHECK-NEXT:     %[[HERE:.*]] = arith.cmpi sge, %[[LESS]], %c0 : index
// CHECK-NEXT:     %[[I0:.*]] = arith.select %[[HERE]], %c0, %begin : index
// CHECK-NEXT:     %[[I1:.*]] = arith.select %[[HERE]], %B, %[[B1]] : index
// CHECK-NEXT:     %[[N1:.*]] = affine.min affine_map<()[s0, s1] -> (s1, s0)>()[%N, %end]
// CHECK-NEXT:     %[[J0:.*]] = arith.select %[[HERE]], %begin, %c0 : index
// CHECK-NEXT:     %[[J1:.*]] = arith.select %[[HERE]], %[[N1]], %N : index
// CHECK-NEXT:     scf.for %i = %[[I0]] to %[[I1]] step %c1 {
// CHECK-NEXT:       scf.for %j = %[[J0]] to %[[J1]] step %c1 {
