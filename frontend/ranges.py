"""Ranges of indices, inferred from where an index stands alone as the index of a dimension.

A dimension tells its size, and one that is read with something added too, as `ptr[v + 1]` beside `ptr[v]`,
where both are in range. Below a condition or a bound that compares the index, what is read with something
added tells nothing: that may keep it in range. Where an index is read nowhere alone, `dst[e] = n` tells the
range of n.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from tadc.frontend import syntax
from tadc.frontend.diagnostics import Diagnostic
from tadc.frontend.extents import Extent, as_form, extent, extent_text, is_static
from tadc.frontend.report import Rejected, error
from tadc.frontend.scope import Names, Size, Tensor
from tadc.frontend.size_conditions import not_negative
from tadc.frontend.source import Span
from tadc.frontend.tree import children
from tadc.lattice.affine import ZERO, Affine
from tadc.lattice.polyhedron import implied

#: Different ranges that one error shows.
_SHOWN = 4
_SAME = "or declare both with one size symbol, if they are always equal"


@dataclass(frozen=True)
class Candidate:
    """A range that a read of a dimension tells: its size, where that is stated, and the read."""

    size: Extent
    stated: Span
    read: Span


@dataclass
class Uses:
    """What tells the range of an index; `excused` if such a read is rejected for another reason."""

    #: Of each dimension that it reads alone, by tensor and number.
    alone: dict[tuple[str, int], Candidate] = field(default_factory=dict[tuple[str, int], Candidate])
    #: Of dimensions that it reads with something added, whatever conditions say.
    shifted: list[tuple[tuple[str, int], Candidate]] = field(
        default_factory=list[tuple[tuple[str, int], Candidate]]
    )
    #: Of index arrays with an element that a condition says this to be.
    elements: list[Candidate] = field(default_factory=list[Candidate])
    excused: bool = False
    #: The first reduction inside that binds an index of the same name.
    hidden_by: syntax.IndexSpec | None = None

    def add(self, tensor: Tensor | None, dimension: int, read: syntax.Subscript, shift: Affine) -> None:
        """Add a read of one dimension, with something added."""
        if tensor is None or len(tensor.shape) != len(read.indices):
            self.excused |= shift == ZERO
            return
        size = extent(as_form(tensor.shape[dimension]) - shift)
        place, candidate = (tensor.name, dimension), Candidate(size, tensor.dims[dimension], read.span)
        if shift == ZERO:
            self.alone.setdefault(place, candidate)
        elif not isinstance(size, int) or size >= 0:
            self.shifted.append((place, candidate))

    def candidates(self) -> list[Candidate]:
        """One for each size that is told."""
        told = dict(self.alone)
        for place, candidate in self.shifted:
            if place in told and _is_least(candidate.size, [told[place].size]):
                told[place] = candidate
        first: dict[Extent, Candidate] = {}
        for candidate in told.values() or self.elements:
            first.setdefault(candidate.size, candidate)
        return list(first.values())


def _is_least(size: Extent, others: Iterable[Extent]) -> bool:
    """Whether a size is none greater than others, whatever the symbols are."""
    above = [as_form(other) - as_form(size) for other in others]
    return all(implied(form, not_negative(form.variables)) for form in above)


#: An expression, the uses of the indices that it sees, and those of these that conditions around it compare.
_Place: TypeAlias = "tuple[syntax.Expr, Mapping[str, Uses], frozenset[str]]"


class RangeUses:
    """The uses of every index of a definition: by name for its own, by node for those of sums."""

    def __init__(self, define: syntax.Define, names: Names) -> None:
        """A recurrence's reads of itself say nothing until its own ranges are known."""
        self.own = {spec.name: Uses() for spec in define.indices}
        self._sums: dict[int, tuple[Uses, ...]] = {}
        # An explicit stack, innermost left first: expressions may be deep.
        pending: list[_Place] = [(define.body, self.own, frozenset())]
        while pending:
            expr, bound, compared = pending.pop()
            if _lacks_indices(expr, bound, names):
                for uses in bound.values():
                    uses.excused = True
            if isinstance(expr, syntax.Subscript):
                if define.order is None or expr.tensor != define.name or define.name in names.known:
                    _collect(expr, bound, compared, names)
            elif isinstance(expr, syntax.Reduce):
                pending += [(e, bound, compared) for e in reversed((*expr.lower, *expr.upper))]
                bound = {**bound, **self._bind(expr, bound)}
                compared = compared.difference(spec.name for spec in expr.indices)
                compared |= _outside_brackets((*expr.lower, *expr.upper))
            if isinstance(expr, syntax.Reduce | syntax.If):
                for relation in expr.conditions:
                    _note_elements(relation, bound, names)
                compared |= _outside_brackets(expr.conditions)
            pending += [(child, bound, compared) for child in reversed(_values_below(expr))]

    def _bind(self, node: syntax.Reduce, bound: Mapping[str, Uses]) -> dict[str, Uses]:
        """New uses of the indices of a reduction, where others are bound."""
        fresh = {spec.name: Uses() for spec in node.indices}
        self._sums[id(node)] = tuple(fresh[spec.name] for spec in node.indices)
        for spec in node.indices:
            if (outer := bound.get(spec.name)) is not None:
                outer.hidden_by = outer.hidden_by or spec
        return fresh

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


def _collect(
    read: syntax.Subscript, bound: Mapping[str, Uses], compared: frozenset[str], names: Names
) -> None:
    tensor = names.known.get(read.tensor)
    for dimension, index in enumerate(read.indices):
        name, shift = _shifted(index, bound, names) or ("", ZERO)
        if name and (shift == ZERO or name not in compared):
            seen = tensor.seen(read) if isinstance(tensor, Tensor) else None
            bound[name].add(seen, dimension, read, shift)


def _shifted(expr: syntax.Expr, bound: Mapping[str, Uses], names: Names) -> tuple[str, Affine] | None:
    """The index and what is added to it, of `i`, `i + 1` and `M + i - 2`."""
    match expr:
        case syntax.Name(id=name):
            return (name, ZERO) if name in bound else None
        case syntax.Binary(operator="+" | "-" as sign, lhs=lhs, rhs=other):
            found = _shifted(lhs, bound, names)
            if found is None and sign == "+":
                found, other = _shifted(other, bound, names), lhs
            added = _number(other, bound, names)
            if found is None or added is None:
                return None
            return found[0], found[1] + (added if sign == "+" else -added)
        case _:
            return None


def _number(expr: syntax.Expr, bound: Mapping[str, Uses], names: Names) -> Affine | None:
    """An integer or a size."""
    match expr:
        case syntax.Number(value=int(value)):
            return Affine.const(value)
        case syntax.Name(id=name) if name not in bound:
            size = names.known.get(name)
            return size.form if isinstance(size, Size) else None
        case _:
            return None


def _outside_brackets(nodes: Iterable[syntax.Node]) -> frozenset[str]:
    """The names that stand in some nodes, but for those in the brackets of a read."""
    found, pending = set[str](), list(nodes)
    while pending:
        node = pending.pop()
        if isinstance(node, syntax.Name):
            found.add(node.id)
        elif not isinstance(node, syntax.Subscript):
            pending += [below for _, below in children(node)]
    return frozenset(found)


def _note_elements(relation: syntax.Relation, bound: Mapping[str, Uses], names: Names) -> None:
    """Note that an index is an element of an index array, as n is where `dst[e] = n`."""
    sides = relation.lhs, relation.rhs
    for index, read in (sides, sides[::-1]):
        uses = bound.get(index.id) if isinstance(index, syntax.Name) and relation.operator == "=" else None
        tensor = names.known.get(read.tensor) if isinstance(read, syntax.Subscript) else None
        if uses is not None and isinstance(tensor, Tensor) and tensor.below is not None:
            uses.elements.append(Candidate(tensor.below, tensor.span, read.span))


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
    found = uses.candidates()
    if len(found) > 1:
        raise Rejected(_disagreement(name, span, found, text, kind))
    if found:
        return found[0].size
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
            helps=[f"state it, for example {how}"],
        )
    )


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
    sizes = [candidate.size for candidate in found]
    size = next((size for size in sizes if _is_least(size, sizes)), sizes[0])
    stated = f"{kind}{{{name}: {extent_text(size)}}} (…)" if kind else f"{name}: {extent_text(size)}"
    count = "two" if len(found) == 2 else str(len(found))
    return error(
        "TAD0305",
        f"cannot infer one range for index `{name}`",
        span,
        f"`{name}` has {count} candidate ranges",
        secondary=[(c.stated, f"{interval_text(c.size)} from `{text(c.read)}`") for c in found[:_SHOWN]],
        helps=[f"give the range: `{stated}`"] + ([] if is_static(sizes) else [_SAME]),
    )


def interval_text(size: Extent) -> str:
    """The values of an index of this size."""
    return f"0..{extent_text(size - 1)}" if size else "no values"
