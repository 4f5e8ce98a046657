"""The loop of a sweep: all of its maps for some steps of a recurrence, then for the next.

A map whose index does not count the steps itself runs for those of its values that belong to the steps at
hand. What belongs to a step before the first runs with that, what belongs to one after the last with
the last; where there is no step at all, everything runs once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tadc.dialect.mlir import ir
from tadc.lattice.affine import Affine
from tadc.passes.maps.lower_body import BodyLowering
from tadc.passes.maps.map import Map


@dataclass(frozen=True)
class Follower:
    """The function of a map in a sweep, and which of the buffers it takes."""

    name: str
    used: Sequence[int]
    item: Map


STEPS = ("begin", "end")
"""The arguments of the function over a range of steps, in the order in which they are taken."""


def step_loop(
    block: ir.Block,
    parts: Sequence[Follower],
    sizes: Mapping[str, Affine],
    low: BodyLowering,
    leader: Map,
    *,
    is_range: bool = False,
) -> None:
    """Fill a function over buffers and sizes, which have these forms: it calls the parts for a few steps at a
    time, those of the recurrence of the `leader`, or of a range of these, which are its last arguments."""
    point = ir.InsertionPoint(block)
    sweep = leader.marks.sweep
    assert sweep is not None
    count = leader.extents[sweep.index].substitute(sizes)
    rows = leader.marks.rows
    given = list(block.arguments)
    ends = [Affine.const(0), count]
    if is_range:
        ends = [low.variable(given.pop(-2)), low.variable(given.pop())]
    buffers, values = given[: len(given) - len(sizes)], given[len(given) - len(sizes) :]
    least = [] if is_range else [Affine.const(1)]
    bounds = [
        low.affine([ends[0]], point),
        low.affine([ends[1], *least], point, "affine.max"),
        low.index(rows, point),
    ]
    made = low.create("scf.for", [], bounds, point, regions=1)
    inner = ir.Block.create_at_start(made.regions[0], [low.index_type], [low.location])
    inside = ir.InsertionPoint(inner)
    begin = low.variable(inner.arguments[0])
    end = low.variable(low.affine([begin + rows, ends[1]], inside, "affine.min"))
    first, last = (count - end, count - begin) if sweep.down else (begin, end)
    for part in parts:
        if part.item.order is not None:
            start, stop = (low.affine([form], inside) for form in (begin, end))
        else:
            start = _values_before(first, part.item, sizes, low, inside, whole=(first, False))
            stop = _values_before(last, part.item, sizes, low, inside, whole=(last - count, True))
        operands = [*(buffers[n] for n in part.used), *values, start, stop]

        def call(
            here: ir.InsertionPoint, name: str = part.name, operands: Sequence[ir.Value] = operands
        ) -> list[ir.Value]:
            low.create("func.call", [], operands, here, {"callee": ir.FlatSymbolRefAttr.get(name)})
            return []

        low.choose(low.compare("slt", start, stop, inside), [], call, None, inside)
    low.create("scf.yield", [], [], inside)
    low.create("func.return", [], [], point)


def _values_before(
    step: Affine,
    item: Map,
    sizes: Mapping[str, Affine],
    low: BodyLowering,
    point: ir.InsertionPoint,
    *,
    whole: tuple[Affine, bool],
) -> ir.Value:
    """How many values of a map's index belong to steps before one: none or all of them where a form is 0."""
    sweep = item.marks.sweep
    assert sweep is not None
    zero, extent = Affine.const(0), item.extents[sweep.index].substitute(sizes)
    form, is_all = whole
    found = -(sweep.offset - step).floordiv(sweep.scale)
    value = low.affine([found, extent], point, "affine.min")
    value = low.affine([low.variable(value), zero], point, "affine.max")
    is_end = low.compare("eq", low.affine([form], point), low.index(0, point), point)
    return low.select(is_end, low.affine([extent if is_all else zero], point), value, point)
