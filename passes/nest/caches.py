"""The bytes of elements in memory."""

from __future__ import annotations

from typing import Any


def element_bytes(tensor: Any) -> int:
    """The bytes of an element of a tensor or buffer type."""
    return tensor.element_type.width // 8
