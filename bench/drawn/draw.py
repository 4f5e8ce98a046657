"""Random choices of shapes, orders and names, for programs that nobody has seen before."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")

#: Sizes for tests: small, and all different.
SMALL = (3, 5, 4, 6, 2, 7)


@dataclass
class Draw:
    """A source of choices."""

    random: random.Random

    def one(self, *of: T) -> T:
        """One of these."""
        return self.random.choice(of)

    def size(self, low: int, high: int) -> int:
        """A size, all orders of magnitude alike; every other one a multiple of 8."""
        found = round(low * (high / low) ** self.random.random())
        return max(low, found // 8 * 8) if self.random.random() < 0.5 else found

    def order(self, names: Sequence[str]) -> str:
        """Names in any order; those that fall are as likely as all others."""
        return ", ".join(self.random.sample(names, len(names)))

    def spelled(self, *ways: str) -> str:
        """One of several ways to write something."""
        return self.random.choice(ways)


def small(sizes: Mapping[str, int]) -> dict[str, int]:
    """Sizes for tests."""
    return dict(zip(sizes, SMALL, strict=False))
