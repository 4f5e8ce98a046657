"""Reductions over integer sets to loop nests that carry the result.

Elements are combined in lexicographic order.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from tadc.dialect.locations import unnamed
from tadc.dialect.mlir import ir
from tadc.frontend.functions import REDUCTIONS
from tadc.frontend.terms import Domain
from tadc.lattice.affine import Affine
from tadc.lattice.bounds import Level
from tadc.passes.reduction_nests import JOIN, Join, ReductionNest
from tadc.passes.scalar_lowering import LESS, Scalars

if TYPE_CHECKING:
    from tadc.passes.lower_body import BodyLowering


def lower_reduction(body: BodyLowering, op: Any, facts: Domain, point: Any) -> Any:
    """The value of a `tad.sum` or `tad.reduce`; UnsupportedIR or IndexSetLimit for a domain without loops."""
    kind = "sum" if op.name == "tad.sum" else ir.StringAttr(op.attributes["kind"]).value
    loops = _Loops(body, op, facts)
    if kind == "logsumexp":
        return _logsumexp(loops, Scalars(body, point, op.results[0].type))
    return loops.fold(JOIN[kind], REDUCTIONS[kind], point)


def _logsumexp(loops: _Loops, s: Scalars) -> Any:
    """`m + log(sum{k} (exp(e - m)))` with m the maximum, 0 where that is not finite.

    It neither overflows nor makes a NaN of infinite elements, as `scipy.special.logsumexp`.
    """
    greatest = loops.fold(JOIN["max"], REDUCTIONS["max"], s.point)
    finite = s.compare(LESS, s.op("math.absf", greatest), s.const(math.inf))
    shift = s.select(finite, greatest, s.const(0.0))

    def add(at: Scalars, result: Any, e: Any) -> Any:
        return at.op("arith.addf", result, at.op("math.exp", at.op("arith.subf", e, shift)))

    return s.op("arith.addf", s.op("math.log", loops.fold(add, 0.0, s.point)), shift)


class _Loops(ReductionNest):
    """The loops over the domain of a reduction, to be made any number of times."""

    def __init__(self, body: BodyLowering, op: Any, facts: Domain) -> None:
        super().__init__(op, body.forms, facts)
        self.body, self.type = body, op.results[0].type

    def fold(self, combine: Join, start: float, point: Any) -> Any:
        """What is left of `start` after every element."""
        self.body.location = self.location
        first = self.body.constant(self.type, start, point)

        def innermost(value: Any, bound: dict[str, Affine], at: Any) -> Any:
            for argument, name in zip(self.block.arguments, self.names, strict=True):
                self.body.forms[argument] = bound[name]
            inside = self.facts + tuple(c.substitute(bound) for c in self.rows)
            guards = tuple(c.substitute(bound) for c in self.nest.inside)

            def add(then: Any) -> Any:
                element = self.body.region(self.block, inside, then)
                return combine(Scalars(self.body, then, self.type), value, element)

            return self.where(guards, add, value, at)

        def loops(at: Any) -> Any:
            return self.loop(self.nest.levels, {}, first, innermost, at)

        return self.where(self.nest.outside, loops, first, point)

    def where(self, rows: Domain, then: Callable[[Any], Any], otherwise: Any, point: Any) -> Any:
        """What `then` makes where all rows hold, else the value given."""
        if not rows:
            return then(point)
        condition = self.body.holds(rows, point)
        return self.body.choose(condition, [self.type], lambda at: [then(at)], lambda at: [otherwise], point)[
            0
        ]

    def loop(
        self,
        levels: Sequence[Level],
        bound: dict[str, Affine],
        carried: Any,
        innermost: Callable[[Any, dict[str, Affine], Any], Any],
        point: Any,
    ) -> Any:
        """Loops over levels, outermost first, that carry a value; what they carry at the end."""
        if not levels:
            return innermost(carried, bound, point)
        body, level = self.body, levels[0]
        lower = [b.ceil().substitute(bound) for b in level.lower]
        upper = [b.floor().substitute(bound) + 1 for b in level.upper]
        start = body.affine(lower, point, "affine.max")
        stop = body.affine(upper, point, "affine.min")
        step = body.constant(body.index_type, 1, point)
        made = body.create("scf.for", [self.type], [start, stop, step, carried], point, regions=1)
        locations = [self.places[level.name], unnamed(body.location)]
        block = ir.Block.create_at_start(made.regions[0], [body.index_type, self.type], locations)
        inside = ir.InsertionPoint(block)
        index, value = block.arguments
        inner = {**bound, level.name: body.variable(index)}
        body.create("scf.yield", [], [self.loop(levels[1:], inner, value, innermost, inside)], inside)
        return made.results[0]
