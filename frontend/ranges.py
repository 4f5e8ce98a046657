"""Ranges of indices, inferred from where an index stands alone as the index of a dimension."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from tadc.frontend import syntax
from tadc.frontend.diagnostics import Diagnostic
from tadc.frontend.extents import Extent, extent_text
from tadc.frontend.report import Rejected, error
from tadc.frontend.scope import Names, Tensor
from tadc.frontend.source import Span

#: Different ranges that one error shows.
_SHOWN = 4
_SAME = "or declare both with one size symbol, if they are always equal"


@dataclass(frozen=True)
class Candidate:
    """A dimension that an index reads alone: its size, where it is stated, and the read."""

    size: Extent
    stated: Span
    read: Span


@dataclass
class Uses:
    """Where an index stands alone; `excused` if such a read is rejected for another reason."""

    candidates: list[Candidate] = field(default_factory=list[Candidate])
    excused: bool = False
    #: An index array with an element that a condition says this to be.
    element_of: Tensor | None = None
    #: The first reduction inside that binds an index of the same name.
    hidden_by: syntax.IndexSpec | None = None

    def add(self, tensor: Tensor | None, dimension: int, read: syntax.Subscript) -> None:
        """Add a read of one dimension."""
        if tensor is None or len(tensor.shape) != len(read.indices):
            self.excused = True
        else:
            stated = tensor.dims[dimension]
            self.candidates.append(Candidate(tensor.shape[dimension], stated, read.span))


class RangeUses:
    """The uses of every index of a definition: by name for its own, by node for those of sums."""

    def __init__(self, define: syntax.Define, names: Names) -> None:
        """A recurrence's reads of itself say nothing until its own ranges are known."""
        self.own = {spec.name: Uses() for spec in define.indices}
        self._sums: dict[int, tuple[Uses, ...]] = {}
        # An explicit stack, innermost left first: expressions may be deep.
        pending: list[tuple[syntax.Expr, Mapping[str, Uses]]] = [(define.body, self.own)]
        while pending:
            expr, bound = pending.pop()
            if _lacks_indices(expr, bound, names):
                for uses in bound.values():
                    uses.excused = True
            if isinstance(expr, syntax.Subscript):
                if define.order is None or expr.tensor != define.name or define.name in names.known:
                    _collect(expr, bound, names)
            elif isinstance(expr, syntax.Reduce):
                fresh = {spec.name: Uses() for spec in expr.indices}
                self._sums[id(expr)] = tuple(fresh[spec.name] for spec in expr.indices)
                for spec in expr.indices:
                    if (outer := bound.get(spec.name)) is not None:
                        outer.hidden_by = outer.hidden_by or spec
                pending += [(e, bound) for e in reversed((*expr.lower, *expr.upper))]
                bound = {**bound, **fresh}
            if isinstance(expr, syntax.Reduce | syntax.If):
                for relation in expr.conditions:
                    _note_elements(relation, bound, names)
            pending += [(child, bound) for child in reversed(_values_below(expr))]

    def excuse(self) -> None:
        """Ranges that the reads do not tell may be stated where the text cannot be read."""
        for uses in self.own.values():
            uses.excused = True

    def of_sum(self, node: syntax.Reduce) -> tuple[Uses, ...]:
        """The uses of the indices that a sum binds, in order."""
        return self._sums[id(node)]


def _lacks_indices(expr: syntax.Expr, bound: Mapping[str, Uses], names: Names) -> bool:
    """Whether a read is rejected since a dimension has no index: any index may be meant for it."""
    match expr:
        case syntax.Name() if expr.id not in bound:
            tensor, given = names.known.get(expr.id), 0
        case syntax.Subscript():
            tensor, given = names.known.get(expr.tensor), len(expr.indices)
            tensor = tensor.seen(expr) if isinstance(tensor, Tensor) else None
        case _:
            return False
    return isinstance(tensor, Tensor) and given < len(tensor.shape)


def _collect(read: syntax.Subscript, bound: Mapping[str, Uses], names: Names) -> None:
    for dimension, index in enumerate(read.indices):
        uses = bound.get(index.id) if isinstance(index, syntax.Name) else None
        if uses is not None:
            tensor = names.known.get(read.tensor)
            uses.add(tensor.seen(read) if isinstance(tensor, Tensor) else None, dimension, read)


def _note_elements(relation: syntax.Relation, bound: Mapping[str, Uses], names: Names) -> None:
    """Note that an index is an element of an index array, as n is where `dst[e] = n`."""
    sides = relation.lhs, relation.rhs
    for index, read in (sides, sides[::-1]):
        uses = bound.get(index.id) if isinstance(index, syntax.Name) and relation.operator == "=" else None
        tensor = names.known.get(read.tensor) if isinstance(read, syntax.Subscript) else None
        if uses is not None and isinstance(tensor, Tensor) and tensor.below is not None:
            uses.element_of = uses.element_of or tensor


def _values_below(expr: syntax.Expr) -> tuple[syntax.Expr, ...]:
    """The operands of an expression that may hold reads, but for the bounds of a reduction."""
    match expr:
        case syntax.Subscript():
            return expr.indices
        case syntax.Unary():
            return (expr.operand,)
        case syntax.Binary():
            return (expr.lhs, expr.rhs)
        case syntax.Call():
            return expr.arguments
        case syntax.Reduce():
            return (*_sides(expr.conditions), expr.body)
        case syntax.If():
            return (*_sides(expr.conditions), expr.then, expr.otherwise)
        case syntax.Select():
            return (expr.condition.lhs, expr.condition.rhs, expr.then, expr.otherwise)
        case _:
            return ()


def _sides(relations: Sequence[syntax.Relation]) -> list[syntax.Expr]:
    return [side for relation in relations for side in (relation.lhs, relation.rhs)]


def inferred_size(name: str, span: Span, uses: Uses, text: Callable[[Span], str], kind: str = "") -> Extent:
    """The size of an index without a stated range, of a reduction where its `kind` is given.

    Raises Rejected where there is none or several, silently if the reads that would tell are rejected.
    """
    first: dict[Extent, Candidate] = {}
    for candidate in uses.candidates:
        first.setdefault(candidate.size, candidate)
    if len(first) > 1:
        raise Rejected(_disagreement(name, span, list(first.values()), text, kind))
    if first:
        return next(iter(first))
    if uses.excused:
        raise Rejected
    if (other := uses.hidden_by) is not None:
        raise Rejected(_hidden(name, span, other))
    how = f"`{kind}{{{name}}}_0^4 (…)` or `{kind}{{{name}: 5}} (…)`" if kind else f"`{name}: 5`"
    raise Rejected(
        error(
            "TAD0306",
            f"index `{name}` has no range",
            span,
            f"`{name}` stands alone in no read",
            notes=[
                "a range is inferred where an index alone reads a dimension, as in `x[i]` and not `x[i + 1]`"
            ],
            helps=[_stated(name, kind, uses.element_of) or f"state it, for example {how}"],
        )
    )


def _stated(name: str, kind: str, array: Tensor | None) -> str:
    """The range of an index that a condition says to be an element of an array."""
    if array is None or array.below is None:
        return ""
    range = f"{name}: {extent_text(array.below)}"
    how = f"{kind}{{{range}}} (…)" if kind else range
    return f"state it: `{how}`, as `{array.name}` has elements below {extent_text(array.below)}"


def _hidden(name: str, span: Span, other: syntax.IndexSpec) -> Diagnostic:
    free = next(letter for letter in "jklmn" if letter != name)
    return error(
        "TAD0306",
        f"index `{name}` has no range",
        span,
        f"nothing reads this `{name}`",
        secondary=[(other.span, f"another index `{name}`, which hides it inside")],
        helps=[f"give one of them another name, as `{free}`, or leave the first out if all is to be reduced"],
    )


def _disagreement(
    name: str, span: Span, found: list[Candidate], text: Callable[[Span], str], kind: str
) -> Diagnostic:
    # The least is in range for every one of the reads, where it is known which that is.
    known = [candidate.size for candidate in found if isinstance(candidate.size, int)]
    size = min(known) if len(known) == len(found) else found[0].size
    stated = f"{kind}{{{name}}}_0^{size - 1} (…)" if kind and known and size else f"{name}: {size}"
    count = "two" if len(found) == 2 else str(len(found))
    return error(
        "TAD0305",
        f"cannot infer one range for index `{name}`",
        span,
        f"`{name}` has {count} candidate ranges",
        secondary=[(c.stated, f"{interval_text(c.size)} from `{text(c.read)}`") for c in found[:_SHOWN]],
        helps=[f"give the range: `{stated}`"] + ([] if len(known) == len(found) else [_SAME]),
    )


def interval_text(size: Extent) -> str:
    """The values of an index of this size."""
    return f"0..{extent_text(size - 1)}" if size else "no values"
