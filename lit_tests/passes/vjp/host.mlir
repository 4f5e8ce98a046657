// RUN: tadc %s --passes 'tad-vjp' | filecheck %s
// A host calls a gradient; the function stays.

func.func @f(%x: tensor<8xf64> {tad.name = "x"}) -> (tensor<3x4xf64> {tad.name = "f"}) {
  %f = tad.map (%i, %j) -> tensor<3x4xf64> {
    %0 = tad.read %x[%i + %j] : tensor<8xf64>
    %1 = math.exp %0 : f64
    tad.yield %1 : f64
  }
  return %f : tensor<3x4xf64>
}

func.func @host(%x: tensor<8xf64>, %df: tensor<3x4xf64>) -> tensor<8xf64> {
  %0 = tad.vjp @f : (tensor<8xf64>, tensor<3x4xf64>) -> tensor<8xf64>
  %dx = func.call_indirect %0(%x, %df) : (tensor<8xf64>, tensor<3x4xf64>) -> tensor<8xf64>
  return %dx : tensor<8xf64>
}

// CHECK:      func.func @f_vjp(%x: tensor<8xf64> {tad.name = "x"}, %df: tensor<3x4xf64> {tad.cotangent_of = "f", tad.name = "df"}) -> (tensor<8xf64> {tad.gradient_of = "x", tad.name = "dx"}) {
// CHECK:      func.func @f(
// CHECK:      func.func @host(%x: tensor<8xf64>, %df: tensor<3x4xf64>) -> tensor<8xf64> {
// CHECK-NEXT:   %0 = call @f_vjp(%x, %df) : (tensor<8xf64>, tensor<3x4xf64>) -> tensor<8xf64>
// CHECK-NEXT:   return %0 : tensor<8xf64>
