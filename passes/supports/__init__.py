"""Where tensors are not 0, and tensors kept only there."""
