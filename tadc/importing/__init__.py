"""Functions of JAX and PyTorch, and models in files, as functions of tadc.

Front ends make a module of MLIR's `linalg` dialect; one importer reads it and writes a program.
"""
