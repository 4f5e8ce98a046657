"""What the arguments of a call tell before they are bound."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

#: The modules of values that are on no GPU.
_HOST = ("builtins", "numpy")


def shape_of(value: Any) -> tuple[int, ...]:
    """The shape of what an array is made from; nested lists count as far as their first elements go."""
    found: list[int] = []
    while isinstance(value, list | tuple):
        items: list[Any] = list(value)  # pyright: ignore[reportUnknownArgumentType]
        found.append(len(items))
        value = items[0] if items else 0
    return (*found, *getattr(value, "shape", ()))


def on_gpu(args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
    """Whether an argument is an array on a GPU."""
    for value in (*args, *kwargs.values()):
        if type(value).__module__ not in _HOST:
            from tadc.backend.cuda.arrays import is_on_gpu

            if is_on_gpu(value):
                return True
    return False
