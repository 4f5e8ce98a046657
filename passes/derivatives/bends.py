"""Which terms have a root or a kink in them, through definitions."""

from __future__ import annotations

from collections.abc import Callable

from tadc.frontend.terms import Apply, Read, Term, holds
from tadc.lattice.late_dataclasses import dataclass, field

#: Functions whose slope may be infinite or have a step where a value is finite.
BENT = frozenset({"abs", "sqrt", "cbrt", "pow", "pinv", "asin", "acos", "acosh"})


@dataclass
class Bends:
    """Of definitions that wait, in their order, to be looked at; `tensors` are those with roots or kinks."""

    waiting: list[tuple[str, Term]] = field(default_factory=list[tuple[str, Term]])
    tensors: set[str] = field(default_factory=set[str])
    known: dict[int, bool] = field(default_factory=dict[int, bool])

    def has(self, term: Term, is_steep: Callable[[Apply], bool]) -> bool:
        """Whether a term has one; `is_steep` tells if the slope of a function is infinite or has a step."""

        def bends(node: Term) -> bool:
            if isinstance(node, Read):
                return node.tensor in self.tensors
            return isinstance(node, Apply) and node.function in BENT and is_steep(node)

        waiting, self.waiting = self.waiting, []
        for name, body in waiting:
            if holds(body, self.known, bends):
                self.tensors.add(name)
        return holds(term, self.known, bends)
