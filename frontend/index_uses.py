"""What tells the ranges of indices: reads of dimensions, and conditions that say what an index is.

A dimension that an index reads alone tells its size; one that it reads with something added, `x[i + k]`,
tells as much as keeps that in range. What is read alone goes first: beside it something added counts in the
same dimension only, as `ptr[v + 1]` beside `ptr[v]`. Nothing added counts where a condition or a bound may
keep it in range. `dst[e] = n` tells the range of n where it is read nowhere alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from tadc.frontend import syntax
from tadc.frontend.extents import Extent, as_form, extent
from tadc.frontend.scope import ProgramNames, ScopedSize, ScopedTensor
from tadc.frontend.source import Span
from tadc.frontend.tree import children
from tadc.lattice.affine import ZERO, Affine, at_least_zero
from tadc.lattice.late_dataclasses import dataclass, field
from tadc.lattice.polyhedron import implied

_Dimension: TypeAlias = tuple[str, int]


@dataclass(frozen=True)
class SizeCandidate:
    """A range that a read of a dimension tells: its size, where that is stated, and the read."""

    size: Extent
    stated: Span
    read: Span


@dataclass(frozen=True)
class _Reach:
    """A read of a dimension at a multiple of an index with something added, where these are bound."""

    dimension: _Dimension
    whole: SizeCandidate
    factor: int
    added: Affine
    bound: Mapping[str, Uses]

    @property
    def tells(self) -> bool:
        """Whether it tells a range: from `x[2*i]` and `x[10*j + i]` one could guess several."""
        return all(abs(k) == 1 for k in (self.factor, *map(self.added.coefficient, self._others())))

    def _others(self) -> list[str]:
        return [name for name in self.bound if self.added.coefficient(name)]

    def candidate(self) -> SizeCandidate | None:
        """The range in which it is in range; None where that is not known, or no range is."""
        end = self._end()
        if end is None:
            return None
        last = as_form(self.whole.size) - 1 - end if self.factor > 0 else end
        size = last.floordiv(abs(self.factor)) + 1
        if size.is_constant and size.constant < 0:
            return None
        return SizeCandidate(extent(size), self.whole.stated, self.whole.read)

    def _end(self) -> Affine | None:
        """The most that is added, to an index that is taken away the least; None where nothing is read."""
        lengths = [ends[1] - ends[0] for uses in self.bound.values() if (ends := uses.ends())]
        if any(length.is_constant and length.constant < 0 for length in lengths):
            return None
        end = self.added
        for name in self._others():
            ends = self.bound[name].ends()
            if ends is None:
                return None
            end = end.substitute({name: ends[(end.coefficient(name) > 0) == (self.factor > 0)]})
        return end


@dataclass
class Uses:
    """What tells the range of an index; `excused` if such a read is rejected for another reason."""

    #: The first and the last value, where they are stated.
    stated: tuple[Affine, Affine] | None = None
    #: Of each dimension that it reads alone.
    alone: dict[_Dimension, SizeCandidate] = field(default_factory=dict[_Dimension, SizeCandidate])
    #: What it reads else, whatever conditions say.
    reaches: list[_Reach] = field(default_factory=list[_Reach])
    #: Of index arrays with an element that a condition says this to be.
    elements: list[SizeCandidate] = field(default_factory=list[SizeCandidate])
    excused: bool = False
    #: The first reduction inside that binds an index of the same name.
    hidden_by: syntax.IndexSpec | None = None

    def ends(self) -> tuple[Affine, Affine] | None:
        """The first and the last value, where they are stated or dimensions tell them that are read alone."""
        sizes = {candidate.size for candidate in self.alone.values()}
        return self.stated or ((ZERO, as_form(sizes.pop()) - 1) if len(sizes) == 1 else None)

    def candidates(self) -> list[SizeCandidate]:
        """One for each size that is told."""
        told = {dimension: [candidate] for dimension, candidate in self.alone.items()}
        for reach in filter(lambda reach: reach.tells, self.reaches):
            if (reach.dimension in told or not self.alone) and (candidate := reach.candidate()):
                told.setdefault(reach.dimension, []).append(candidate)
        first: dict[Extent, SizeCandidate] = {}
        for candidate in (*(c for several in told.values() for c in self._least(several)), *self._said()):
            first.setdefault(candidate.size, candidate)
        return list(first.values())

    def _least(self, several: list[SizeCandidate]) -> list[SizeCandidate]:
        """The least of what a dimension tells; several where that hangs on sizes and it is not read alone."""
        kept = several[:1]
        for candidate in several[1:]:
            if is_least(candidate.size, [other.size for other in kept]):
                kept = [candidate]
            elif not self.alone and not any(is_least(other.size, [candidate.size]) for other in kept):
                kept.append(candidate)
        return kept

    def guess(self) -> Extent | None:
        """The size in which a read is in range that tells no range."""
        return next((found.size for reach in self.reaches if (found := reach.candidate())), None)

    def _said(self) -> list[SizeCandidate]:
        return [] if self.alone else self.elements


def is_least(size: Extent, others: Iterable[Extent]) -> bool:
    """Whether a size is none greater than others, whatever the symbols are from 1 on."""
    above = [as_form(other) - as_form(size) for other in others]
    return all(
        implied(form, [at_least_zero(Affine.var(name) - 1) for name in form.variables]) for form in above
    )


#: An expression, the uses of the indices that it sees, and which of them conditions around it may bound.
_Place: TypeAlias = tuple[syntax.Expr, Mapping[str, Uses], frozenset[str]]


class RangeUses:
    """The uses of every index of a definition: by name for its own, by node for those of sums."""

    def __init__(self, define: syntax.Define, names: ProgramNames) -> None:
        """A recurrence's reads of itself say nothing until its own ranges are known."""
        self.names = names
        self.own = {spec.name: Uses(self._stated(spec.size)) for spec in define.indices}
        self._sums: dict[int, tuple[Uses, ...]] = {}
        # An explicit stack, innermost left first: expressions may be deep.
        pending: list[_Place] = [(define.body, self.own, frozenset())]
        while pending:
            expr, bound, guarded = pending.pop()
            if _lacks_indices(expr, bound, names):
                for uses in bound.values():
                    uses.excused = True
            if isinstance(expr, syntax.Subscript):
                if define.order is None or expr.tensor != define.name or define.name in names.known:
                    self._collect(expr, bound, guarded)
            elif isinstance(expr, syntax.ReduceExpr):
                pending += [(e, bound, guarded) for e in reversed((*expr.lower, *expr.upper))]
                fresh = self._bind(expr, bound)
                bound, guarded = {**bound, **fresh}, guarded - fresh.keys()
                if expr.lower and not any(uses.stated for uses in fresh.values()):
                    guarded |= bound.keys()
            if isinstance(expr, syntax.ReduceExpr | syntax.IfExpr):
                for relation in expr.conditions:
                    _note_elements(relation, bound, names)
                    guarded |= _bounded(relation, bound)
            pending += [(child, bound, guarded) for child in reversed(_values_below(expr))]

    def _bind(self, node: syntax.ReduceExpr, bound: Mapping[str, Uses]) -> dict[str, Uses]:
        """New uses of the indices of a reduction, where others are bound."""
        ends = [_form(e, {}, self.names) for e in (*node.lower, *node.upper)]
        low, high = ends if len(ends) == 2 else (None, None)
        bounds = None if low is None or high is None else (low, high)
        fresh = {spec.name: Uses(bounds if node.lower else self._stated(spec.size)) for spec in node.indices}
        self._sums[id(node)] = tuple(fresh[spec.name] for spec in node.indices)
        for spec in node.indices:
            if (outer := bound.get(spec.name)) is not None:
                outer.hidden_by = outer.hidden_by or spec
        return fresh

    def _stated(self, size: syntax.Expr | None) -> tuple[Affine, Affine] | None:
        """The ends of a range whose size is stated."""
        form = None if size is None else _form(size, {}, self.names)
        return None if form is None else (ZERO, form - 1)

    def _collect(self, read: syntax.Subscript, bound: Mapping[str, Uses], guarded: frozenset[str]) -> None:
        """Note what a read tells of the indices in its brackets."""
        found = self.names.known.get(read.tensor)
        tensor = found.seen(read) if isinstance(found, ScopedTensor) else None
        for dimension, index in enumerate(read.indices):
            form = _form(index, bound, self.names) or ZERO
            spoken = form.variables & bound.keys()
            for name in spoken:
                added = form - Affine.var(name) * form.coefficient(name)
                is_alone = form == Affine.var(name)
                if tensor is None or len(tensor.shape) != len(read.indices):
                    bound[name].excused |= is_alone
                    continue
                place, dim = (tensor.name, dimension), tensor.dims[dimension]
                whole = SizeCandidate(tensor.shape[dimension], dim, read.span)
                if is_alone:
                    bound[name].alone.setdefault(place, whole)
                elif guarded.isdisjoint(spoken):
                    bound[name].reaches.append(_Reach(place, whole, form.coefficient(name), added, bound))

    def excuse(self) -> None:
        """Ranges that the reads do not tell may be stated where the text cannot be read."""
        for uses in self.own.values():
            uses.excused = True

    def of_sum(self, node: syntax.ReduceExpr) -> tuple[Uses, ...]:
        """The uses of the indices that a sum binds, in order."""
        return self._sums[id(node)]


def _lacks_indices(expr: syntax.Expr, bound: Mapping[str, Uses], names: ProgramNames) -> bool:
    """Whether a read is rejected since a dimension has no index: any index may be meant for it."""
    match expr:
        case syntax.Name() if expr.id not in bound:
            tensor, given = names.known.get(expr.id), 0
        case syntax.Subscript():
            tensor, given = names.known.get(expr.tensor), len(expr.indices)
            tensor = tensor.seen(expr) if isinstance(tensor, ScopedTensor) else None
        case _:
            return False
    return isinstance(tensor, ScopedTensor) and given < len(tensor.shape)


def _form(expr: syntax.Expr, bound: Mapping[str, Uses], names: ProgramNames) -> Affine | None:
    """The form of an expression of indices, sizes and integers; None for another one."""
    match expr:
        case syntax.Number(value=int(value)):
            return Affine.const(value)
        case syntax.Name(id=name) if name in bound:
            return Affine.var(name)
        case syntax.Name(id=name):
            size = names.known.get(name)
            return size.form if isinstance(size, ScopedSize) else None
        case syntax.Unary(operand=operand):
            form = _form(operand, bound, names)
            return None if form is None else -form
        case syntax.Binary(operator="+" | "-" | "*" as operator, lhs=lhs, rhs=rhs):
            left, right = _form(lhs, bound, names), _form(rhs, bound, names)
            if left is None or right is None:
                return None
            if operator == "*":
                number, form = (left, right) if left.is_constant else (right, left)
                return form * number.constant if number.is_constant else None
            return left + right if operator == "+" else left - right
        case _:
            return None


def _bounded(relation: syntax.RelationExpr, bound: Iterable[str]) -> frozenset[str]:
    """The indices that a relation may bound: those outside of brackets; all where it reads nothing."""
    found, pending, reads = set[str](), list[syntax.Node]([relation]), False
    while pending:
        node = pending.pop()
        reads = reads or isinstance(node, syntax.Subscript)
        if isinstance(node, syntax.Name):
            found.add(node.id)
        elif not isinstance(node, syntax.Subscript):
            pending += [below for _, below in children(node)]
    return frozenset(found if reads else bound)


def _note_elements(relation: syntax.RelationExpr, bound: Mapping[str, Uses], names: ProgramNames) -> None:
    """Note that an index is an element of an index array, as n is where `dst[e] = n`."""
    sides = relation.lhs, relation.rhs
    for index, read in (sides, sides[::-1]):
        uses = bound.get(index.id) if isinstance(index, syntax.Name) and relation.operator == "=" else None
        tensor = names.known.get(read.tensor) if isinstance(read, syntax.Subscript) else None
        if uses is not None and isinstance(tensor, ScopedTensor) and tensor.below is not None:
            uses.elements.append(SizeCandidate(tensor.below, tensor.span, read.span))


def _values_below(expr: syntax.Expr) -> tuple[syntax.Expr, ...]:
    """The operands of an expression that may hold reads, but for the bounds of a reduction."""
    match expr:
        case syntax.Subscript():
            return expr.indices
        case syntax.Unary():
            return (expr.operand,)
        case syntax.Binary():
            return (expr.lhs, expr.rhs)
        case syntax.CallExpr():
            return expr.arguments
        case syntax.ReduceExpr():
            return (*_sides(expr.conditions), expr.body)
        case syntax.IfExpr():
            return (*_sides(expr.conditions), expr.then, expr.otherwise)
        case syntax.SelectExpr():
            return (expr.condition.lhs, expr.condition.rhs, expr.then, expr.otherwise)
        case _:
            return ()


def _sides(relations: Sequence[syntax.RelationExpr]) -> list[syntax.Expr]:
    return [side for relation in relations for side in (relation.lhs, relation.rhs)]
