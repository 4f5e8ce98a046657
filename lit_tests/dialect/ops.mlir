// Every op in readable form, as it is written and as it comes out.
// RUN: tadc %s --emit tad | filecheck %s
// RUN: tadc %s --emit tad > %t.mlir && tadc %t.mlir --emit tad | filecheck %s

// CHECK-LABEL: func.func @f(%a: tensor<3x8xf64>
// CHECK-NEXT:    %f = tad.map (%i, %j) -> tensor<3x4xf64> {
// CHECK-NEXT:      %0 = tad.sum (%k, %l) in {0 <= %k <= 4, %k < %i, %l == %k + 1} -> f64 {
// CHECK-NEXT:        %2 = tad.read %a[%i, %j + %k] : tensor<3x8xf64>
// CHECK-NEXT:        %3 = tad.sum (%k_0) [%j, %i] in {%k_0 * 2 >= %i + 3, %k_0 <= %j} -> f64 {
// CHECK-NEXT:          tad.yield %2 : f64
// CHECK-NEXT:        }
// CHECK-NEXT:        tad.yield %3 : f64
// CHECK-NEXT:      }
// CHECK-NEXT:      %1 = tad.guard where {%i == 2, 0 <= %j <= 2} -> f64 {
// CHECK-NEXT:        tad.yield %0 : f64
// CHECK-NEXT:      } else {
// CHECK-NEXT:        %2 = tad.index %i + %j floordiv 2 - (%i mod 4) * 3 - 1 : index
// CHECK-NEXT:        %3 = tad.value_of %2 : f64
// CHECK-NEXT:        %4 = tad.apply "sigmoid"(%3) attributes {note = "kept"} : f64
// CHECK-NEXT:        tad.yield %4 : f64
// CHECK-NEXT:      }
// CHECK-NEXT:      tad.yield %1 : f64
// CHECK-NEXT:    }
// CHECK-NEXT:    return %f : tensor<3x4xf64>

func.func @f(%a: tensor<3x8xf64> {tad.name = "a"}) -> (tensor<3x4xf64> {tad.name = "f"}) {
  %f = tad.map (%i, %j) -> tensor<3x4xf64> {
    // The inner indices may stand on lines of their own.
    %0 = tad.sum (%k,
                  %l) in {0 <= %k <= 4, %i > %k, %l == %k + 1} -> f64 {
      %2 = tad.read %a[%i, %j + %k] : tensor<3x8xf64>
      %3 = tad.sum (%k_0) [%j, %i] in {2 * %k_0 >= %i + 3, %k_0 <= %j} -> f64 {
        tad.yield %2 : f64
      }
      tad.yield %3 : f64
    }
    %1 = tad.guard where {%i == 2, 0 <= %j <= 2} -> f64 {
      tad.yield %0 : f64
    } else {
      %2 = tad.index %i + %j floordiv 2 - (%i mod 4) * 3 - 1 : index
      %3 = tad.value_of %2 : f64
      %4 = tad.apply "sigmoid"(%3) attributes {note = "kept"} : f64
      tad.yield %4 : f64
    }
    tad.yield %1 : f64
  }
  return %f : tensor<3x4xf64>
}
