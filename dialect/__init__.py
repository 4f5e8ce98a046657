"""The `tad` dialect of MLIR: operations, index maps, text, and the way from programs and back."""
