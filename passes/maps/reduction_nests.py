"""What the lowerings of a reduction share: its domain as loops, and how two results are one."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tadc.dialect.index_maps import parse_set
from tadc.dialect.locations import name_of, place_of
from tadc.dialect.mlir import ir
from tadc.dialect.reader import UnsupportedIR
from tadc.frontend.index_sets import IndexSetLimit
from tadc.frontend.terms import Domain
from tadc.lattice.affine import ZERO, Affine
from tadc.lattice.bounds import Unbounded
from tadc.lattice.effort import EliminationLimit
from tadc.lattice.emptiness import tight
from tadc.lattice.nest import LoopNest, loop_nest
from tadc.passes.maps.scalar_lowering import EXPANSIONS, Scalars

#: Two results of parts of a set, in order, to that of both; an element is the result of itself.
Join = Callable[[Scalars, ir.Value, ir.Value], ir.Value]

JOIN: dict[str, Join] = {
    "sum": lambda s, x, y: s.op("arith.addf", x, y),
    "prod": lambda s, x, y: s.op("arith.mulf", x, y),
    "max": lambda s, x, y: EXPANSIONS["arith.maximumf"](s.builder, s.point, x, y),
    "min": lambda s, x, y: EXPANSIONS["arith.minimumf"](s.builder, s.point, x, y),
}


class ReductionNest:
    """A `tad.sum` or `tad.reduce`: its rows over forms of the indices around it, and its loops."""

    def __init__(
        self, op: ir.Operation, forms: Mapping[ir.Value, Affine], facts: Domain, moved: Affine = ZERO
    ) -> None:
        """The facts hold around it; the innermost index is that of its loop, `moved`.

        Raises UnsupportedIR or IndexSetLimit for a domain without loops.
        """
        self.op, self.facts = op, facts
        self.location = op.location
        self.block = op.regions[0].blocks[0]
        found = parse_set(str(op.attributes["domain"]))
        self.names = [f"d{i}" for i in range(found.dims)]
        self.places = dict(zip(self.names, (a.location for a in self.block.arguments), strict=True))
        mapping = {f"s{i}": forms[v] for i, v in enumerate(op.operands)}
        if moved.terms:
            mapping[self.names[-1]] = Affine.var(self.names[-1]) + moved
        self.rows = [c.substitute(mapping) for c in found.constraints]
        self.nest = self._nest()

    def _nest(self) -> LoopNest:
        try:
            return tight(loop_nest(self.names, self.rows, self.facts), self.facts)
        except Unbounded:
            raise UnsupportedIR(f"'{self.op.name}' over an unbounded domain", self.location) from None
        except EliminationLimit:
            spoken = [name_of(place) or name for name, place in self.places.items()]
            mapping = {n: Affine.var(s) for n, s in zip(self.names, spoken, strict=True)}
            rows = [row.substitute(mapping) for row in self.rows]
            raise IndexSetLimit(spoken, rows, place_of(self.location)) from None
