// RUN: tadc %s --passes canonicalize | filecheck %s
// RUN: tadc %s --passes canonicalize --generic | filecheck %s --check-prefix GENERIC
// What hosts ask for is read and written back, with its flags.

func.func @host(%x: tensor<8xf64>, %df: tensor<6xf64>) -> (tensor<8xf64>, tensor<6xf64>) {
  %0 = tad.vjp @f attributes {wrt = ["x"]} : (tensor<8xf64>, tensor<6xf64>) -> tensor<8xf64>
  %dx = func.call_indirect %0(%x, %df) : (tensor<8xf64>, tensor<6xf64>) -> tensor<8xf64>
  %1 = tad.jvp @f : (tensor<8xf64>, tensor<8xf64>) -> (tensor<6xf64>, tensor<6xf64>)
  %f:2 = func.call_indirect %1(%x, %x) : (tensor<8xf64>, tensor<8xf64>) -> (tensor<6xf64>, tensor<6xf64>)
  return %dx, %f#1 : tensor<8xf64>, tensor<6xf64>
}

// CHECK:      %0 = tad.vjp @f attributes {wrt = ["x"]} : (tensor<8xf64>, tensor<6xf64>) -> tensor<8xf64>
// CHECK-NEXT: %1 = call_indirect %0(%x, %df) : (tensor<8xf64>, tensor<6xf64>) -> tensor<8xf64>
// CHECK-NEXT: %2 = tad.jvp @f : (tensor<8xf64>, tensor<8xf64>) -> (tensor<6xf64>, tensor<6xf64>)
// GENERIC: "tad.vjp"() {callee = @f, wrt = ["x"]} : () -> ((tensor<8xf64>, tensor<6xf64>) -> tensor<8xf64>)
