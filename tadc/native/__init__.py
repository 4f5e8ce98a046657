"""Kernels for callers that are no Python: what these need around the code, as LLVM IR."""
