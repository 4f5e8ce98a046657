// RUN: tad-opt %s --tad-vjp | filecheck %s
// One gradient for all that ask for the same; another for other options; a function value where it is not called.

func.func @f(%x: tensor<8xf64> {tad.name = "x"}) -> (tensor<3x4xf64> {tad.name = "f"}) {
  %f = tad.map (%i, %j) -> tensor<3x4xf64> {
    %0 = tad.read %x[%i + %j] : tensor<8xf64>
    %1 = math.exp %0 : f64
    tad.yield %1 : f64
  }
  return %f : tensor<3x4xf64>
}

func.func private @optimise(tensor<8xf64>, (tensor<8xf64>, tensor<3x4xf64>) -> tensor<8xf64>)
func.func @host(%x: tensor<8xf64>, %df: tensor<3x4xf64>) -> (tensor<8xf64>, tensor<8xf64>) {
  %0 = tad.vjp @f : (tensor<8xf64>, tensor<3x4xf64>) -> tensor<8xf64>
  %1 = tad.vjp @f attributes {keep_values} : (tensor<8xf64>, tensor<3x4xf64>) -> (tensor<3x4xf64>, tensor<8xf64>)
  %2 = tad.vjp @f : (tensor<8xf64>, tensor<3x4xf64>) -> tensor<8xf64>
  %a = func.call_indirect %0(%x, %df) : (tensor<8xf64>, tensor<3x4xf64>) -> tensor<8xf64>
  %b:2 = func.call_indirect %1(%x, %df) : (tensor<8xf64>, tensor<3x4xf64>) -> (tensor<3x4xf64>, tensor<8xf64>)
  func.call @optimise(%x, %2) : (tensor<8xf64>, (tensor<8xf64>, tensor<3x4xf64>) -> tensor<8xf64>) -> ()
  return %a, %b#1 : tensor<8xf64>, tensor<8xf64>
}

// CHECK:      func.func @f_vjp(
// CHECK:      func.func @f_vjp_1(
// CHECK-NOT:  func.func @f_vjp_2(
// CHECK:      func.func @host(
// CHECK-NEXT:   %f = constant @f_vjp :
// CHECK-NEXT:   %0 = call @f_vjp(%x, %df)
// CHECK-NEXT:   %1:2 = call @f_vjp_1(%x, %df)
// CHECK-NEXT:   call @optimise(%x, %f)
