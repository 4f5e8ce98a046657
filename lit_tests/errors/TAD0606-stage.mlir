// RUN: not tadc %s --emit opt 2>&1 | filecheck %s

func.func @f(%a: memref<4xf64>) {
  return
}

// CHECK: error[TAD0606]: stage `opt` is not taken here; the stages are llvm-dialect, llvm, asm
