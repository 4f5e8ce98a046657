"""The lines of the CPU's caches, and the bytes of elements in them."""

from __future__ import annotations

from typing import Any

LINE = 64
"""The bytes of a line of the cache."""


def element_bytes(tensor: Any) -> int:
    """The bytes of an element of a tensor or buffer type."""
    return tensor.element_type.width // 8
