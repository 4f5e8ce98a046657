"""The nest of a map, with what is computed at the points of its sum."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tadc.frontend.terms import Domain
from tadc.lattice.affine import ZERO, Affine, Constraint, Floor, Lookup
from tadc.passes.maps.at_sums import AtSum, pair_of
from tadc.passes.maps.blocks import BlockNames, Renaming, apart, shared, values_of, without_unused
from tadc.passes.maps.map import Block, Constant, Let, Map, MapFunction
from tadc.passes.nest.loop_bounds import around
from tadc.passes.nest.nest import Body, Compute, For, If, Nest, Store
from tadc.passes.nest.plain import plain_nest


def nest_of(function: MapFunction, item: Map) -> Nest:
    """The plain nest of a map; of one that another is computed with, one nest for both."""
    pair = pair_of(function, item)
    if pair is None:
        return plain_nest(function, item)
    first, second = plain_nest(function, pair.over), plain_nest(function, pair.item)
    tensors = dict.fromkeys((*first.tensors, *second.tensors))
    ends = zip(pair.over.indices, pair.over.extents, strict=True)
    body = around(_loops(pair, function), *((index, ZERO, extent) for index, extent in ends))
    return replace(first, tensors=tuple(tensors), computed=(*first.computed, *second.computed), body=body)


def _loops(pair: AtSum, function: MapFunction) -> Body:
    """The loop over the points of a sum; what is in no fibre comes with the first and the last."""
    (let,), (own,), fold = pair.over.body.lets, pair.over.tensors, pair.fold
    values = apart(pair.item.body, set(values_of(pair.over.body)), BlockNames()).values
    there = Renaming(values, dict(zip(pair.item.indices, pair.at, strict=True)))
    alone = there.block(pair.item.body)
    inside = _Known(pair, function).block(alone)
    both = Block((*fold.body.lets, *inside.lets), (*fold.body.gives, *inside.gives))
    both = without_unused(shared(both))
    total, *others = both.gives
    zero = Block((Let(let.names, Constant(0.0, fold.type)),), let.names)
    element = tuple(map(Affine.var, pair.over.indices))
    joined = Store(own.name, element, total, joins=fold.kind)

    def stores(values: Sequence[str]) -> tuple[Store, ...]:
        pairs = zip(pair.item.tensors, values, strict=True)
        return tuple(Store(tensor.name, pair.at, value) for tensor, value in pairs)

    def over(start: Affine, stop: Affine, *computed: Compute) -> For:
        return For(fold.indices[0], start, stop, 1, "seq", computed)

    start = Compute(zero, (Store(own.name, element, let.names[0]),))
    step = Compute(both, (joined, *stores(others)))
    if pair.fibre is None:
        return start, over(ZERO, pair.item.extents[-1], step)
    first, stop = Affine.atom(pair.fibre.start), Affine.atom(pair.fibre.stop)
    (index,), (row,), rest = pair.over.indices, element, Compute(alone, stores(alone.gives))
    last, end = pair.over.extents[0] - 1, pair.item.extents[0]
    before = If((Constraint(row, True),), (over(ZERO, first.substitute({index: ZERO}), rest),))
    after = If((Constraint(row - last, True),), (over(stop.substitute({index: last}), end, rest),))
    return before, start, over(first, stop, step), after


class _Known(Renaming):
    """Forms at a point of a fibre, where it is known which fibre it is."""

    def __init__(self, pair: AtSum, function: MapFunction) -> None:
        super().__init__()
        self.at, self.row = pair.at, Affine.var(pair.over.indices[0])
        array = pair.fibre.array if pair.fibre is not None else ""
        self.owners = {tensor.name for tensor in function.arguments if array and tensor.owner_of == array}

    def rows(self, rows: Domain) -> Domain:
        return tuple(Constraint(self.form(row.form), row.equality) for row in rows)

    def form(self, form: Affine) -> Affine:
        return form.replace(self.known)

    def known(self, atom: str | Floor | Lookup) -> Affine | None:
        """The fibre, for the element that says it."""
        is_own = isinstance(atom, Lookup) and atom.array in self.owners and atom.at == self.at
        return self.row if is_own else None
