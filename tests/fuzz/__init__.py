"""Random programs, each as text and as a tree of its own that JAX evaluates."""
