"""Why gradients gather each contribution once: proofs, and how they read."""
