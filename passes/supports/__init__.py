"""Non-zero patterns of tensors, and tensors stored only there."""
