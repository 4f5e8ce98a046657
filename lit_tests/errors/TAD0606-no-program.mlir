// What is done with programs is refused for IR that holds none, and not passed over.

// RUN: tadc %s | filecheck %s --check-prefix=SHOWN
// RUN: not tadc %s --wrt a 2>&1 | filecheck %s --check-prefix=WRT
// RUN: not tadc %s --wrt colour 2>&1 | filecheck %s --check-prefix=WRT
// RUN: not tadc %s --mode jvp 2>&1 | filecheck %s --check-prefix=MODE
// RUN: not tadc %s --size N=3 2>&1 | filecheck %s --check-prefix=SIZE
// RUN: not tadc %s --emit loops 2>&1 | filecheck %s --check-prefix=STAGE

func.func @f(%a: tensor<4xf64>, %b: tensor<4xf64>) -> tensor<4xf64> {
  %0 = tensor.empty() : tensor<4xf64>
  %1 = linalg.add ins(%a, %b : tensor<4xf64>, tensor<4xf64>) outs(%0 : tensor<4xf64>) -> tensor<4xf64>
  return %1 : tensor<4xf64>
}

// SHOWN: linalg.add
// WRT: error[TAD0606]: `--wrt` differentiates programs of the tad dialect
// WRT: note: this IR holds none
// WRT: help: start from the program
// MODE: error[TAD0606]: `--mode` differentiates programs of the tad dialect
// SIZE: error[TAD0606]: `--size` gives values to the sizes of programs of the tad dialect
// STAGE: error[TAD0606]: stage `loops` is made of programs of the tad dialect
