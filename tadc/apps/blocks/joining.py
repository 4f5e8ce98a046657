"""Parts of blocks, joined two by two: the same bits for the same blocks, whoever computes them and when."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

#: How two parts of a reduction are joined.
JOIN: Mapping[str, Callable[[Any, Any], Any]] = {
    "sum": np.add,
    "prod": np.multiply,
    "max": np.maximum,
    "min": np.minimum,
}


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
