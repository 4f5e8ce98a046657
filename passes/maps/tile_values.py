"""Values of a map's body at all points of a tile at once.

A tile is a box of elements: lanes along one index, and copies along some. Forms of indices hold
the variables of the tile; a value that does not depend on one is made once for all of its values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from types import MappingProxyType
from typing import Any

from tadc.dialect.index_maps import parse_map, parse_set
from tadc.dialect.mlir import ir
from tadc.lattice.affine import Affine, Constraint

NOTHING: frozenset[str] = frozenset()

PARTS = "part"
"""The variable of the vectors that a reduction over lanes takes in one step."""

Copy = Mapping[str, int]
"""A value for each variable of a tile but the lane."""

NONE: Copy = MappingProxyType({})

LANE = "lane"
"""The variable of the lanes of a vector."""

ACROSS = frozenset([LANE, PARTS])
"""What the index of a reduction over lanes depends on."""


@dataclass(frozen=True)
class Leap:
    """How many steps the innermost loop of a reduction takes at once, and how far a lane moves its index.

    Steps one after the other join `parts` results by turns.
    """

    steps: int
    lane: int
    parts: int = 1


@dataclass(frozen=True)
class Tile:
    """`copies` has the number of values of each variable; `width` is that of LANE.

    `leaps` has the reductions that take several steps at once. Loops of at most `few` steps that are the same
    for all points are written out.
    """

    width: int = 1
    copies: Mapping[str, int] = field(default_factory=dict[str, int])
    leaps: Mapping[Any, Leap] = field(default_factory=dict[Any, Leap])
    few: int = 0

    @property
    def ranges(self) -> dict[str, int]:
        """The variables, each from 0 to its number less one."""
        return {**self.copies, LANE: self.width}

    @property
    def facts(self) -> tuple[Constraint, ...]:
        """The rows that hold of the variables."""
        rows: list[Constraint] = []
        for name, size in self.ranges.items():
            rows += [Constraint(Affine.var(name)), Constraint(size - 1 - Affine.var(name))]
        return tuple(rows)

    def along(self, names: Iterable[str]) -> tuple[str, ...]:
        """Those of the names whose values are copies, in order."""
        wanted = set(names)
        return tuple(name for name in self.copies if name in wanted)

    def points(self, names: Iterable[str], fixed: Copy = NONE) -> Iterator[dict[str, int]]:
        """All values of some variables, those that are `fixed` aside."""
        names = tuple(names)
        ranges = [(fixed[name],) if name in fixed else range(self.copies[name]) for name in names]
        for values in product(*ranges):
            yield dict(zip(names, values, strict=True))


def at(form: Affine, copy: Copy) -> Affine:
    """A form in one copy."""
    names = [name for name in copy if name in form.variables]
    return form.substitute({name: Affine.const(copy[name]) for name in names}) if names else form


@dataclass
class Values:
    """SSA values by copy: each value of the body with the variables that it is kept for."""

    tile: Tile
    kept: dict[Any, tuple[str, ...]] = field(default_factory=dict[Any, tuple[str, ...]])
    found: dict[Any, dict[tuple[int, ...], Any]] = field(
        default_factory=dict[Any, dict[tuple[int, ...], Any]]
    )

    def __contains__(self, value: Any) -> bool:
        return value in self.kept

    def get(self, value: Any, copy: Copy) -> Any:
        """The value in a copy."""
        return self.found[value][tuple(copy[name] for name in self.kept[value])]

    def add(self, value: Any, names: tuple[str, ...], copy: Copy, made: Callable[[], Any]) -> None:
        """Keep what is made for one copy, if there is nothing yet."""
        self.kept[value] = names
        found = self.found.setdefault(value, {})
        key = tuple(copy[name] for name in names)
        if key not in found:
            found[key] = made()

    def forget(self, value: Any) -> None:
        """Keep nothing: the code that follows does not see what was made."""
        self.found.pop(value, None)

    def put(self, value: Any, names: tuple[str, ...], made: Iterable[Any]) -> None:
        """Keep what was made for each of `tile.points(names)`, in that order."""
        self.kept[value] = names
        keys = product(*(range(self.tile.copies[name]) for name in names))
        self.found[value] = dict(zip(keys, made, strict=True))


class Dependence:
    """On which variables of a tile the values of a body depend, known before code is made.

    `lanes_of` is the index of a reduction whose values are the lanes, if there is one.
    """

    def __init__(self, block: Any, arguments: Mapping[Any, Affine], tile: Tile, lanes_of: Any = None) -> None:
        """`arguments` has the forms of the block's own indices."""
        names = tile.ranges.keys()
        self.known: dict[Any, frozenset[str]] = {
            v: frozenset(f.variables & names) for v, f in arguments.items()
        }
        self.lanes_of, self.leaps = lanes_of, tile.leaps
        self.steps: dict[Any, int | None] = {v: _step(form) for v, form in arguments.items()}
        """What a lane adds to an index; None where that differs, or is not known."""
        self._block(block)

    def __call__(self, value: Any) -> frozenset[str]:
        """The variables; none for a value from above."""
        return self.known.get(value, NOTHING)

    def union(self, values: Iterable[Any]) -> frozenset[str]:
        """The variables that one of some values depends on."""
        return NOTHING.union(*(self(value) for value in values))

    def _block(self, block: Any) -> frozenset[str]:
        """Take in a block; the variables of what it yields."""
        operations = [op.operation for op in block.operations]
        for op in operations[:-1]:
            names = self.union(op.operands)
            if self.leaps and op.name in ("tad.index", "tad.read"):
                names = self._subscripts(op, names)
            lanes_here = False
            for region in op.regions:
                inner = region.blocks[0]
                sides = _sides(op) if is_reduction(op) else ()
                for n, argument in enumerate(inner.arguments):
                    is_lanes = self.lanes_of is not None and argument == self.lanes_of
                    lanes_here |= is_lanes
                    # An index moves with the tile where both its bounds do, by operands or outer indices.
                    outer = inner.arguments[:n]
                    lower, upper = (
                        self.union([*found, *(outer[m] for m in dims)]) for found, dims in sides[n]
                    )
                    self.known[argument] = ACROSS if is_lanes else lower & upper
                if op in self.leaps:
                    self._count(inner.arguments[-1], self.leaps[op].lane)
                names |= self._block(inner)
            for result in op.results:
                self.known[result] = names - ACROSS if lanes_here else names
        return self.union(operations[-1].operands)

    def _count(self, index: Any, step: int) -> None:
        """An index is counted from where it begins, which moves so with the lane."""
        self.steps[index] = step
        self.known[index] = self.known[index] - {LANE} | ({LANE} if step else NOTHING)

    def _subscripts(self, op: Any, names: frozenset[str]) -> frozenset[str]:
        """The variables that index forms depend on: what operands add for a lane may be nothing together."""
        operands = list(op.operands)[op.name == "tad.read" :]
        steps = {f"d{n}": self.steps.get(v, None if LANE in self(v) else 0) for n, v in enumerate(operands)}
        found = [_total(form, steps) for form in parse_map(str(op.attributes["at"])).forms]
        if op.name == "tad.index":
            self.steps[op.results[0]] = found[0]
        return names if any(step != 0 for step in found) else names - {LANE}


def _step(form: Affine) -> int | None:
    """What a lane adds to a form; None where that differs."""
    k = form.coefficient(LANE)
    return None if LANE in (form - Affine.var(LANE) * k).variables else k


def _total(form: Affine, steps: Mapping[str, int | None]) -> int | None:
    """What a lane adds to a form of indices for which it adds so much."""
    total = 0
    for name in form.variables:
        k, step = form.coefficient(name), steps[name]
        is_linear = name not in (form - Affine.var(name) * k).variables
        if step is None or (step and not is_linear):
            return None
        total += k * step
    return total


def _sides(op: Any) -> list[list[tuple[list[Any], list[int]]]]:
    """For each index of a reduction what its lower and its upper bounds mention: operands, outer indices."""
    found = parse_set(str(op.attributes["domain"]))
    forms = [form for row in found.constraints for form in row.inequalities]
    result: list[list[tuple[list[Any], list[int]]]] = []
    for n in range(found.dims):
        made: list[tuple[list[Any], list[int]]] = []
        for sign in (1, -1):
            names = frozenset[str]().union(*(f.variables for f in forms if f.coefficient(f"d{n}") * sign > 0))
            own = [v for i, v in enumerate(op.operands) if f"s{i}" in names]
            made.append((own, [m for m in range(n) if f"d{m}" in names]))
        result.append(made)
    return result


def lanes_index(op: Any) -> Any:
    """The innermost index of a reduction."""
    return list(op.regions[0].blocks[0].arguments)[-1]


def is_reduction(op: Any) -> bool:
    """Whether an operation reduces over a set."""
    return op.name in ("tad.sum", "tad.sums", "tad.reduce")


def region_operations(block: Any) -> Iterator[Any]:
    """All operations in a block, those in regions after the one that holds them."""
    for operation in block.operations:
        op = operation.operation
        yield op
        for region in op.regions:
            yield from region_operations(region.blocks[0])


def yielded(block: Any) -> Any:
    """What a region yields, first of all."""
    return all_yielded(block)[0]


def all_yielded(block: Any) -> list[Any]:
    """All that a region yields."""
    return list(list(block.operations)[-1].operation.operands)


def factors(made: Any) -> tuple[Any, ...]:
    """Of a product its operands; of a square its base, twice; nothing of another operation."""
    if made is None or made.name == "arith.mulf":
        return () if made is None else tuple(made.operands)
    power = owner(made.operands[1]) if made.name == "math.fpowi" else None
    if power is None or power.name != "arith.constant":
        return ()
    return (made.operands[0],) * 2 if ir.IntegerAttr(power.attributes["value"]).value == 2 else ()


def owner(value: Any) -> Any:
    """The operation that makes a value, or None for a block's argument."""
    made = value.owner
    if isinstance(made, ir.Block):
        return None
    return getattr(made, "operation", made)
