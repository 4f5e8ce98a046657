"""Kernels for callers other than Python: the code around them, as LLVM IR."""
