"""What of a term has a derivative, and what a derivative needs of it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from tadc.frontend.functions import having
from tadc.frontend.program import Program
from tadc.frontend.terms import (
    Apply,
    Const,
    Guard,
    Read,
    Reduce,
    Select,
    Term,
    bottom_up,
    holds,
    operands,
    tensors_read,
)
from tadc.lattice.late_dataclasses import dataclass, field

#: Operands that a derivative does not need.
_LINEAR = ("add", "sub", "neg")
_FLAT = having("flat")


def active_tensors(program: Program, wrt: Iterable[str]) -> set[str]:
    """The tensors that depend on an argument of `wrt`."""
    active = set(wrt)
    for definition in program.definitions:
        if not active.isdisjoint(tensors_read([definition.body])):
            active.add(definition.name)
    return active


@dataclass(frozen=True)
class Activity:
    """Which terms of one table depend on what is differentiated by: those that read the `active` tensors."""

    active: Collection[str]
    depends: dict[int, bool] = field(default_factory=dict[int, bool])
    smooth: dict[int, bool] = field(default_factory=dict[int, bool])
    plain: dict[int, bool] = field(default_factory=dict[int, bool])

    def is_active(self, term: Term) -> bool:
        """Whether a term depends on what is differentiated by."""
        return bool(self.active) and holds(term, self.depends, self.reads)

    def reads(self, node: Term) -> bool:
        """Whether a term reads what depends on it."""
        return isinstance(node, Read) and node.tensor in self.active

    def has_derivative(self, term: Term) -> bool:
        """Whether a term depends on it otherwise than in steps, as the number of points of a maximum does."""

        def has(node: Term, below: Sequence[bool]) -> bool:
            match node:
                case Read(tensor=tensor):
                    return tensor in self.active
                case Select():
                    return below[2] or below[3]
                case Apply(function=function) if function in _FLAT:
                    return False
                case _:
                    return any(below)

        return bottom_up(term, self.smooth, has)

    def passes_on_zero(self, term: Term, masked: bool) -> bool:
        """Whether a cotangent of 0 is 0 in all that it is passed on to, wherever a term is evaluated.

        So it is for an element over what has no derivative, whose rule is masked; and for a polynomial,
        where tests around it are masks, which say nothing of how large the elements are.
        """
        match term:
            case Apply(function="div", operands=(Read(), below)):
                return not self.has_derivative(below)
            case _:
                return masked and bottom_up(term, self.plain, _is_polynomial)

    def needs(self, term: Term) -> list[bool]:
        """For each operand, whether the derivative of this operation needs its value."""
        below = operands(term)
        active = [self.is_active(t) for t in below]
        match term:
            case Apply(function="mul" | "safe"):
                return active[::-1]
            case Apply(function="div"):
                return [active[1], any(active)]
            case Apply(function=function):
                return [function not in (*_LINEAR, *_FLAT) and any(active)] * len(below)
            case Reduce(kind=kind):
                return [kind != "sum" and active[0]]
            case Select():
                return [active[2] or active[3]] * 2 + [False] * 2
            case _:
                return [False] * len(below)


def _is_polynomial(node: Term, below: Sequence[bool]) -> bool:
    match node:
        case Read() | Const():
            return True
        case Apply(function="add" | "sub" | "mul" | "neg") | Guard() | Reduce(kind="sum"):
            return all(below)
        case Apply(function="pow", operands=(_, Const(value=n))):
            return below[0] and n >= 1
        case _:
            return False
