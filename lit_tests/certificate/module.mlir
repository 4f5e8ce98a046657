// RUN: tadc %s --certificate | filecheck %s
// A module is printed as a program, and its reads stand where they are printed.

func.func @f(%x: tensor<9xf64> {tad.name = "x"}) -> (tensor<4xf64> {tad.name = "f"}) {
  %f = tad.map (%i) -> tensor<4xf64> {
    %0 = tad.read %x[%i * 2 + 1] : tensor<9xf64>
    tad.yield %0 : f64
  }
  return %f : tensor<4xf64>
}

// CHECK: certificate of the gradients by x: 1 read, proven exact
// CHECK: the program:
// CHECK-NEXT:   x: f64[9]
// CHECK: <program>:4:8: x[2*i + 1] into dx[x_0] ---
// CHECK: guards on b       (x_0 + 1) % 2 = 0
