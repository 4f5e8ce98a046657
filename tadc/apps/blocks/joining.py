"""Parts of blocks, joined two by two: the same bits for the same blocks, whoever computes them and when."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

#: How two parts of a reduction are joined.
JOIN: Mapping[str, Callable[[Any, Any], Any]] = {
    "sum": np.add,
    "prod": np.multiply,
    "max": np.maximum,
    "min": np.minimum,
}


T = TypeVar("T")


def tree(parts: Sequence[T], join: Callable[[T, T], T]) -> T:
    """All parts, joined two by two as `Joined` does. What joins all of them is joined last."""
    if len(parts) == 1:
        return parts[0]
    half = 1 << (len(parts) - 1).bit_length() - 1
    return join(tree(parts[:half], join), tree(parts[half:], join))


@dataclass
class Joined:
    """Parts that come in order, of which as many are kept as their number has binary digits.

    Neighbours are joined first, then pairs of neighbours, and so on: what `tree` joins.
    """

    kind: str
    _kept: list[tuple[int, Any]] = field(default_factory=list[tuple[int, Any]])

    def add(self, part: Any) -> None:
        """Join the next part."""
        count = 1
        while self._kept and self._kept[-1][0] == count:
            part = JOIN[self.kind](self._kept.pop()[1], part)
            count *= 2
        self._kept.append((count, part))

    def result(self) -> Any:
        """All parts together."""
        (_, found), *others = reversed(self._kept)
        for _, part in others:
            found = JOIN[self.kind](part, found)
        return found
