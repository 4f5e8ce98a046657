"""What the CPU's caches hold, and the bytes of tensors in them."""

from __future__ import annotations

import math
from typing import Any

LINE = 64
"""The bytes of a line of the cache."""

LARGE = 8 << 20
"""A tensor of so many bytes is in no cache of one's own any more when it is read again."""


def element_bytes(tensor: Any) -> int:
    """The bytes of an element of a tensor or buffer type."""
    return tensor.element_type.width // 8


def is_large(tensor: Any) -> bool:
    """Whether a ranked tensor type has a known shape, and comes from memory."""
    return tensor.has_static_shape and math.prod(tensor.shape) * element_bytes(tensor) >= LARGE
