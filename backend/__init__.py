"""From loops to running code: upstream MLIR lowering, LLVM, object code, JIT and PTX.

pipelines         memref-level or gpu-level MLIR -> llvm or nvvm dialect -> LLVM IR text
math_calls        transcendental ops -> calls of our scalar functions, or LLVM intrinsics
scalar_functions  these functions as LLVM IR text
llvm_ir           LLVM IR text made complete: definitions of what it calls, function attributes
object_code       LLVM IR text -> optimised LLVM IR, assembly, object bytes for the host
jit               object bytes -> addresses in this process
ptx               LLVM IR text of a gpu module -> PTX -> cubin
cuda              calls of kernels on a GPU, through CUDA's driver; imports NumPy and ctypes only
emulator          PTX executed by NumPy, as a library that stands in for CUDA's driver
runtime           calls of compiled kernels; imports NumPy and ctypes only
"""
