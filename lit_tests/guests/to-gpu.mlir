// RUN: not tad-opt %s --tad-to-gpu=gpu=sm_90 2>&1 | filecheck %s
func.func @f(%x: tensor<8xf64> {tad.name = "x"}) -> (tensor<3x4xf64> {tad.name = "f"}) {
  %f = tad.map (%i, %j) -> tensor<3x4xf64> {
    %0 = tad.read %x[%i + %j] : tensor<8xf64>
    %1 = math.exp %0 : f64
    tad.yield %1 : f64
  }
  return %f : tensor<3x4xf64>
}

func.func @host(%x: tensor<8xf64>) -> tensor<3x4xf64> {
  %0 = func.call @f(%x) : (tensor<8xf64>) -> tensor<3x4xf64>
  return %0 : tensor<3x4xf64>
}

// CHECK: @f is called, but its kernels take arrays that are on the GPU
