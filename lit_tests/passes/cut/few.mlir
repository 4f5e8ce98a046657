// RUN: tadc %s --passes tad-cut | filecheck %s
// A sum of fewer operations than a thread is worth stays as it is, and one under a condition.

func.func @f(%x: tensor<9000xf32> {tad.name = "x"}, %y: tensor<900000xf32> {tad.name = "y"}) -> (tensor<f32> {tad.name = "s"}, tensor<2xf32> {tad.name = "t"}) {
  %s = tad.map () -> tensor<f32> {
    %0 = tad.sum (%i) in {0 <= %i < 9000} -> f32 {
      %1 = tad.read %x[%i] : tensor<9000xf32>
      tad.yield %1 : f32
    }
    tad.yield %0 : f32
  }
  %t = tad.map (%k) -> tensor<2xf32> {
    %0 = tad.guard where {%k == 0} -> f32 {
      %1 = tad.sum (%i) in {0 <= %i < 900000} -> f32 {
        %2 = tad.read %y[%i] : tensor<900000xf32>
        tad.yield %2 : f32
      }
      tad.yield %1 : f32
    } else {
      %cst = arith.constant 0.000000e+00 : f32
      tad.yield %cst : f32
    }
    tad.yield %0 : f32
  }
  return %s, %t : tensor<f32>, tensor<2xf32>
}

// CHECK:      func.func @f
// CHECK-NOT:  parts
