// RUN: tadc %s --passes 'tad-to-loops{registers=28},canonicalize,cse' | filecheck %s
// Both factors are read in columns: rows of %a are packed too, tile by tile, a chunk of them and a block of the
// sum at a time, before what lanes read of %b. The lanes of the last range that fill no tile are computed in one
// more turn, anew.

func.func @f(%a: tensor<1000x1024xf32> {tad.name = "a"}, %b: tensor<1000x1000xf32> {tad.name = "b"}) -> (tensor<1024x1000xf32> {tad.name = "f"}) {
  %f = tad.map (%i, %j) -> tensor<1024x1000xf32> {
    %0 = tad.sum (%k) in {0 <= %k <= 999} -> f32 {
      %1 = tad.read %a[%k, %i] : tensor<1000x1024xf32>
      %2 = tad.read %b[%k, %j] : tensor<1000x1000xf32>
      %3 = arith.mulf %1, %2 : f32
      tad.yield %3 : f32
    }
    tad.yield %0 : f32
  }
  return %f : tensor<1024x1000xf32>
}

// Ranges of lanes begin at whole tiles; the last one has those that fill none.
// CHECK:        call @tad_f.0.split(%a, %b, %f, %c960, %c64, %{{.*}})
// CHECK:      func.func private @tad_f.0
// CHECK-DAG:    %[[LANES:.*]] = memref.alloca() {alignment = 64 : i64} : memref<250x64xf32>
// CHECK-DAG:    %[[ROWS:.*]] = memref.alloca() {alignment = 64 : i64} : memref<65000xf32>
// CHECK:        scf.for %[[TURN:.*]] = %c0 to %{{.*}} step %c1 {
// CHECK:          %[[WHOLE:.*]] = arith.cmpi sge, %{{.*}}, %c0
// CHECK:          %[[FROM:.*]] = arith.select %[[WHOLE]], %begin, %{{.*}}
// CHECK:          %[[TO:.*]] = arith.select %[[WHOLE]], %{{.*}}, %{{.*}}
// CHECK:          scf.for %[[K:.*]] = %c0 to %c1000 step %c250
// CHECK:            scf.for %[[CHUNK:.*]] = %c0 to %c1024 step %c260
// CHECK:              scf.for %{{.*}} = %[[K]] to %{{.*}} step %c8
// CHECK:              vector.load %a[%{{.*}}] : memref<1000x1024xf32>, vector<5xf32>
// CHECK:              vector.store %{{.*}}, %[[ROWS]][%{{.*}}] : memref<65000xf32>, vector<5xf32>
// CHECK:              vector.load %a[%{{.*}}] : memref<1000x1024xf32>, vector<4xf32>
// CHECK:              scf.for %j = %[[FROM]] to %[[TO]] step %c64
// CHECK:                vector.store %{{.*}}, %[[LANES]][
// CHECK:                scf.for %{{.*}} = %c0 to %{{.*}} step %c5
// CHECK:                  memref.load %[[ROWS]][
// CHECK:                  vector.load %[[LANES]][
// CHECK:                  %[[FIRST:.*]] = arith.cmpi eq, %[[K]], %c0
// CHECK-NEXT:             scf.if %[[FIRST]]
// CHECK:                scf.for %{{.*}} = %{{.*}} to %{{.*}} step %c4
