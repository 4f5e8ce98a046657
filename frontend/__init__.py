"""Text to typed programs and back, with diagnostics. Plain Python: no MLIR, no NumPy."""
