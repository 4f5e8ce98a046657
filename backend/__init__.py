"""From loops to running code: upstream MLIR lowering, LLVM, object code and JIT.

base              what a backend is; targets and settings
target            the table of backends, and targets by name
cpu, cuda, rocm, wasm  the backends
to_llvm_dialect   memref-level or gpu-level MLIR -> llvm dialect of a target
pipelines         what backends share of upstream; llvm dialect -> LLVM IR text
functions         scalar functions as LLVM IR text
llvm_ir           LLVM IR text made complete: definitions of what it calls, function attributes
object_code       LLVM IR text -> optimised LLVM IR, assembly, object bytes for a CPU
emulator          PTX executed by NumPy, as a library that stands in for CUDA's driver
runtime           calls of compiled kernels; imports NumPy and ctypes only
"""
