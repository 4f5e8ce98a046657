"""The primitive that adds a summand to the element that an index array says, in the order of the summands."""

from __future__ import annotations

from dataclasses import replace

from tadc.lattice.affine import ZERO, Affine, Constraint
from tadc.passes.maps.blocks import Renaming
from tadc.passes.maps.map import Block, Fold, Let, Number
from tadc.passes.maps.scattered_maps import Scattered, scattered_fold
from tadc.passes.nest.loop_bounds import parts_of
from tadc.passes.nest.nest import At, Body, Compute, For, If, Nest
from tadc.passes.nest.primitives.rewriting import (
    DoesNotFit,
    bounds_in,
    check_new,
    greatest,
    least,
    with_loops,
)
from tadc.passes.nest.steps import Scatter


def scatter(nest: Nest, step: Scatter) -> Nest:
    """The loop over the elements of a sum in blocks: they are 0 first, then what is added to any is added."""
    check_new(nest, step.outer, f"{step.outer}_end")

    def rule(loop: For) -> Body:
        compute, fold = sum_in(loop, step.fold)
        found = scattered_fold(step.fold, fold, step.index)
        if found is None:
            raise DoesNotFit(f"`{step.fold}` has no equality that tells `{step.index}`")
        if not _is_multiple(loop, found.count, nest):
            raise DoesNotFit(f"`{step.index}` does not begin at a multiple of {found.count}")
        end = f"{step.outer}_end"
        zero = Block((Let((step.fold,), Number(0.0, fold.type)),), (step.fold,))
        zeros = replace(
            loop, start=Affine.var(step.outer), stop=Affine.var(end), body=(replace(compute, block=zero),)
        )
        stop = least(Affine.var(step.outer) + found.count, loop.stop)
        body = (At(end, stop), zeros, _added(loop, compute, fold, found, (step.outer, end)))
        return (replace(loop, index=step.outer, step=found.count, body=body),)

    return with_loops(nest, step.index, rule)


def sum_in(loop: For, name: str) -> tuple[Compute, Fold]:
    """The computation of a loop that computes a sum and nothing else, and the sum."""
    compute = loop.body[0] if len(loop.body) == 1 and loop.step == 1 else None
    if isinstance(compute, Compute) and len(compute.block.lets) == 1 and len(compute.stores) == 1:
        (let,) = compute.block.lets
        if let.names == (name,) and isinstance(let.value, Fold):
            return compute, let.value
    raise DoesNotFit(f"`{name}` is not all that a loop over `{loop.index}` computes")


def _is_multiple(loop: For, count: int, nest: Nest) -> bool:
    """Whether a loop begins at a multiple of a number of values."""
    starts = parts_of(loop.start, "max")
    rests = [start - start.floordiv(count) * count for start in starts]
    return bool(starts) and all(
        rest == ZERO or any(row.equality and row.form in (rest, -rest) for row in nest.known)
        for rest in rests
    )


def _added(loop: For, compute: Compute, fold: Fold, found: Scattered, block: tuple[str, str]) -> For:
    """The loop over the summands of a block of elements, each added to its own."""
    (place,), (store,), element = fold.indices, compute.stores, Affine.var(loop.index)
    begin, end = map(Affine.var, block)
    bounds = Renaming(forms={loop.index: begin}).rows(found.bounds)
    starts, stops = bounds_in(replace(fold, rows=bounds), place)
    joins = replace(store, value=fold.body.gives[0], joins=fold.kind)
    own = If(
        (Constraint(element - begin), Constraint(end - 1 - element)),
        (replace(compute, block=fold.body, stores=(joins,)),),
    )
    return For(place, greatest(*starts), least(*stops), 1, "seq", (At(loop.index, found.at), own))
