"""How gradients read the states of recurrences: stored, or as an application says that makes them again."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

# A kernel of the disk cache runs without the front end.
if TYPE_CHECKING:
    from tadc.frontend.program import Program

#: Makes a gradient that reads states otherwise, of the gradient and what it is the gradient of.
Reversal = Callable[["Program", "Program"], "Program"]

#: By the word of `reverse=` and `--reverse`. Who registers one imports it at its first use.
REVERSALS: dict[str, Reversal] = {"store": lambda gradient, _: gradient}
