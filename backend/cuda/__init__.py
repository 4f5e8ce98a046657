"""Kernels on a GPU, through CUDA's driver. Imports NumPy and ctypes only: no MLIR, no LLVM.

api         the functions of libcuda that are called, their types, names of errors
driver      these functions as methods that raise diagnostics; whether there is a GPU, and why not
device      a GPU: its context, memory, and the modules loaded into it
arrays      arrays that lie on a GPU: ours, and those of others
frameworks  PyTorch, CuPy and JAX: their streams, their arrays
kernel      a compiled program as a callable: arguments, grids, launches, results
arguments   arrays of a call, and what is wrong with them
manifest    what a kernel needs to know of its PTX, also as JSON
"""
