"""Points that are computed in lockstep: lanes of a vector along one index, and copies along some.

Forms of indices hold the variables of the tile; a value that does not depend on one is made once for all of
its values.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from itertools import product
from types import MappingProxyType

from tadc.dialect.mlir import ir
from tadc.frontend.terms import Domain
from tadc.lattice.affine import Affine, Constraint
from tadc.lattice.late_dataclasses import dataclass, field
from tadc.passes.maps.map import Block, Choice, Fold, IndexNumber, Let, Load

LANE = "lane"
"""The variable of the lanes of a vector."""

Copy = Mapping[str, int]
"""A value for each variable of a tile but the lane."""

NONE: Copy = MappingProxyType({})

NOTHING: frozenset[str] = frozenset()


def within(ranges: Mapping[str, int]) -> Domain:
    """The rows that hold of variables from 0 to a number less one."""
    rows: list[Constraint] = []
    for name, size in ranges.items():
        rows += [Constraint(Affine.var(name)), Constraint(size - 1 - Affine.var(name))]
    return tuple(rows)


@dataclass(frozen=True)
class Tile:
    """`copies` has the number of values of each variable, the one whose values are used up first last;
    `width` is that of LANE."""

    width: int = 1
    copies: Mapping[str, int] = field(default_factory=dict[str, int])

    @property
    def ranges(self) -> dict[str, int]:
        """The variables, each from 0 to its number less one."""
        return {**self.copies, LANE: self.width}

    @property
    def facts(self) -> tuple[Constraint, ...]:
        """The rows that hold of the variables."""
        return within(self.ranges)

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
class TileValues:
    """The code's value for each value of a block, by copy, with the variables that it is kept for."""

    tile: Tile
    kept: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    found: dict[str, dict[tuple[int, ...], ir.Value]] = field(
        default_factory=dict[str, dict[tuple[int, ...], ir.Value]]
    )

    def get(self, value: str, copy: Copy) -> ir.Value:
        """The value in a copy."""
        return self.found[value][tuple(copy[name] for name in self.kept[value])]

    def add(self, value: str, names: tuple[str, ...], copy: Copy, made: Callable[[], ir.Value]) -> None:
        """Keep what is made for one copy, if there is nothing yet."""
        self.kept[value] = names
        found = self.found.setdefault(value, {})
        key = tuple(copy[name] for name in names)
        if key not in found:
            found[key] = made()

    def forget(self, value: str) -> None:
        """Keep nothing: the code that follows does not see what was made."""
        self.found.pop(value, None)

    def put(self, value: str, names: tuple[str, ...], made: Iterable[ir.Value]) -> None:
        """Keep what was made for each of `tile.points(names)`, in that order."""
        self.kept[value] = names
        keys = product(*(range(self.tile.copies[name]) for name in names))
        self.found[value] = dict(zip(keys, made, strict=True))

    def snapshot(self) -> TileValues:
        """A copy of these values, to which others are added apart."""
        return TileValues(self.tile, dict(self.kept), dict(self.found))


def copies_of(index: str) -> str:
    """The variable of the copies that the values of a loop are."""
    return f"@{index}"


def lockstep_variable(fold: Fold) -> str:
    """The variable that the index of a reduction in lockstep is."""
    return LANE if fold.loop == "lane" else copies_of(fold.indices[0])


def lockstep_of(block: Block) -> dict[str, int]:
    """The variables that the reductions of a block compute in lockstep, with their numbers of values."""
    return {lockstep_variable(fold): fold.count for fold in block.folds() if fold.is_in_tile}


def bound_name(index: str) -> str:
    """The variable in forms of an index that a fold binds: no loop or tile has its name."""
    return f"?{index}"


class Dependence:
    """On which variables of a tile the values of a block depend, known before code is made."""

    def __init__(self, block: Block, forms: Mapping[str, Affine], tile: Tile) -> None:
        """`forms` are those of the indices from above."""
        self.tile = frozenset(tile.ranges)
        self.known: dict[str, frozenset[str]] = {}
        self._block(block, forms)

    def __call__(self, value: str) -> frozenset[str]:
        """The variables."""
        return self.known[value]

    def of_forms(self, found: Iterable[Affine], forms: Mapping[str, Affine]) -> frozenset[str]:
        """The variables that one of some forms depends on."""
        return NOTHING.union(*(form.substitute(forms).variables for form in found)) & self.tile

    def _block(self, block: Block, forms: Mapping[str, Affine]) -> frozenset[str]:
        """Take in a block; the variables of what it gives."""
        for let in block.lets:
            names = self._let(let, forms)
            self.known |= dict.fromkeys(let.names, names)
        return NOTHING.union(*(self.known[name] for name in block.gives))

    def _let(self, let: Let, forms: Mapping[str, Affine]) -> frozenset[str]:
        match let.value:
            case Load(at=found):
                return self.of_forms(found, forms)
            case IndexNumber(form=form):
                return self.of_forms([form], forms)
            case Choice() as choice:
                names = self.of_forms([row.form for row in choice.rows], forms)
                return names | self._block(choice.then, forms) | self._block(choice.otherwise, forms)
            case Fold() as fold:
                return self._fold(fold, forms)
            case value:
                operands = getattr(value, "operands", ())
                return NOTHING.union(*(self.known[name] for name in operands))

    def _fold(self, fold: Fold, forms: Mapping[str, Affine]) -> frozenset[str]:
        if fold.is_in_tile:
            variable = lockstep_variable(fold)
            return self._block(fold.body, {**forms, fold.indices[0]: Affine.var(variable)}) - {variable}
        inner = {**forms, **{index: Affine.var(bound_name(index)) for index in fold.indices}}
        names = self.of_forms(fold.mentioned(), forms).union(*(self.known[name] for name in fold.first))
        return names | self._block(fold.body, inner)


def without(form: Affine, names: Collection[str]) -> Affine:
    """A form without the terms that hold some variables."""
    kept = (
        (atom, k)
        for atom, k in form.terms
        if (atom not in names if isinstance(atom, str) else atom.variables.isdisjoint(names))
    )
    return Affine.of(dict(kept), form.constant)
