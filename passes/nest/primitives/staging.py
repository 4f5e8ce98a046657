"""The primitive that copies what is read often to where it is consecutive, before it is read.

As in BLIS and GETT, what is copied (packed) is a panel: all that a reduction reads for the lanes of a tile. It is
read again for each tile along the other indices, one vector after the next. For the rows of tiles it is the same
act, with other loops around it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from tadc.frontend.terms import Domain
from tadc.lattice.affine import ZERO, Affine
from tadc.lattice.bounds import Level, Unbounded
from tadc.lattice.nest import loop_nest
from tadc.passes.maps.map import Block, Fold, Let, Load, Tensor, Value
from tadc.passes.nest.nest import At, Body, Bound, Compute, Extreme, For, If, Nest, Stage, Statement, Store
from tadc.passes.nest.primitives.rewriting import (
    DoesNotFit,
    computes_in,
    form_of,
    loops_in,
    rewrite_computes,
    rewrite_lets,
    rewrite_loops,
)
from tadc.passes.nest.steps import Stage as StageStep

SCATTERED = 8
"""The most lanes that are gathered at a time: those far apart may share one set of the cache, of few lines."""


@dataclass(frozen=True)
class Dimension:
    """A dimension of a panel: a loop or an index of a reduction, from `first` to below `stop`, at most `extent`."""

    index: str
    first: Affine
    stop: Affine
    extent: int
    step: int = 1
    kind: str = "seq"


def stage(nest: Nest, step: StageStep) -> Nest:
    """A panel of what a read reads inside of a loop, filled where the loop's body begins, and read from then on."""
    found = _fold_around(nest, step.read)
    if found is None:
        raise DoesNotFit(f"no reduction reads `{step.read}`")
    fold, load = found
    name = _panel_name(nest, load.tensor)
    done = 0

    def staged(body: Body) -> Body:
        nonlocal done
        done += 1
        return _staged(nest, body, step, fold, load, name)

    if not step.inside:
        names, rest = _leading_names(nest.body)
        return replace(nest, body=(*names, *staged(rest)))

    def rule(loop: For) -> Body:
        names, rest = _leading_names(loop.body)
        return (replace(loop, body=(*names, *staged(rest))),)

    body = rewrite_loops(nest.body, step.inside, rule)
    if not done:
        raise DoesNotFit(f"there is no loop `{step.inside}`")
    return replace(nest, body=body)


def _leading_names(body: Body) -> tuple[Body, Body]:
    """The indices that are named where a body begins, and the rest of it."""
    count = 0
    while count < len(body) and isinstance(body[count], At | Stage) or _fills(body, count):
        count += 1
    return body[:count], body[count:]


def _fills(body: Body, place: int) -> bool:
    """Whether a statement fills a panel: it has one before it."""
    if place >= len(body) - 1 or not isinstance(body[place], For | If):
        return False
    staged = {s.tensor.name for s in body[:place] if isinstance(s, Stage)}
    return any(store.tensor in staged for compute in computes_in((body[place],)) for store in compute.stores)


def _fold_around(nest: Nest, read: str) -> tuple[Fold, Load] | None:
    """The reduction whose block reads a value by a name, and the read."""
    for compute in computes_in(nest.body):
        for let in compute.block.all_lets():
            if isinstance(let.value, Fold):
                for inner in let.value.body.lets:
                    if read in inner.names and isinstance(inner.value, Load):
                        return let.value, inner.value
    return None


def _panel_name(nest: Nest, tensor: str) -> str:
    taken = {t.name for t in nest.tensors} | {s.tensor.name for s in _stages(nest.body)}
    number = 0
    while f"{tensor}.{number}" in taken:
        number += 1
    return f"{tensor}.{number}"


def _stages(body: Body) -> list[Stage]:
    found = [s for s in body if isinstance(s, Stage)]
    for loop in loops_in(body):
        found += [s for s in loop.body if isinstance(s, Stage)]
    return found


def _staged(nest: Nest, body: Body, step: StageStep, fold: Fold, load: Load, name: str) -> Body:
    """A body whose reads are of a panel, after what fills this."""
    values = _named_values(body)
    dimensions = [_dimension(nest, body, index, fold, values) for index in step.over]
    type = load.type
    panel = Tensor(name, type, tuple(Affine.const(d.extent) for d in dimensions))
    place = tuple(_place(Affine.var(d.index), d) for d in dimensions)

    def read(let: Let) -> Let:
        if step.read in let.names and isinstance(let.value, Load):
            return replace(let, value=Load(name, place, type))
        return let

    reading = rewrite_computes(body, lambda c: replace(c, block=rewrite_lets(c.block, read)))
    return (Stage(panel, "stack"), *_filling(panel, load, dimensions, values, step), *reading)


def _place(index: Affine, dimension: Dimension) -> Affine:
    """Where a value of an index is in a panel."""
    form = index - dimension.first
    return form.floordiv(dimension.step) if dimension.step > 1 else form


def _named_values(body: Body) -> dict[str, Affine]:
    """What the indices named in loops stand for, over the indices of the loops, the same wherever they are."""
    found: dict[str, Affine] = {}

    def visit(body: Body) -> None:
        for statement in body:
            match statement:
                case At(index=index, value=Affine() as form):
                    found.setdefault(index, form.substitute(found))
                case For(body=inner):
                    visit(inner)
                case If(then=then, otherwise=otherwise):
                    visit((*then, *otherwise))
                case _:
                    pass

    visit(body)
    return found


def _dimension(
    nest: Nest, body: Body, index: str, fold: Fold, values: Mapping[str, Affine]
) -> Dimension:
    """The values of a loop, or of an index of the reduction."""
    if index in fold.indices:
        return _of_fold(nest, index, fold)
    for loop in loops_in(body):
        if loop.index == index:
            start, stop = form_of(loop.start), form_of(loop.stop)
            if start is None or stop is None or not (stop - start).is_constant:
                raise DoesNotFit(f"the number of values of `{index}` is not known")
            count = -(-(stop - start).constant // loop.step)
            return Dimension(index, start, stop, count, loop.step, loop.kind)
    raise DoesNotFit(f"there is no loop or index `{index}` inside")


def _of_fold(nest: Nest, index: str, fold: Fold) -> Dimension:
    """The values of an index of a reduction, in the block of it that is run."""
    own = set(fold.indices)
    rows = [row for row in fold.rows if row.form.variables & own == {index}]
    lower = [row.form for row in rows if row.form.coefficient(index) == 1]
    upper = [row.form for row in rows if row.form.coefficient(index) == -1]
    if not lower or not upper:
        raise DoesNotFit(f"`{index}` has no bounds of its own")
    # The rows of a block come first, and are the closest ones.
    first = Affine.var(index) - lower[0]
    stop = Affine.var(index) + upper[0] + 1
    extents = [(low + high).constant + 1 for low in lower for high in upper if (low + high).is_constant]
    return Dimension(index, first, stop, min(extents, default=0))


def _filling(
    panel: Tensor,
    load: Load,
    dimensions: list[Dimension],
    values: Mapping[str, Affine],
    step: StageStep,
) -> Body:
    """The loops that copy, each element once."""
    fresh = {d.index: Affine.var(f"{d.index}.{panel.name}") for d in dimensions}
    forms = tuple(form.substitute(values).substitute(fresh) for form in load.at)
    at = tuple(_place(fresh[d.index], d) for d in dimensions)
    name = "%0"
    block = Block((Let((name,), Load(load.tensor, forms, load.type)),), (name,))
    body: Body = (Compute(block, (Store(panel.name, at, name),)),)
    for d in reversed(dimensions):
        index = f"{d.index}.{panel.name}"
        kind = d.kind if d.kind in ("jam", "lane") else "seq"
        body = (For(index, d.first, d.stop, d.step, "lane" if kind == "lane" else "seq", body),)
    return body


__all__ = ["Bound", "Domain", "Extreme", "Level", "Statement", "Unbounded", "Value", "ZERO", "loop_nest", "stage"]
