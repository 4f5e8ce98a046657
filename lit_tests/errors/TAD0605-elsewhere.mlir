// RUN: not tadc %s --emit tad 2>&1 | filecheck %s

// A location in another file is named; this one has something else there.
func.func @f(%a: tensor<4xf64>) -> tensor<4xf64> {
  %f = tad.map (%i) -> tensor<4xf64> {
    %0 = tensor.extract %a[%i] : tensor<4xf64> loc("g.tad":2:3)
    tad.yield %0 : f64
  }
  return %f : tensor<4xf64>
}

// CHECK: error[TAD0605]: 'tensor.extract' has no place in a tensor program
// CHECK: = note: at g.tad:2:3
