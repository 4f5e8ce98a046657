// RUN: tadc %s --split-input-file --verify-diagnostics --passes tad-reverse-diff{wrt=x} | filecheck %s
// CHECK: func.func @first_vjp
// CHECK: // -----
// CHECK-NEXT: module
// CHECK: func.func @last_vjp
// CHECK-NOT: // -----
func.func @first(%x: tensor<8xf64> {tad.name = "x"}) -> (tensor<8xf64> {tad.name = "first"}) {
  %f = tad.map (%i) -> tensor<8xf64> {
    %0 = tad.read %x[%i] : tensor<8xf64>
    tad.yield %0 : f64
  }
  return %f : tensor<8xf64>
}

// -----

func.func @f(%x: tensor<8xf64> {tad.name = "x"}) -> (tensor<3x4xf64> {tad.name = "f"}) {
  %f = tad.map (%i, %j) -> tensor<3x4xf64> {
    // expected-error-re@below {{map yields {{[0-9]}} subscripts but tensor<8xf64> has rank 1}}
    %0 = tad.read %x[%i, %j] : tensor<8xf64>
    tad.yield %0 : f64
  }
  return %f : tensor<3x4xf64>
}

// -----

func.func @f(%x: tensor<8xf64> {tad.name = "x"}) -> (tensor<8xf64> {tad.name = "f"}) {
  %f = tad.map (%i) -> tensor<8xf64> {
    %0 = tad.read %x[%i + 1] : tensor<8xf64>
    // expected-error@above {{TAD0607}}
    // expected-note@-2 {{out of range at `i = 7`}}
    tad.yield %0 : f64
  }
  return %f : tensor<8xf64>
}

// -----

// expected-error {{no argument `x`; has: y}}
func.func @last(%y: tensor<8xf64> {tad.name = "y"}) -> (tensor<8xf64> {tad.name = "last"}) {
  %f = tad.map (%i) -> tensor<8xf64> {
    %0 = tad.read %y[%i] : tensor<8xf64>
    tad.yield %0 : f64
  }
  return %f : tensor<8xf64>
}

// -----

func.func @last(%x: tensor<8xf64> {tad.name = "x"}) -> (tensor<8xf64> {tad.name = "last"}) {
  %f = tad.map (%i) -> tensor<8xf64> {
    %0 = tad.read %x[%i] : tensor<8xf64>
    tad.yield %0 : f64
  }
  return %f : tensor<8xf64>
}
