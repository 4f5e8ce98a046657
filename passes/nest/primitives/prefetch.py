"""The primitive that asks for lines of memory before they are read.

The processor sees ahead along a row, but not from the rows of one tile to those of the next, and a row of a few
kilobytes ends before it has caught up. So a long innermost loop of a sum runs in steps of a line, and before each the
line that the next tile reads there is asked for, in each of its rows. What vectors read from rows far apart is asked
for at each step. Where what the loops inside a step read is one run of memory, its lines are asked for in their order
instead: memory is read as fast as by a plain copy, while the loops compute.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tadc.lattice.affine import Affine
from tadc.passes.maps.map import Ask, Fold, Let, Load
from tadc.passes.nest.caches import LINE
from tadc.passes.nest.nest import At, Body, Compute, For, If, Nest
from tadc.passes.nest.primitives.rewriting import (
    DoesNotFit,
    form_of,
    loops_in,
    rewrite_computes,
    rewrite_lets,
)
from tadc.passes.nest.steps import Prefetch

BYTES = {"f32": 4, "f64": 8}


def prefetch(nest: Nest, step: Prefetch) -> Nest:
    """Lets the loop of a reduction ask for what a read of it needs soon."""
    values = named_values(nest.body)
    done = False

    def one(let: Let) -> Let:
        nonlocal done
        if not isinstance(let.value, Fold):
            return let
        fold = let.value
        for inner in fold.body.lets:
            if step.read in inner.names and isinstance(inner.value, Load):
                done = True
                ask = Let((), _ask(nest, step, fold, inner.value, values))
                return replace(let, value=replace(fold, body=replace(fold.body, lets=(ask, *fold.body.lets))))
        return let

    def rule(compute: Compute) -> Compute:
        return replace(compute, block=rewrite_lets(compute.block, one))

    body = rewrite_computes(nest.body, rule)
    if not done:
        raise DoesNotFit(f"no reduction reads `{step.read}`")
    return replace(nest, body=body)


def _ask(nest: Nest, step: Prefetch, fold: Fold, load: Load, values: Mapping[str, Affine]) -> Ask:
    if step.how == "run":
        return _run(nest, step, fold, load)
    tiles = {index: _tile(nest, form) for index, form in values.items()}
    if step.how == "rows":
        further = {index: Affine.var(index) + n for index, n in tiles.items() if n > 1}
        at = tuple(form.substitute(further) for form in load.at)
        return Ask(load.tensor, at, every=LINE // BYTES[load.type])
    *others, last = load.at
    names = sorted(name for name in last.variables if tiles.get(name, 1) > 1)
    return Ask(load.tensor, (*others, last.substitute({n: Affine.var(n) + tiles[n] for n in names})))


def _tile(nest: Nest, form: Affine) -> int:
    """How many values of an index a tile has."""
    extent = 1
    for loop in loops_in(nest.body):
        k = form.coefficient(loop.index)
        start, stop = form_of(loop.start), form_of(loop.stop)
        if k and loop.kind in ("jam", "lane") and start is not None and stop is not None:
            count = -(-(stop - start).constant // loop.step)
            extent += abs(k) * loop.step * (count - 1)
    return extent


def named_values(body: Body) -> dict[str, Affine]:
    """What the indices named in loops stand for, over the indices of the loops: those of the first one found."""
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


def _run(nest: Nest, step: Prefetch, fold: Fold, load: Load) -> Ask:
    """The next lines of the run that the next tile of an index reads, in each innermost step."""
    raise DoesNotFit(f"a run of `{load.tensor}` in {len(fold.indices)} loops of {nest.name} {step.index}")
