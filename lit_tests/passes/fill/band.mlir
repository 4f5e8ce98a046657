// RUN: tadc %s --passes tad-fill | filecheck %s
// The first of two guards takes precedence: it is stored after the second. The added term follows. All share one memory.

func.func @f(%x: tensor<100xf64> {tad.name = "x"}) -> (tensor<100x100xf64> {tad.name = "d"}) {
  %d = tad.map (%i, %j) -> tensor<100x100xf64> {
    %0 = tad.guard where {%i == %j} -> f64 {
      %1 = tad.read %x[%i] : tensor<100xf64>
      tad.yield %1 : f64
    } else {
      %1 = tad.guard where {%i == %j + 1} -> f64 {
        %3 = tad.read %x[%j] : tensor<100xf64>
        %4 = arith.negf %3 : f64
        tad.yield %4 : f64
      } else {
        %cst = arith.constant 0.0 : f64
        tad.yield %cst : f64
      }
      tad.yield %1 : f64
    }
    %2 = tad.guard where {%i == %j, 0 <= %i - 2} -> f64 {
      %1 = tad.read %x[%i - 2] : tensor<100xf64>
      tad.yield %1 : f64
    } else {
      %cst = arith.constant 0.0 : f64
      tad.yield %cst : f64
    }
    %5 = arith.addf %0, %2 : f64
    tad.yield %5 : f64
  }
  return %d : tensor<100x100xf64>
}

// CHECK:      %d = tad.map (%i, %j) -> tensor<100x100xf64> {
// CHECK-NEXT:   %cst = arith.constant 0.000000e+00 : f64
// CHECK-NEXT:   tad.yield %cst : f64
// CHECK:      %d_0 = tad.map (%i, %j) attributes {tad.in_place} -> tensor<100x100xf64> {
// CHECK-NEXT:   %0 = tad.guard where {%i == %j + 1} -> f64 {
// CHECK:        } else {
// CHECK-NEXT:     %1 = tad.read %d[%i, %j] : tensor<100x100xf64>
// CHECK:      %d_1 = tad.map (%i, %j) attributes {tad.in_place} -> tensor<100x100xf64> {
// CHECK-NEXT:   %0 = tad.guard where {%i == %j} -> f64 {
// CHECK-NEXT:     %1 = tad.read %x[%i] : tensor<100xf64>
// CHECK:        } else {
// CHECK-NEXT:     %1 = tad.read %d_0[%i, %j] : tensor<100x100xf64>
// CHECK:      %d_2 = tad.map (%i, %j) attributes {tad.in_place} -> tensor<100x100xf64> {
// CHECK-NEXT:   %0 = tad.guard where {%i == %j, %i >= 2} -> f64 {
// CHECK-NEXT:     %1 = tad.read %x[%i - 2] : tensor<100xf64>
// CHECK-NEXT:     %2 = tad.read %d_1[%i, %j] : tensor<100x100xf64>
// CHECK-NEXT:     %3 = arith.addf %2, %1 : f64
// CHECK:      return %d_2 : tensor<100x100xf64>
