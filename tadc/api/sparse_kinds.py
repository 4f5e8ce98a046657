"""Which values are sparse arrays."""

from __future__ import annotations

from typing import Any


def is_sparse(value: Any) -> bool:
    """Whether a value is a sparse array of SciPy, PyTorch or JAX."""
    module = type(value).__module__
    if module.startswith("jax.experimental.sparse"):
        return hasattr(value, "todense")
    if module.startswith("scipy.sparse"):
        return hasattr(value, "format")
    return module.startswith("torch") and "sparse" in str(getattr(value, "layout", ""))
