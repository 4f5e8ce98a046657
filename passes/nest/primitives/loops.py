"""Primitives on the loops over the indices of a map: split, peel, residues, reorder, reverse, bind, fits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product

from tadc.lattice.affine import ZERO, Affine, Constraint
from tadc.passes.nest.nest import At, Body, Bound, Either, Extreme, For, If, Nest, Statement
from tadc.passes.nest.primitives.rewriting import (
    DoesNotFit,
    bound_forms,
    check_new,
    form_of,
    least,
    loops_in,
    with_loops,
)
from tadc.passes.nest.steps import Bind, Fits, Peel, Reorder, Residues, Reverse, Split

# -- split -----------------------------------------------------------------------------------------


def split(nest: Nest, step: Split, unit: int = 1) -> Nest:
    """Loops over tiles of an index, and over the values of a tile.

    A part of few values has no more of `unit` values in a tile than that needs.
    """
    check_new(nest, step.outer, step.inner)
    if step.tail == "again":
        return _split_again(nest, step)
    return with_loops(nest, step.index, lambda loop: _tiles(loop, step, unit))


def _tiles(loop: For, step: Split, unit: int) -> Body:
    """One loop split."""
    if loop.step != 1:
        raise DoesNotFit(f"the loop `{loop.index}` has steps of {loop.step}")
    span = _span(loop)
    if span == 0:
        return ()
    factor, most = step.factor, _most(loop)
    if most is not None and loop.reach is not None:
        factor = min(factor, -(-most // unit) * unit)
    match step.tail:
        case "exact":
            if span is None or span % factor:
                raise DoesNotFit(f"{factor} does not divide the values of `{loop.index}`")
            return (_outer(loop, step, factor, loop.start, loop.stop),)
        case "overlap":
            return (_overlapping(loop, step, factor),)
        case "rest":
            return _with_rest(loop, step, factor)
        case _:
            return (_clipped(loop, step, factor),)


def _span(loop: For) -> int | None:
    """How many values a loop has, if that is known."""
    start, stop = form_of(loop.start), form_of(loop.stop)
    if start is None or stop is None or not (stop - start).is_constant:
        return None
    return max(0, (stop - start).constant)


def _most(loop: For) -> int | None:
    """No less than the number of values of a loop, if something is known of it."""
    pairs = product(bound_forms(loop.start), bound_forms(loop.stop))
    spans = [(stop - start).constant for start, stop in pairs if (stop - start).is_constant]
    return max(0, min(spans)) if spans else None


def _outer(loop: For, step: Split, factor: int, start: Bound, stop: Bound, base: Affine | None = None) -> For:
    """The loop over tiles, which start at `base`, around that over the values of one."""
    base = Affine.var(step.outer) if base is None else base
    inner = _inner(loop, step, factor, base)
    return replace(loop, index=step.outer, start=start, stop=stop, step=factor, body=inner, reach=None, group=1)


def _inner(loop: For, step: Split, factor: int, base: Affine) -> Body:
    """The loop over the values of a tile."""
    value = At(loop.index, base + Affine.var(step.inner))
    inner = For(step.inner, ZERO, Affine.const(factor), 1, "seq", (value, *loop.body), group=loop.group)
    return (inner,)


def _overlapping(loop: For, step: Split, factor: int) -> For:
    """Tiles of which the last one is moved back: to end where the loop does, or where tiles may reach."""
    span, stop = _span(loop), form_of(loop.stop)
    limit = loop.reach[1] if loop.reach else stop
    if limit is None:
        raise DoesNotFit(f"it is not known where tiles of `{loop.index}` may end")
    if span is not None and span % factor == 0:
        return _outer(loop, step, factor, loop.start, loop.stop)
    name = f"{step.outer}_at"
    made = _outer(loop, step, factor, loop.start, loop.stop, Affine.var(name))
    moved = At(name, Extreme("min", (Affine.var(step.outer), limit - factor)))
    return replace(made, body=(moved, *made.body))


def _with_rest(loop: For, step: Split, factor: int) -> Body:
    """Whole tiles, then what is left."""
    start, stop = form_of(loop.start), form_of(loop.stop)
    if start is None or stop is None:
        # The ends get names, so that forms of them can say how many whole tiles there are.
        ends = (At(f"{step.outer}_first", loop.start), At(f"{step.outer}_stop", loop.stop))
        first, last = (Affine.var(item.index) for item in ends)
        return (*ends, *_with_rest(replace(loop, start=first, stop=last), step, factor))
    span = stop - start
    middle = start + span.floordiv(factor) * factor
    made: list[Statement] = []
    if not (span.is_constant and span.constant < factor):
        made.append(_outer(loop, step, factor, start, middle))
    rest = span.constant % factor if span.is_constant else _known_rest(loop, factor)
    if rest:
        made.append(_outer(loop, step, rest, middle, stop))
    return tuple(made)


def _known_rest(loop: For, factor: int) -> int:
    """How many values are left where a range ends at a multiple of the factor, or at a known end: 1 if unknown."""
    if loop.reach is None or not all(form.is_constant for form in loop.reach):
        return 1
    return (loop.reach[1].constant - loop.reach[0].constant) % factor


def _clipped(loop: For, step: Split, factor: int) -> For:
    """Tiles of which the last one has fewer values."""
    outer = Affine.var(step.outer)
    stop = form_of(loop.stop)
    count: Bound = Affine.const(factor)
    span = _span(loop)
    if span is None or span % factor:
        if stop is None:
            raise DoesNotFit(f"it is not known where the last tile of `{loop.index}` ends")
        count = Extreme("min", (Affine.const(factor), stop - outer))
    inner = For(step.inner, ZERO, count, 1, "seq", (At(loop.index, outer + Affine.var(step.inner)), *loop.body))
    return replace(loop, index=step.outer, step=factor, body=(inner,), reach=None, group=1)


def _split_again(nest: Nest, step: Split) -> Nest:
    """Everything for whole tiles, then for one at the end if something is left."""
    found = [loop for loop in loops_in(nest.body) if loop.index == step.index]
    if len(found) != 1:
        raise DoesNotFit(f"there are {len(found)} loops `{step.index}`")
    loop, factor = found[0], step.factor
    span = _span(loop)
    if span is not None and span % factor == 0:
        return with_loops(nest, step.index, lambda loop: (_outer(loop, step, factor, loop.start, loop.stop),))
    first, stop = (Affine.var(f"{step.outer}_{word}") for word in ("first", "stop"))
    middle, number = Affine.var(f"{step.outer}_middle"), Affine.var(f"{step.outer}_pass")
    ends: Body = (
        At(f"{step.outer}_first", loop.start),
        At(f"{step.outer}_stop", loop.stop),
        At(f"{step.outer}_middle", first + (stop - first).floordiv(factor) * factor),
        At(f"{step.outer}_times", Either((Constraint(stop - middle - 1),), Affine.const(2), Affine.const(1))),
    )
    is_first = (Constraint(-number),)
    here: Body = (
        At(f"{step.outer}_from", Either(is_first, first, stop - factor)),
        At(f"{step.outer}_to", Either(is_first, middle, stop)),
    )
    begin, end = (Affine.var(f"{step.outer}_{word}") for word in ("from", "to"))
    inner = with_loops(nest, step.index, lambda loop: (_outer(loop, step, factor, begin, end),))
    times = Affine.var(f"{step.outer}_times")
    passes = For(f"{step.outer}_pass", ZERO, times, 1, "seq", (*here, *inner.body))
    return replace(inner, body=(*ends, passes))


# -- parts -----------------------------------------------------------------------------------------


def peel(nest: Nest, steps: Sequence[Peel]) -> Nest:
    """The values for which rows hold in loops apart from those before and after them, for some indices at once."""
    wanted = {step.index: step for step in steps}
    for index in wanted:
        if not any(loop.index == index for loop in loops_in(nest.body)):
            raise DoesNotFit(f"there is no loop `{index}`")
    return replace(nest, body=_peeled(nest.body, wanted))


def _peeled(body: Body, wanted: Mapping[str, Peel]) -> Body:
    """A body with the loops of some indices in parts."""
    made: list[Statement] = []
    for statement in body:
        match statement:
            case For() if statement.index in wanted:
                made += _parts_of(statement, wanted[statement.index], wanted)
            case For():
                made.append(replace(statement, body=_peeled(statement.body, wanted)))
            case If():
                then, otherwise = (_peeled(b, wanted) for b in (statement.then, statement.otherwise))
                made.append(replace(statement, then=then, otherwise=otherwise))
            case _:
                made.append(statement)
    return tuple(made)


def _parts_of(loop: For, step: Peel, wanted: Mapping[str, Peel]) -> Body:
    """The full part of a loop, and those before and after it."""
    start, stop = form_of(loop.start), form_of(loop.stop)
    if start is None or stop is None or start != ZERO:
        raise DoesNotFit(f"`{loop.index}` does not run from 0 to a form")
    c, whole = step.factor, stop.floordiv(step.factor)
    names, first, last = _full_part(loop.index, step, whole)
    outside = _peeled(loop.body, wanted if step.all else {})
    plain = replace(loop, body=outside, reach=(ZERO, stop))
    full = replace(
        loop, start=first * c, stop=last * c, body=_peeled(loop.body, wanted), reach=(first * c, last * c), group=c
    )
    if step.groups:
        grouped = replace(plain, reach=(ZERO, whole * c), group=c)
        before = replace(grouped, stop=first * c)
        after = [replace(grouped, start=last * c, stop=whole * c), replace(plain, start=whole * c)]
    else:
        before, after = replace(plain, stop=first * c), [replace(plain, start=last * c)]
    return (*names, *(part for part in (before, full, *after) if _span(part) != 0))


def _full_part(index: str, step: Peel, whole: Affine) -> tuple[Body, Affine, Affine]:
    """The first group of the full part, whose elements are in range and meet the rows, and its end."""
    c = step.factor
    lower, upper = [ZERO], [whole]
    for row in step.rows:
        k = row.form.coefficient(index)
        rest = row.form - Affine.var(index) * k
        if not k or index in rest.variables:
            raise DoesNotFit(f"a row is not linear in `{index}`")
        if k > 0:
            lower.append(-rest.floordiv(k * c))
        else:
            upper.append((rest + k * (c - 1)).floordiv(-k * c) + 1)
    if all(form.is_constant for form in (*lower, *upper)):
        first = min(whole.constant, max(form.constant for form in lower))
        last = max(first, min(form.constant for form in upper))
        if last - first < step.room:
            first = last = 0
        return (), Affine.const(first), Affine.const(last)
    low, start, high, stop = (f"{index}_{word}" for word in ("low", "start", "high", "stop"))
    names: list[Statement] = [
        At(low, Extreme("max", tuple(lower))),
        At(start, least(whole, Affine.var(low))),
        At(high, Extreme("min", tuple(upper))),
        At(stop, Extreme("max", (Affine.var(start), Affine.var(high)))),
    ]
    first, last = Affine.var(start), Affine.var(stop)
    if step.room > 1:
        fits = (Constraint(last - first - step.room),)
        names += [At(f"{index}_first", Either(fits, first, ZERO)), At(f"{index}_last", Either(fits, last, ZERO))]
        first, last = Affine.var(f"{index}_first"), Affine.var(f"{index}_last")
    return tuple(names), first, last


def residues(nest: Nest, step: Residues) -> Nest:
    """Groups of values, and the body once for each value of a group."""
    check_new(nest, step.outer, step.inner)
    return with_loops(nest, step.index, lambda loop: _in_groups(loop, step))


def _in_groups(loop: For, step: Residues) -> Body:
    if loop.group % step.factor:
        return (loop,)
    start, stop = form_of(loop.start), form_of(loop.stop)
    assert start is not None
    assert stop is not None
    c = step.factor
    value = At(loop.index, Affine.var(step.outer) * c + Affine.var(step.inner))
    inner = For(step.inner, ZERO, Affine.const(c), 1, "unroll", (value, *loop.body))
    reach = None if loop.reach is None else (loop.reach[0].floordiv(c), loop.reach[1].floordiv(c))
    return (
        replace(
            loop, index=step.outer, start=start.floordiv(c), stop=stop.floordiv(c), body=(inner,),
            reach=reach, group=1,
        ),
    )  # fmt: skip


# -- order and kinds -------------------------------------------------------------------------------


def reorder(nest: Nest, step: Reorder) -> Nest:
    """Loops that are directly in each other, in another order."""
    wanted = set(step.indices)
    done = False

    def rule(loop: For) -> Body:
        nonlocal done
        done = True
        return _reordered(loop, step.indices)

    first = next((loop.index for loop in loops_in(nest.body) if loop.index in wanted), None)
    if first is None:
        raise DoesNotFit(f"there is no loop of {', '.join(step.indices)}")
    return with_loops(nest, first, rule)


def _reordered(outermost: For, order: tuple[str, ...]) -> Body:
    """A loop and those inside that are named, in this order; what indices are named stands inside of all."""
    loops: dict[str, For] = {}
    names: list[At] = []
    body: Body = (outermost,)
    while len(loops) < len(order):
        *ats, last = body
        if not isinstance(last, For) or last.index not in order or not all(isinstance(a, At) for a in ats):
            raise DoesNotFit(f"the loops {', '.join(order)} are not directly in each other")
        names += [at for at in ats if isinstance(at, At)]
        loops[last.index] = last
        body = last.body
    made = body
    waiting = list(names)
    for place in range(len(order) - 1, -1, -1):
        loop = loops[order[place]]
        # What is named stands where all that it is made of is known, as far outside as that is.
        known = set(order[:place])
        own = set(order) - known
        here = [a for a in waiting if any(_depends(a, name, names) for name in own)]
        made = (replace(loop, body=(*here, *made)),)
        waiting = [a for a in waiting if a not in here]
        for form in (*bound_forms(loop.start), *bound_forms(loop.stop)):
            if any(_reaches(form.variables, name, names) for name in own):
                raise DoesNotFit(f"the ends of `{loop.index}` move with a loop that would be inside")
    return (*waiting, *made)


def _depends(item: At, index: str, names: list[At]) -> bool:
    """Whether what is named is made of a loop's index, directly or not."""
    found = frozenset[str]().union(*(form.variables for form in bound_forms(item.value)))
    return _reaches(found, index, names)


def _reaches(variables: frozenset[str], index: str, names: list[At]) -> bool:
    return index in variables or any(a.index in variables and _depends(a, index, names) for a in names)


def reverse(nest: Nest, step: Reverse) -> Nest:
    """A loop that runs from the last value of its index down."""

    def rule(loop: For) -> Body:
        start, stop = form_of(loop.start), form_of(loop.stop)
        if start is None or stop is None or loop.step != 1:
            raise DoesNotFit(f"the ends of `{loop.index}` are no forms")
        name = f"{loop.index}_down"
        value = At(loop.index, start + stop - 1 - Affine.var(name))
        return (replace(loop, index=name, body=(value, *loop.body)),)

    return with_loops(nest, step.index, rule)


def bind(nest: Nest, step: Bind) -> Nest:
    """Loops of a kind: those of a tile have as many values wherever they are."""
    for index in step.indices:

        def rule(loop: For) -> Body:
            if _span(loop) is None:
                raise DoesNotFit(f"the number of values of `{loop.index}` is not known")
            return (replace(loop, kind=step.kind),)

        nest = with_loops(nest, index, rule)
    return nest


def fits(nest: Nest, step: Fits, plain: Body) -> Nest:
    """The nest where all indices have so many values, else the plain one."""
    rows = tuple(Constraint(Affine.var(name) - count) for name, count in step.least)
    return replace(nest, body=(If(rows, nest.body, plain),))
