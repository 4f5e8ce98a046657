"""Whether outputs are infinite or NaN wherever a term is 0, as a divisor or what there is a logarithm of.

What is infinite there passes through sums, products and roots; `exp`, quotients and choices may make a finite
number of it. Where no output is finite there is no derivative that could be wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import Enum

from tadc.frontend.program import Program
from tadc.frontend.terms import Apply, Const, Guard, Read, Reduce, Select, Term, bottom_up
from tadc.passes.terms.products import product_of


class There(Enum):
    """What a term is where another is 0: as elsewhere, 0, infinite or NaN, that or 0, anything."""

    ELSEWHERE = 0
    ZERO = 1
    BAD = 2
    EXTREME = 3
    ANYTHING = 4


ELSEWHERE, ZERO, BAD, EXTREME, ANYTHING = There


def is_spoiled(program: Program, divisor: Term, are_apart: Callable[[Read, Read], bool]) -> bool:
    """Whether all outputs that depend on it are infinite or NaN where a factor of a divisor is 0."""
    factors = [f for f in product_of(divisor).over if not isinstance(f, Const)]
    return bool(factors) and all(_Spoiled(program, f, are_apart).outputs() for f in factors)


class _Spoiled:
    """One factor that is 0."""

    def __init__(self, program: Program, zero: Term, are_apart: Callable[[Read, Read], bool]) -> None:
        self.program, self.zero, self.are_apart = program, zero, are_apart
        self.tensors: dict[str, There] = {}
        self.known: dict[int, There] = {}
        self.shapes: dict[int, object] = {}
        self.shape = self._shape(zero)

    def outputs(self) -> bool:
        """Whether all outputs that depend on what is divided by it are infinite or NaN."""
        for definition in self.program.definitions:
            found = bottom_up(definition.body, self.known, self._node)
            self.tensors[definition.name] = found
        found = {self.tensors[d.name] for d in self.program.definitions if d.is_output}
        return BAD in found and found <= {BAD, ELSEWHERE}

    def _shape(self, term: Term) -> object:
        """The term but for its indices."""

        def shape(node: Term, below: Sequence[object]) -> object:
            match node:
                case Read(tensor=tensor):
                    return tensor
                case Apply(function=function):
                    return (function, *below)
                case Const(value=value):
                    return value
                case _:
                    return (type(node).__name__, *below)

        return bottom_up(term, self.shapes, shape)

    def _is_zero(self, node: Term) -> bool:
        if type(node) is not type(self.zero) or self._shape(node) != self.shape:
            return False
        return not (
            isinstance(node, Read) and isinstance(self.zero, Read) and self.are_apart(node, self.zero)
        )

    def _node(self, node: Term, below: Sequence[There]) -> There:
        if self._is_zero(node):
            return ZERO
        match node:
            case Read(tensor=tensor):
                return self.tensors.get(tensor, ELSEWHERE)
            case Const(value=0):
                return ZERO
            case Guard():
                return BAD if BAD in below else _joined(below)
            case Reduce(kind=kind):
                return self._reduced(kind, below[0])
            case Apply():
                return _applied(node, below)
            case Select():
                return _joined(below[2:])
            case _:
                return ELSEWHERE

    def _reduced(self, kind: str, body: There) -> There:
        """Of elements of which all are alike, or one alone, if the divisor has an index."""
        if body is ELSEWHERE or (body is BAD and kind in ("sum", "prod")):
            return body
        if self.zero.free or (kind not in ("sum", "prod") and body is not BAD):
            return ANYTHING
        return body


def _joined(below: Sequence[There]) -> There:
    """One of these."""
    found = set(below)
    if len(found) <= 1:
        return found.pop() if found else ELSEWHERE
    return EXTREME if found == {ZERO, EXTREME} else ELSEWHERE if found == {ZERO, ELSEWHERE} else ANYTHING


def _applied(node: Apply, below: Sequence[There]) -> There:
    if all(b is ELSEWHERE for b in below):
        return ELSEWHERE
    match node.function, below:
        case (("add" | "sub"), _):
            return BAD if BAD in below else _joined(below)
        case "safe", [x, _] if x is ZERO:
            return ZERO
        case (("mul" | "safe"), _):
            return _product(below)
        case "div", [x, y]:
            # Of what may be 0 or infinite, as both sums of a softmax, 0 over infinity is the one finite case.
            return BAD if x is y is EXTREME else _product((x, INVERSE[y]))
        case "pow", [x, _] if isinstance(node.operands[1], Const):
            return x if node.operands[1].value > 0 else INVERSE[x]
        case function, [x]:
            return FUNCTIONS.get(function, {}).get(x, ANYTHING)
        case _:
            return ANYTHING


def _product(below: Sequence[There]) -> There:
    if BAD in below:
        return BAD
    if ANYTHING in below:
        return ANYTHING
    return ZERO if EXTREME not in below else EXTREME


INVERSE: Mapping[There, There] = {
    ELSEWHERE: ELSEWHERE,
    ZERO: BAD,
    BAD: EXTREME,
    EXTREME: EXTREME,
    ANYTHING: ANYTHING,
}
_ODD = {ZERO: ZERO, BAD: BAD, EXTREME: EXTREME}
_WAVE = {ZERO: ANYTHING, BAD: BAD}
_LOGARITHM, _EXPONENTIAL = {ZERO: BAD, BAD: BAD, EXTREME: BAD}, {BAD: EXTREME}
FUNCTIONS: Mapping[str, Mapping[There, There]] = {
    **dict.fromkeys(("neg", "sqrt", "cbrt", "abs", "sinh", "asinh", "sin", "tan", "asin", "atanh"), _ODD),
    **dict.fromkeys(("cos", "cosh", "acos", "acosh", "floor", "ceil", "log1p"), _WAVE),
    **dict.fromkeys(("log", "log2", "log10"), _LOGARITHM),
    **dict.fromkeys(("exp", "exp2"), _EXPONENTIAL),
}
