// RUN: tadc %s --passes 'tad-to-loops{vector-bytes=0},canonicalize,cse' | filecheck %s
// An index of few values is not divided where another has more.

func.func @f(%x: tensor<3x70000xf64> {tad.name = "x"}) -> (tensor<3x70000xf64> {tad.name = "y"}) {
  %y = tad.map (%i, %j) -> tensor<3x70000xf64> {
    %0 = tad.read %x[2 - %i, %j] : tensor<3x70000xf64>
    tad.yield %0 : f64
  }
  return %y : tensor<3x70000xf64>
}

// CHECK:        call @tad_f.0.split(%x, %y, %c70000, %c64, %c420000)
// CHECK:        func.func private @tad_f.0
// CHECK:          scf.for %i = %c0 to %c3 step %c1 {
// CHECK-NEXT:       scf.for %j = %begin to %end step %c1 {
