"""The primitive that asks for lines of memory before they are read.

The processor sees ahead along a row, but not from the rows of one tile to those of the next, and a row of a
few kilobytes ends before it has caught up. So a long innermost loop of a sum runs in steps of a line, and
before each the line that the next tile reads there is asked for, in each of its rows. What vectors read from
rows far apart is asked for at each step. Where what the loops inside a step read is one run of memory, its
lines are asked for in their order instead: memory is read as fast as by a plain copy, while the loops
compute.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tadc.lattice.affine import ZERO, Affine
from tadc.passes.maps.map import Ask, Fold, Let, Load
from tadc.passes.nest.caches import LINE
from tadc.passes.nest.nest import Body, Compute, Extreme, For, Nest
from tadc.passes.nest.primitives.rewriting import (
    DoesNotFit,
    all_named,
    bound_forms,
    form_of,
    loops_in,
    named_values,
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
                asks = (Let((), ask) for ask in _asks(nest, step, fold, inner.value, values))
                return replace(
                    let, value=replace(fold, body=replace(fold.body, lets=(*asks, *fold.body.lets)))
                )
        return let

    def rule(compute: Compute) -> Compute:
        return replace(compute, block=rewrite_lets(compute.block, one))

    body = rewrite_computes(nest.body, rule)
    if not done:
        raise DoesNotFit(f"no reduction reads `{step.read}`")
    return replace(nest, body=body)


def _asks(
    nest: Nest, step: Prefetch, fold: Fold, load: Load, values: Mapping[str, Affine]
) -> tuple[Ask, ...]:
    if step.how == "run":
        return _run(nest, step, fold, load)
    tiles = {index: _tile(nest, form) for index, form in values.items()}
    if step.how == "rows":
        further = {index: Affine.var(index) + n for index, n in tiles.items() if n > 1}
        at = tuple(form.substitute(further) for form in load.at)
        return (Ask(load.tensor, at, every=LINE // BYTES[load.type]),)
    *others, last = load.at
    names = sorted(name for name in last.variables if tiles.get(name, 1) > 1)
    return (Ask(load.tensor, (*others, last.substitute({n: Affine.var(n) + tiles[n] for n in names}))),)


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


def _run(nest: Nest, step: Prefetch, fold: Fold, load: Load) -> tuple[Ask, ...]:
    """The next lines of the run that the next tile of a loop reads, in each innermost step."""
    loops = {loop.index: loop for loop in loops_in(nest.body)}
    for name in (step.index, *(name for name in step.over if name not in fold.indices)):
        if name not in loops:
            raise DoesNotFit(f"there is no loop `{name}`")
    values, indices = named_values(nest.body), {n for form in load.at for n in form.variables}
    first = {name: ZERO for name, loop in loops.items() if loop.kind in ("jam", "lane")}
    inside, steps = 1, ZERO
    start: dict[str, Affine] = {}
    for name in reversed(step.over):
        if name in fold.indices:
            lowest, count = _range(fold, name, nest)
            steps += (Affine.var(name) - lowest) * inside
            start[name] = lowest
        else:
            loop = loops[name]
            steps += Affine.var(name).floordiv(loop.step) * inside
            count = -(-_most(loop) // loop.step)
        inside *= count
    for name in indices - set(fold.indices):
        base = values.get(name, Affine.var(name)).substitute(first)
        made_of = _closure(base, nest.body)
        if step.index in made_of:
            start[name] = base + loops[step.index].step
        elif made_of & set(step.over):
            start[name] = ZERO
        else:
            start[name] = base
    *others, last = (form.substitute(start) for form in load.at)
    line = LINE // BYTES[load.type]
    return tuple(
        Ask(load.tensor, (*others, last + (steps * step.lines + n) * line), far=True)
        for n in range(step.lines)
    )


def _closure(form: Affine, body: Body) -> frozenset[str]:
    """The indices that a form is made of, directly or not."""
    named = dict(all_named(body))
    found, waiting = set[str](), list(form.variables)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            if name in named:
                waiting += [n for inner in bound_forms(named[name]) for n in inner.variables]
    return frozenset(found)


def _range(fold: Fold, index: str, nest: Nest) -> tuple[Affine, int]:
    """The first value of an index of a reduction, and the number of its values in a block."""
    own = frozenset(fold.indices)
    rows = [row.form for row in fold.rows if row.form.variables & own == frozenset([index])]
    lower = [Affine.var(index) - form for form in rows if form.coefficient(index) == 1]
    upper = [Affine.var(index) + form + 1 for form in rows if form.coefficient(index) == -1]
    named = dict(all_named(nest.body))
    for form in list(upper):
        for name in form.variables:
            bound = named.get(name)
            if isinstance(bound, Extreme) and bound.which == "min" and form.coefficient(name) == 1:
                upper += [form.substitute({name: other}) for other in bound.forms]
    spans = [(stop - start).constant for start in lower for stop in upper if (stop - start).is_constant]
    if not spans:
        raise DoesNotFit(f"the number of values of `{index}` is not known")
    return lower[0], min(spans)


def _most(loop: For) -> int:
    """The most values that a loop goes over."""
    spans = [(b - a).constant for a in bound_forms(loop.start) for b in bound_forms(loop.stop)
             if (b - a).is_constant]  # fmt: skip
    if not spans:
        raise DoesNotFit(f"the number of values of `{loop.index}` is not known")
    return min(spans)
