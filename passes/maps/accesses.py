"""What a map's body does, piece by piece: reads with the stride of each index, operations, loops."""

from __future__ import annotations

from collections import ChainMap, Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from tadc.dialect.index_maps import parse_set
from tadc.dialect.mlir import ir
from tadc.lattice.affine import ZERO, Affine, Constraint
from tadc.passes.maps.operand_forms import over, subscripts
from tadc.passes.maps.tile_values import all_yielded, factors, is_reduction, owner
from tadc.passes.terms.costs import LARGE, extent
from tadc.passes.terms.index_ranges import Range, ranges_within

IRREGULAR = None
"""The stride of an index that moves an address by no fixed distance."""


@dataclass(frozen=True)
class Read:
    """One element read; `strides` in elements, for indices that the address depends on.

    It is `direct` where no guard of the loop's body stands around it. The indices of reductions move it by
    `step` elements at least; 0 if none does, or by no fixed distance.
    """

    op: Any
    strides: Mapping[str, int | None]
    direct: bool
    step: int = 0

    @cached_property
    def names(self) -> frozenset[str]:
        """The indices that it depends on."""
        return frozenset(self.strides)


@dataclass(frozen=True)
class Operation:
    """An operation on scalars."""

    name: str
    names: frozenset[str]


@dataclass
class Loop:
    """A body: the map's, with trips of 1, or that of a reduction. Loops inside are `inner`."""

    op: Any
    binders: Sequence[str] = ()
    trips: Sequence[int] = ()
    result: frozenset[str] = frozenset()
    """The indices from outside that the result depends on."""
    domain: frozenset[str] = frozenset()
    """Those that the domain depends on."""
    bounds: frozenset[str] = frozenset()
    """Those by which the bounds of the loops differ, where the map's index runs in its full part."""
    is_box: bool = True
    """Whether no bound of an index depends on another of them."""
    results: int = 1
    """How many values it gives."""
    additions: int = 1
    """How many of those add up, or compare, what is no product, which would be added in one step."""
    moved: Affine = ZERO
    """How far the indices of the map move the innermost binder: its values are counted from there."""
    is_counted: bool = True
    """Whether its values can be counted from the lower one of its closest bounds, by `counted_from`."""
    direct: bool = True
    """Whether no guard of the body around it stands around it."""
    reads: list[Read] = field(default_factory=list[Read])
    operations: list[Operation] = field(default_factory=list[Operation])
    inner: list[Loop] = field(default_factory=list["Loop"])

    @cached_property
    def counts(self) -> Mapping[Operation, int]:
        """How often each operation stands in the body, all of it being known."""
        return Counter(self.operations)

    @property
    def size(self) -> int:
        """The operations of this and the inner ones."""
        return len(self.reads) + len(self.operations) + sum(4 + loop.size for loop in self.inner)

    def below(self) -> Iterable[Loop]:
        """This and the inner ones at any depth."""
        yield self
        for loop in self.inner:
            yield from loop.below()


class Accesses:
    """The pieces of a map's body. An index of the map whose loop runs by residue counts its groups."""

    def __init__(
        self, op: Any, sizes: Sequence[Affine], factors: Sequence[int], outer: Mapping[Any, Affine]
    ) -> None:
        block = op.regions[0].blocks[0]
        self.known: frozenset[str] = frozenset(v for form in outer.values() for v in form.variables)
        self.known |= {name for size in sizes for name in size.variables}
        self.forms: dict[Any, Affine] = {}
        self.known_forms: Mapping[Any, Affine] = ChainMap(self.forms, dict(outer))
        self.deps: dict[Any, frozenset[str]] = {}
        self.ranges: dict[str, Range | None] = {}
        self.names = [f"b{n}" for n in range(len(sizes))]
        self.count = len(sizes)
        self.tensors = len(op.results)
        for name, argument, size, factor in zip(self.names, block.arguments, sizes, factors, strict=True):
            self.forms[argument] = Affine.var(name) * factor
            self.deps[argument] = frozenset([name])
            self.ranges[name] = Range(Affine.const(0), size.floordiv(factor) - 1)
        self.widest = max(_bytes(result.type.element_type) for result in op.results)
        self.body = Loop(op)
        self.guards = 0
        self.region(block, self.body)

    def extent(self, name: str) -> int:
        """About how many values an index takes."""
        return extent(self.ranges[name])

    def region(self, block: Any, loop: Loop) -> frozenset[str]:
        """Take in a region; what its value depends on."""
        operations = [op.operation for op in block.operations]
        for op in operations[:-1]:
            self.operation(op, loop)
        return self.union(operations[-1].operands)

    def union(self, values: Iterable[Any]) -> frozenset[str]:
        """What one of some values depends on."""
        return frozenset[str]().union(*(self.deps.get(value, frozenset()) for value in values))

    def operation(self, op: Any, loop: Loop) -> None:
        """Take in an operation."""
        result = op.results[0]
        names = self.union(op.operands)
        if op.name == "tad.index":
            self.forms[result] = subscripts(op, op.operands, self.known_forms)[0]
            names = self.forms[result].variables & frozenset(self.ranges)
        elif op.name == "tad.read":
            read = self.read(op)
            loop.reads.append(read)
            names = read.names
            self.widest = max(self.widest, _bytes(result.type))
        elif is_reduction(op):
            names = self.reduction(op, loop)
        elif op.name == "tad.guard":
            loop.operations.append(Operation(op.name, names))
            self.guards += 1
            for region in op.regions:
                names |= self.region(region.blocks[0], loop)
            self.guards -= 1
        elif op.name != "arith.constant":
            loop.operations.append(Operation(_name(op), names))
        self.deps |= dict.fromkeys(op.results, names)

    def unshared(self, name: str, rows: Sequence[Constraint]) -> frozenset[str]:
        """The indices with which the bounds of a binder move, but not all alike.

        Those that are no closest ones do not count: a split leaves them to the boundary.
        """
        pair = _pair(name, rows)
        forms = pair or tuple(f for row in rows for f in row.inequalities if name in f.variables)
        if pair is not None:
            shift = shift_of(name, rows, self.names)
            forms = tuple(f + shift * f.coefficient(name) for f in pair)
        return frozenset(v for form in forms for v in form.variables) & frozenset(self.ranges)

    def read(self, op: Any) -> Read:
        """A read with the strides of its indices."""
        forms = subscripts(op, list(op.operands)[1:], self.known_forms)
        shape = [LARGE if n < 0 else n for n in _shape(op.operands[0].type)]
        strides: dict[str, int | None] = {}
        for name in sorted(frozenset[str]().union(*(f.variables for f in forms)) & frozenset(self.ranges)):
            total: int | None = 0
            step = 1
            for form, size in zip(reversed(forms), reversed(shape), strict=True):
                k = form.coefficient(name)
                if name in (form - Affine.var(name) * k).variables:
                    total = IRREGULAR
                    break
                total += k * step
                step *= size
            strides[name] = total
        inner = [abs(k or 0) for name, k in strides.items() if name not in self.names]
        return Read(op, strides, not self.guards, min(inner, default=0))

    def reduction(self, op: Any, loop: Loop) -> frozenset[str]:
        """Take in a reduction; what its result depends on."""
        block = op.regions[0].blocks[0]
        binders = tuple(f"b{self.count + n}" for n in range(len(block.arguments)))
        self.count += len(binders)
        found = parse_set(str(op.attributes["domain"]))
        mapping = {f"d{i}": Affine.var(name) for i, name in enumerate(binders)}
        forms = [row.form.substitute(mapping) for row in found.constraints]
        forms = over(op.operands, "s", forms, self.known_forms)
        rows = [Constraint(f, row.equality) for f, row in zip(forms, found.constraints, strict=True)]
        self.ranges |= ranges_within(binders, rows, self.ranges, self.known)
        for name, argument in zip(binders, block.arguments, strict=True):
            moved = shift_of(name, rows, self.names)
            self.forms[argument] = Affine.var(name) + moved
            self.deps[argument] = frozenset([name, *moved.variables])
        trips = tuple(min(extent(self.ranges[name]), _distance(name, rows)) for name in binders)
        bounds = frozenset(v for name in binders for v in self.unshared(name, rows)) - set(binders)
        domain = frozenset(v for row in rows for v in row.form.variables) & frozenset(self.ranges)
        inner = Loop(op, binders, trips, domain=domain - set(binders), bounds=bounds)
        inner.results = len(op.results)
        inner.additions = sum(op.name == "tad.reduce" or not factors(owner(v)) for v in all_yielded(block))
        inner.direct = not self.guards
        inner.moved = shift_of(binders[-1], rows, self.names) if binders else ZERO
        inner.is_counted = bool(binders) and counted_from(binders[-1], rows) is not None
        inner.is_box = all(len(row.form.variables & set(binders)) < 2 for row in rows)
        loop.inner.append(inner)
        inner.result = (self.region(block, inner) | inner.domain) - set(binders)
        return inner.result


def _pair(name: str, rows: Sequence[Constraint]) -> tuple[Affine, Affine] | None:
    """The lower and the upper bound that are closest, of those that move together."""
    forms = [form for row in rows for form in row.inequalities]
    lower = [form for form in forms if form.coefficient(name) > 0]
    upper = [form for form in forms if form.coefficient(name) < 0]
    best: tuple[float, Affine, Affine] | None = None
    for low in lower:
        for high in upper:
            j, k = low.coefficient(name), -high.coefficient(name)
            distance = low * k + high * j
            if distance.is_constant and (best is None or distance.constant / (j * k) < best[0]):
                best = distance.constant / (j * k), low, high
    return None if best is None else (best[1], best[2])


def counted_from(name: str, rows: Sequence[Constraint]) -> tuple[Affine, int | None] | None:
    """The first value of an index by the closest bounds that move together, and the number of values; 0 and
    None where none do.

    None where that is no linear form. It is that of an element, whatever more is known where it is computed.
    """
    pair = _pair(name, rows)
    if pair is None:
        return ZERO, None
    low, high = pair
    if (low.coefficient(name), high.coefficient(name)) != (1, -1) or not low.is_linear:
        return None
    return Affine.var(name) - low, (low + high).constant + 1


def shift_of(name: str, rows: Sequence[Constraint], own: Sequence[str]) -> Affine:
    """How far the closest bounds of an index move with some indices, where by whole steps."""
    pair = _pair(name, rows)
    if pair is None:
        return ZERO
    low, k = pair[0], pair[0].coefficient(name)
    moves = {index: -low.coefficient(index) for index in own if low.coefficient(index)}
    whole = all(move % k == 0 for move in moves.values())
    return Affine.of({index: move // k for index, move in moves.items()}, 0) if whole else ZERO


def _distance(name: str, rows: Sequence[Constraint]) -> int:
    """The most values between a lower and an upper bound that move together."""
    pair = _pair(name, rows)
    if pair is None:
        return LARGE**3
    j, k = pair[0].coefficient(name), -pair[1].coefficient(name)
    return max(0, (pair[0] * k + pair[1] * j).constant // (j * k) + 1)


def _name(op: Any) -> str:
    """The name of an operation; that of the function for one of ours."""
    return ir.StringAttr(op.attributes["fn"]).value if op.name == "tad.apply" else op.name


def _shape(type: Any) -> list[int]:
    """The extents of a tensor, below 0 where they are not known."""
    return [type.get_dim_size(d) if not type.is_dynamic_dim(d) else -1 for d in range(type.rank)]


def _bytes(type: Any) -> int:
    """The bytes of a float type."""
    return type.width // 8
