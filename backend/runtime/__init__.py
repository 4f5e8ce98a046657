"""Calls of compiled kernels with NumPy arrays. Imports NumPy and ctypes only: no MLIR, no LLVM."""
