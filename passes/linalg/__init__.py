"""Programs from functions of MLIR's `linalg` dialect, and back: one reader for importers and passes."""
