"""The nest of a map over rows with a map over entries in the loop of its sum."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tadc.lattice.affine import ZERO, Affine, Constraint, Lookup
from tadc.passes.maps.blocks import shared, without_unused
from tadc.passes.maps.entries_along import entries_in_row, pairs_along, row_entries
from tadc.passes.maps.map import Block, Fold, Let, Map, MapFunction, Number
from tadc.passes.nest.nest import Compute, For, If, Nest, Store
from tadc.passes.nest.plain import plain_nest
from tadc.passes.nest.primitives.rewriting import DoesNotFit
from tadc.passes.nest.steps import Step, With


def map_along(function: MapFunction, steps: Sequence[Step]) -> Map | None:
    """The map that runs along with one of these steps."""
    names = {name for step in steps if isinstance(step, With) for name in step.tensors}
    made = (item for item in function.maps if not names.isdisjoint(tensor.name for tensor in item.tensors))
    return next(made, None)


def nest_with(function: MapFunction, item: Map, steps: Sequence[Step]) -> Nest:
    """The plain nest of a map, with what runs along with it by its steps. Raises DoesNotFit."""
    named = [step for step in steps if isinstance(step, With)]
    if not named:
        return plain_nest(function, item)
    pairs = {function.maps[rows].tensors: function.maps[n] for rows, n in pairs_along(function).items()}
    along = pairs.get(item.tensors)
    if along is None or [tuple(tensor.name for tensor in along.tensors)] != [step.tensors for step in named]:
        raise DoesNotFit(f"`{', '.join(named[0].tensors)}` is not computed of the entries of its rows")
    return _nest_along(function, item, along)


def _nest_along(function: MapFunction, outer: Map, item: Map) -> Nest:
    """One loop over rows and one over their entries; what is in no row comes with the first and the last."""
    (row,), (let,), (own,) = outer.indices, outer.body.lets, outer.tensors
    fold, ptr = let.value, function.tensors()[row_entries(outer, function) or ""]
    assert isinstance(fold, Fold)
    index, at, last = fold.indices[0], Affine.var(row), outer.extents[0] - 1
    alone, inside = entries_in_row(item, outer, function)

    def start(form: Affine) -> Affine:
        assert ptr.below is not None
        return Affine.atom(Lookup(ptr.name, (form,), ptr.below))

    def stores(values: Sequence[str]) -> tuple[Store, ...]:
        pairs = zip(item.tensors, values, strict=True)
        return tuple(Store(tensor.name, (Affine.var(index),), value) for tensor, value in pairs)

    zero = Block((Let(let.names, Number(0.0, fold.type)),), let.names)
    both = Block((*fold.body.lets, *inside.lets), (*fold.body.gives, *inside.gives))
    both = without_unused(shared(both))
    total, *others = both.gives
    joined = Store(own.name, (at,), total, joins=fold.kind)
    rest = (Compute(alone, stores(alone.gives)),)
    body = (
        If((Constraint(at, True),), (For(index, ZERO, start(ZERO), 1, "seq", rest),)),
        Compute(zero, (Store(own.name, (at,), let.names[0]),)),
        For(index, start(at), start(at + 1), 1, "seq", (Compute(both, (joined, *stores(others))),)),
        If(
            (Constraint(at - last, True),),
            (For(index, start(last + 1), item.extents[0], 1, "seq", rest),),
        ),
    )
    first, second = plain_nest(function, outer), plain_nest(function, item)
    tensors = dict.fromkeys((*first.tensors, *second.tensors))
    loop = For(row, ZERO, outer.extents[0], 1, "seq", body)
    return replace(first, tensors=tuple(tensors), computed=(*first.computed, *second.computed), body=(loop,))
