"""What the compiler is tested against: JAX through gathers, sharing no code with it."""
