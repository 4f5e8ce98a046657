// RUN: tadc %s --passes 'tad-keep{fused=true}' | filecheck %s
// %c reads nothing and %d reads only %c: they are kept, and come first. %s is a result.

func.func @f(%x: tensor<4xf64> {tad.name = "x"}) -> (tensor<4xf64> {tad.name = "y"}, tensor<4xf64> {tad.name = "s"}) {
  %a = tad.map (%i) -> tensor<4xf64> {
    %0 = tad.read %x[%i] : tensor<4xf64>
    %1 = math.exp %0 : f64
    tad.yield %1 : f64
  }
  %c = tad.map (%k) -> tensor<4xf64> {
    %0 = tad.index %k
    %1 = tad.value_of %0 : f64
    %2 = math.cos %1 : f64
    tad.yield %2 : f64
  }
  %d = tad.map (%k) -> tensor<4xf64> {
    %0 = tad.read %c[-%k + 3] : tensor<4xf64>
    %1 = tad.read %c[%k] : tensor<4xf64>
    %2 = arith.mulf %0, %1 : f64
    tad.yield %2 : f64
  }
  %y = tad.map (%i) -> tensor<4xf64> {
    %0 = tad.read %a[%i] : tensor<4xf64>
    %1 = tad.read %d[%i] : tensor<4xf64>
    %2 = arith.mulf %0, %1 : f64
    tad.yield %2 : f64
  }
  %s = tad.map (%i) -> tensor<4xf64> {
    %0 = tad.index %i
    %1 = tad.value_of %0 : f64
    tad.yield %1 : f64
  }
  return %y, %s : tensor<4xf64>, tensor<4xf64>
}

// CHECK:      %c = tad.map (%k) attributes {tad.kept} -> tensor<4xf64> {
// CHECK:      %d = tad.map (%k) attributes {tad.kept} -> tensor<4xf64> {
// CHECK:      %a = tad.map (%i) -> tensor<4xf64> {
// CHECK:      %y = tad.map (%i) -> tensor<4xf64> {
// CHECK:      %s = tad.map (%i) -> tensor<4xf64> {
