"""The rows of the conformance document, each against JAX."""
