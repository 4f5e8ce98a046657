// RUN: tadc %s --passes tad-cut | filecheck %s
// A long sum becomes sums of its parts, and their sum. Of several indices the outermost is cut.

func.func @f(%x: tensor<?x?xf32> {tad.name = "x", tad.shape = affine_map<()[s0, s1] -> (s0, s1)>}, %N: index {tad.name = "N"}, %M: index {tad.name = "M"}) -> (tensor<f32> {tad.name = "s"}) {
  %s = tad.map () -> tensor<f32> {
    %0 = tad.sum (%i, %j) in {0 <= %i < %N, 0 <= %j < %M} -> f32 {
      %1 = tad.read %x[%i, %j] : tensor<?x?xf32>
      tad.yield %1 : f32
    }
    %2 = math.sqrt %0 : f32
    tad.yield %2 : f32
  }
  return %s : tensor<f32>
}

// CHECK:      %s_parts = tad.map (%part, %one) in {0 <= %part < (%N + 47) floordiv 48, 0 <= %one <= 0} attributes {tad.parts} -> tensor<?x1xf32> {
// CHECK-NEXT:   %0 = tad.sum (%i, %j) in {%part * 48 <= %i <= %part * 48 + 47, 0 <= %i < %N, 0 <= %j < %M} -> f32 {
// CHECK-NEXT:     %1 = tad.read %x[%i, %j] : tensor<?x?xf32>
// CHECK:      %s = tad.map () attributes {tad.joined} -> tensor<f32> {
// CHECK-NEXT:   %0 = tad.sum (%part) in {0 <= %part < (%N + 47) floordiv 48} -> f32 {
// CHECK-NEXT:     %2 = tad.read %s_parts[%part, 0] : tensor<?x1xf32>
// CHECK:        %1 = math.sqrt %0 : f32
