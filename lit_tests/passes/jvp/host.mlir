// RUN: tadc %s --passes 'tad-jvp' | filecheck %s
// A host calls tangents; the function stays.

func.func @f(%x: tensor<8xf64> {tad.name = "x"}) -> (tensor<3x4xf64> {tad.name = "f"}) {
  %f = tad.map (%i, %j) -> tensor<3x4xf64> {
    %0 = tad.read %x[%i + %j] : tensor<8xf64>
    %1 = math.exp %0 : f64
    tad.yield %1 : f64
  }
  return %f : tensor<3x4xf64>
}

func.func @host(%x: tensor<8xf64>, %tx: tensor<8xf64>) -> tensor<3x4xf64> {
  %0 = tad.jvp @f attributes {drop_values} : (tensor<8xf64>, tensor<8xf64>) -> tensor<3x4xf64>
  %tf = func.call_indirect %0(%x, %tx) : (tensor<8xf64>, tensor<8xf64>) -> tensor<3x4xf64>
  return %tf : tensor<3x4xf64>
}

// CHECK:      func.func @f_jvp(%x: tensor<8xf64> {tad.name = "x"}, %x_dot: tensor<8xf64> {tad.name = "x_dot", tad.tangent_of = "x"})
// CHECK:      func.func @f(
// CHECK:      func.func @host(%x: tensor<8xf64>, %tx: tensor<8xf64>) -> tensor<3x4xf64> {
// CHECK-NEXT:   %0 = call @f_jvp(%x, %tx) : (tensor<8xf64>, tensor<8xf64>) -> tensor<3x4xf64>
// CHECK-NEXT:   return %0 : tensor<3x4xf64>
