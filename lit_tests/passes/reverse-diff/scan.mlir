// RUN: tadc %s --passes 'tad-reverse-diff' | filecheck %s
// The cotangent of a recurrence is one the other way round: it gathers what later elements read.

func.func @f(%x: tensor<5xf64> {tad.name = "x"}) -> (tensor<5xf64> {tad.name = "f"}) {
  %f = tad.scan %own (%i) by %i -> tensor<5xf64> {
    %0 = tad.guard where {%i >= 1} -> f64 {
      %1 = tad.read %own[%i - 1] : tensor<5xf64>
      tad.yield %1 : f64
    } else {
      %2 = tad.read %x[%i] : tensor<5xf64>
      tad.yield %2 : f64
    }
    tad.yield %0 : f64
  }
  return %f : tensor<5xf64>
}

// CHECK:        %df_1 = tad.scan %own (%i) by -%i -> tensor<5xf64> {
// CHECK-NEXT:     %0 = tad.read %df[%i] : tensor<5xf64>
// CHECK-NEXT:     %1 = tad.sum (%i_0) in {%i_0 == %i + 1, 0 <= %i_0 <= 4, %i_0 >= 1} -> f64 {
// CHECK-NEXT:       %3 = tad.read %own[%i_0] : tensor<5xf64>
// CHECK-NEXT:       tad.yield %3 : f64
// CHECK-NEXT:     }
// CHECK-NEXT:     %2 = arith.addf %0, %1 : f64
// CHECK-NEXT:     tad.yield %2 : f64
// CHECK-NEXT:   }
