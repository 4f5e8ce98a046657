// RUN: tadc %s --passes 'linalg-to-tad' | filecheck %s
// A named operation is a sum; what is filled before is where it starts.

func.func @f(%a: tensor<4x5xf64>, %b: tensor<5x6xf64>) -> tensor<4x6xf64> {
  %zero = arith.constant 0.0 : f64
  %empty = tensor.empty() : tensor<4x6xf64>
  %start = linalg.fill ins(%zero : f64) outs(%empty : tensor<4x6xf64>) -> tensor<4x6xf64>
  %c = linalg.matmul ins(%a, %b : tensor<4x5xf64>, tensor<5x6xf64>) outs(%start : tensor<4x6xf64>) -> tensor<4x6xf64>
  return %c : tensor<4x6xf64>
}

// CHECK:      func.func @f(%a: tensor<4x5xf64> {tad.name = "a"}, %b: tensor<5x6xf64> {tad.name = "b"}) -> (tensor<4x6xf64> {tad.name = "f"}) {
// CHECK-NEXT:   %f = tad.map (%i, %j) -> tensor<4x6xf64> {
// CHECK-NEXT:     %0 = tad.sum (%k) in {0 <= %k <= 4} -> f64 {
// CHECK-NEXT:       %1 = tad.read %b[%k, %j] : tensor<5x6xf64>
// CHECK-NEXT:       %2 = tad.read %a[%i, %k] : tensor<4x5xf64>
// CHECK-NEXT:       %3 = arith.mulf %2, %1 : f64
// CHECK-NEXT:       tad.yield %3 : f64
// CHECK-NEXT:     }
// CHECK-NEXT:     tad.yield %0 : f64
// CHECK-NEXT:   }
// CHECK-NEXT:   return %f : tensor<4x6xf64>
