"""Primitives on the loops over the indices of a map: split, peel, residues, reorder, reverse, bind, fits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from tadc.frontend.terms import Domain
from tadc.lattice.affine import ZERO, Affine, Constraint
from tadc.passes.nest.loop_bounds import bound_forms, form_of, most_values, parts_of, value_count
from tadc.passes.nest.nest import ON_GPU, At, Body, Bound, Either, Extreme, For, If, Know, Nest, Statement
from tadc.passes.nest.primitives import fold_parts, reductions
from tadc.passes.nest.primitives import rewriting as rw
from tadc.passes.nest.primitives.rewriting import DoesNotFit
from tadc.passes.nest.steps import Bind, Fits, Peel, Reorder, Residues, Reverse, Split

# -- split -----------------------------------------------------------------------------------------


def split(nest: Nest, step: Split, unit: int = 1, *, is_even: bool = False) -> Nest:
    """Loops over tiles of an index, and over the values of a tile.

    A part of few values has no more of `unit` values in a tile than that needs. Where it `is_even`, ranges of
    the index begin at multiples of the factor. With tail `again`, `once_more` is to be applied when all else
    is done.
    """
    rw.check_new(nest, step.outer, step.inner)
    if rw.is_of_fold(nest, step.index):
        return reductions.split_fold(nest, step)
    if step.tail == "again":
        return _split_again(nest, step)
    return rw.with_loops(nest, step.index, lambda loop: _tiles(loop, step, unit, is_even, nest.known))


def _tiles(loop: For, step: Split, unit: int, is_even: bool, known: Domain) -> Body:
    """One loop split."""
    if loop.step != 1:
        raise DoesNotFit(f"the loop `{loop.index}` has steps of {loop.step}")
    span = value_count(loop)
    if span == 0:
        return ()
    factor, most = step.factor, most_values(loop)
    if most is not None and loop.reach is not None:
        factor = min(factor, -(-most // unit) * unit)
    is_whole = span is not None and span % factor == 0
    made = _outer(loop, step, factor)
    match step.tail:
        case "exact" if span is None and loop.reach is not None:
            return (_overlapping(loop, step, factor),)
        case "exact" if _is_multiple(loop, factor, known):
            ends = (form - factor - Affine.var(step.outer) for form in bound_forms(loop.stop))
            return (replace(made, body=(Know(tuple(map(Constraint, ends))), *made.body)),)
        case "exact" if not is_whole:
            raise DoesNotFit(f"{factor} does not divide the values of `{loop.index}`")
        case "clip":
            return (_clipped(loop, step, factor),)
        case _ if is_whole:
            return (made,)
        case "rest":
            return _with_rest(loop, step, factor, is_even)
        case "guard":
            return (_guarded(loop, step, factor),)
        case "branch":
            return (_branching(loop, step, factor),)
        case _:
            return (_overlapping(loop, step, factor),)


def _is_multiple(loop: For, factor: int, known: Domain) -> bool:
    """Whether it is known of sizes that a factor divides the number of values of a loop."""
    stop = form_of(loop.stop)
    return loop.start == ZERO and stop is not None and Constraint(stop.mod(factor), True) in known


def _outer(loop: For, step: Split, factor: int, base: Affine | None = None, **ends: Bound) -> For:
    """The loop over tiles, which start at `base`, around that over the values of one; it may have other
    ends."""
    inner = _inner(loop, step, factor, Affine.var(step.outer) if base is None else base)
    return replace(loop, index=step.outer, step=factor, body=inner, reach=None, group=1, **ends)


def _inner(loop: For, step: Split, factor: int, base: Affine) -> Body:
    """The loop over the values of a tile."""
    value = At(loop.index, base + Affine.var(step.inner))
    inner = For(step.inner, ZERO, Affine.const(factor), 1, "seq", (value, *loop.body), group=loop.group)
    return (inner,)


def _overlapping(loop: For, step: Split, factor: int) -> For:
    """Tiles of which the last one is moved back: to end where the loop does, or where tiles may reach."""
    limit = loop.reach[1] if loop.reach else form_of(loop.stop)
    if limit is None:
        raise DoesNotFit(f"it is not known where tiles of `{loop.index}` may end")
    name = f"{step.outer}_at"
    made = _outer(loop, step, factor, Affine.var(name))
    moved = At(name, Extreme("min", (Affine.var(step.outer), limit - factor)))
    return replace(made, body=(moved, *made.body))


def _with_rest(loop: For, step: Split, factor: int, is_even: bool) -> Body:
    """Whole tiles, then what is left."""
    start, stop = form_of(loop.start), form_of(loop.stop)
    if start is None or stop is None:
        # The ends get names, so that forms of them can say how many whole tiles there are.
        ends = (At(f"{step.outer}_first", loop.start), At(f"{step.outer}_stop", loop.stop))
        first, last = (Affine.var(item.index) for item in ends)
        return (*ends, *_with_rest(replace(loop, start=first, stop=last), step, factor, is_even))
    span = stop - start
    middle = start + span.floordiv(factor) * factor
    made: list[Statement] = []
    if not (span.is_constant and span.constant < factor):
        made.append(_outer(loop, step, factor, start=start, stop=middle))
    rest = span.constant % factor if span.is_constant else _known_rest(loop, factor, is_even)
    if rest:
        made.append(_outer(loop, step, rest, start=middle, stop=stop))
    return tuple(made)


def _known_rest(loop: For, factor: int, is_even: bool) -> int:
    """How many values are left where a range ends at a multiple of the factor, or at a known end: 1 if
    unknown."""
    if not is_even or loop.reach is None or not all(form.is_constant for form in loop.reach):
        return 1
    return (loop.reach[1].constant - loop.reach[0].constant) % factor


def _clipped(loop: For, step: Split, factor: int) -> For:
    """Tiles of which the last one has fewer values."""
    outer, span = Affine.var(step.outer), value_count(loop)
    count: Bound = Affine.const(factor)
    if span is None or span % factor:
        count = Extreme("min", (count, *(form - outer for form in _least_of(loop))))
    # What is left of the last tile is known where all values of the index are, for tiles start at multiples.
    ends = loop.reach or (form_of(loop.start), form_of(loop.stop))
    whole = tuple(form for form in ends if form is not None and form.is_constant)
    reach = (whole[0], whole[1]) if len(whole) == 2 else None
    made = _outer(loop, step, factor)
    inner = (replace(each, stop=count, group=1, reach=reach) for each in made.body if isinstance(each, For))
    return replace(made, body=tuple(inner))


def _guarded(loop: For, step: Split, factor: int) -> For:
    """Tiles of which the last one has points beyond the values."""
    rows = tuple(Constraint(form - 1 - Affine.var(loop.index)) for form in _least_of(loop))
    body = rw.rewrite_computes(loop.body, lambda c: replace(c, within=(*c.within, *rows)))
    return _outer(replace(loop, body=body), step, factor)


def _branching(loop: For, step: Split, factor: int) -> For:
    """Whole tiles in one branch, the values of the last one in the other."""
    made, stop = _outer(loop, step, factor), form_of(loop.stop)
    if stop is None:
        raise DoesNotFit(f"it is not known where the last tile of `{loop.index}` ends")
    outer, one = Affine.var(step.outer), f"{step.outer}_rest"
    rest = For(one, outer, stop, 1, "seq", _inner(loop, step, 1, Affine.var(one)))
    return replace(made, body=(If((Constraint(stop - factor - outer),), made.body, (rest,)),))


def _least_of(loop: For) -> tuple[Affine, ...]:
    """The forms that a loop ends before the least of."""
    found = parts_of(loop.stop, "min")
    if not found:
        raise DoesNotFit(f"it is not known where the last tile of `{loop.index}` ends")
    return found


def _split_again(nest: Nest, step: Split) -> Nest:
    """Tiles between two ends that `once_more` names."""
    begin, end = (Affine.var(f"{step.outer}_{word}") for word in ("from", "to"))
    loop = _the_loop(nest, step.index)
    span = value_count(loop)
    if span is not None and span % step.factor == 0:
        begin, end = loop.start, loop.stop
    tiles = _outer(loop, step, step.factor, start=begin, stop=end)
    return rw.with_loops(nest, step.index, lambda loop: (tiles,))


def _the_loop(nest: Nest, index: str) -> For:
    found = [loop for loop in rw.loops_in(nest.body) if loop.index == index]
    if len(found) != 1:
        raise DoesNotFit(f"there are {len(found)} loops `{index}`")
    return found[0]


def once_more(nest: Nest, step: Split, before: Nest) -> Nest:
    """Everything for whole tiles, then for one at the end if something is left; `before` is not split yet."""
    loop, factor = _the_loop(before, step.index), step.factor
    span = value_count(loop)
    if span is not None and span % factor == 0:
        return nest
    names = [f"{step.outer}_{word}" for word in ("first", "stop", "middle", "times", "pass")]
    first, stop, middle, times, number = map(Affine.var, names)
    left, is_first = (Constraint(stop - middle - 1),), (Constraint(-number),)
    bounds = (
        loop.start,
        loop.stop,
        first + (stop - first).floordiv(factor) * factor,
        Either(left, Affine.const(2), Affine.const(1)),
    )
    here: Body = (
        At(f"{step.outer}_from", Either(is_first, first, stop - factor)),
        At(f"{step.outer}_to", Either(is_first, middle, stop)),
    )
    passes = For(names[-1], ZERO, times, 1, "seq", (*here, *nest.body))
    return replace(nest, body=(*map(At, names, bounds), passes))


# -- parts -----------------------------------------------------------------------------------------


def peel(nest: Nest, steps: Sequence[Peel]) -> Nest:
    """The values for which rows hold in loops apart from those before and after them, for some indices at
    once; or parts of the loops of reductions."""
    for step in steps:
        if rw.is_of_fold(nest, step.index):
            nest = fold_parts.peel_fold(nest, step)
    wanted = {step.index: step for step in steps if not rw.is_of_fold(nest, step.index)}
    rw.check_loops(nest, wanted)
    return replace(nest, body=_peeled(nest.body, wanted))


def _peeled(body: Body, wanted: Mapping[str, Peel]) -> Body:
    """A body with the loops of some indices in parts."""
    return rw.rewrite_loops(body, wanted, lambda loop: _parts_of(loop, wanted[loop.index], wanted))


def _parts_of(loop: For, step: Peel, wanted: Mapping[str, Peel]) -> Body:
    """The full part of a loop, and those before and after it."""
    start, stop = form_of(loop.start), form_of(loop.stop)
    if start is None or stop is None or start != ZERO or loop.step != 1:
        raise DoesNotFit(f"`{loop.index}` does not run from 0 to a form in steps of 1")
    c, whole = step.factor, stop.floordiv(step.factor)
    names, first, last = _full_part(loop.index, step, whole)
    outside = _peeled(loop.body, wanted if step.all else {})
    plain = replace(loop, body=outside, reach=(ZERO, stop))
    inner = _peeled(loop.body, wanted)
    full = replace(
        loop,
        start=first * c, stop=last * c, reach=(first * c, last * c), group=c,
        body=(Know(step.rows), *inner) if step.rows else inner,
    )  # fmt: skip
    if step.groups:
        grouped = replace(plain, reach=(ZERO, whole * c), group=c)
        before = replace(grouped, stop=first * c)
        after = [replace(grouped, start=last * c, stop=whole * c), replace(plain, start=whole * c)]
    else:
        before, after = replace(plain, stop=first * c), [replace(plain, start=last * c)]
    return (*names, *(part for part in (before, full, *after) if value_count(part) != 0))


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
    names: list[Statement] = []

    def named(word: str, bound: Bound) -> Affine:
        names.append(At(f"{index}_{word}", bound))
        return Affine.var(f"{index}_{word}")

    first = named("start", rw.least(whole, named("low", Extreme("max", tuple(lower)))))
    last = named("stop", Extreme("max", (first, named("high", Extreme("min", tuple(upper))))))
    if step.room > 1:
        fits = (Constraint(last - first - step.room),)
        first, last = named("first", Either(fits, first, ZERO)), named("last", Either(fits, last, ZERO))
    return tuple(names), first, last


def residues(nest: Nest, step: Residues) -> Nest:
    """Groups of values, and the body once for each value of a group."""
    rw.check_new(nest, step.outer, step.inner)
    return rw.with_loops(nest, step.index, lambda loop: _in_groups(loop, step))


def _in_groups(loop: For, step: Residues) -> Body:
    if loop.group % step.factor:
        return (loop,)
    c = step.factor
    start, stop = _groups(loop.start, c), _groups(loop.stop, c)
    value = At(loop.index, Affine.var(step.outer) * c + Affine.var(step.inner))
    inner = For(step.inner, ZERO, Affine.const(c), 1, "unroll", (value, *loop.body))
    reach = None if loop.reach is None else (loop.reach[0].floordiv(c), loop.reach[1].floordiv(c))
    made = replace(loop, index=step.outer, start=start, stop=stop, body=(inner,), reach=reach, group=1)
    return (made,)


def _groups(bound: Bound, c: int) -> Bound:
    """A bound that is a multiple of a number, in groups of so many."""
    match bound:
        case Extreme(forms=forms):
            return replace(bound, forms=tuple(form.floordiv(c) for form in forms))
        case Either():
            return replace(bound, then=bound.then.floordiv(c), otherwise=bound.otherwise.floordiv(c))
        case form:
            return form.floordiv(c)


# -- order and kinds -------------------------------------------------------------------------------


def reorder(nest: Nest, step: Reorder) -> Nest:
    """Loops in another order: one that is to be inside of another sinks into it, wherever that stands. Or the
    indices of a reduction."""
    if twice := next((index for index in step.indices if step.indices.count(index) > 1), None):
        raise DoesNotFit(f"`{twice}` is named twice")
    if all(rw.is_of_fold(nest, index) for index in step.indices):
        return reductions.reorder_fold(nest, step)
    place = {index: number for number, index in enumerate(step.indices)}
    rw.check_loops(nest, place)
    return replace(nest, body=_arranged(nest.body, place))


def _arranged(body: Body, place: Mapping[str, int]) -> Body:
    """A body with its loops in order."""
    return rw.rewrite_loops(
        body, place, lambda loop: _sunk(replace(loop, body=_arranged(loop.body, place)), place)
    )


def _sunk(loop: For, place: Mapping[str, int]) -> Body:
    """A loop inside of those in it that are to be outside, and of what is around these, each in order."""
    made: list[Statement] = []
    names: list[At | Know] = []
    kept: list[Statement] = []

    def finish() -> None:
        if kept:
            made.append(replace(loop, body=(*names, *kept)))
            kept.clear()

    for statement in loop.body:
        if isinstance(statement, At | Know):
            finish()
            names.append(statement)
        elif isinstance(statement, For) and _is_outside(statement, loop.index, place):
            finish()
            hoisted, own = _apart(names, loop.index)
            moving = {loop.index, *(item.index for item in own if isinstance(item, At))}
            forms = (*bound_forms(statement.start), *bound_forms(statement.stop))
            if any(form.variables & moving for form in forms):
                raise DoesNotFit(f"the ends of `{statement.index}` move with `{loop.index}`")
            # What does not move with the loop is named where its own loop has it.
            count = next((n for n, item in enumerate(statement.body) if not isinstance(item, At)), 0)
            lead = [item for item in statement.body[:count] if isinstance(item, At)]
            kept_out, inside = _apart([*own, *lead], loop.index)
            inner = _sunk(replace(loop, body=(*inside, *statement.body[count:])), place)
            made += [*(item for item in hoisted if item not in made)]
            made.append(replace(statement, body=(*kept_out, *inner)))
        else:
            kept.append(statement)
    finish()
    return tuple(made)


def _is_outside(loop: For, index: str, place: Mapping[str, int]) -> bool:
    if loop.index in place:
        return place[loop.index] < place[index]
    return any(place.get(inner.index, place[index]) < place[index] for inner in rw.loops_in(loop.body))


def _apart(names: Sequence[At | Know], index: str) -> tuple[list[At | Know], list[At | Know]]:
    """The names that do not move with an index, and those that do."""
    hoisted, own, moving = list[At | Know](), list[At | Know](), {index}
    for item in names:
        forms = bound_forms(item.value) if isinstance(item, At) else [row.form for row in item.rows]
        if frozenset[str]().union(*(form.variables for form in forms)) & moving:
            if isinstance(item, At):
                moving.add(item.index)
            own.append(item)
        else:
            hoisted.append(item)
    return hoisted, own


def reverse(nest: Nest, step: Reverse) -> Nest:
    """A loop that runs from the last value of its index down."""

    def rule(loop: For) -> Body:
        start, stop = form_of(loop.start), form_of(loop.stop)
        if start is None or stop is None or loop.step != 1:
            raise DoesNotFit(f"the ends of `{loop.index}` are no forms")
        name = f"{loop.index}_down"
        value = At(loop.index, start + stop - 1 - Affine.var(name))
        return (replace(loop, index=name, body=(value, *loop.body)),)

    return rw.with_loops(nest, step.index, rule)


def bind(nest: Nest, step: Bind) -> Nest:
    """Loops of a kind: those of a tile have as many values wherever they are."""
    loops = [index for index in step.indices if not rw.is_of_fold(nest, index)]
    rw.check_loops(nest, loops)
    if loops and step.factor:
        raise DoesNotFit(f"`{loops[0]}` is no index of a reduction, some of whose values are written out")
    nest = replace(nest, body=_of_kind(nest.body, loops, step, step.teams))
    reduced = [index for index in step.indices if index not in loops]
    if step.warp and not (reduced and step.kind == "thread"):
        raise DoesNotFit("warps join what threads have of a reduction")
    if reduced and step.kind == "thread" and not (step.factor or step.teams):
        return reductions.share_fold(nest, reduced, step.warp or 1)
    for index in reduced:
        nest = _bound_fold(nest, step, index)
    return nest


def _of_kind(body: Body, loops: Sequence[str], step: Bind, teams: int) -> Body:
    """A body whose loops have a kind; those directly in others are divided among teams with these."""

    def rule(statement: Statement) -> Body | None:
        if not isinstance(statement, For) or statement.index not in loops:
            return None
        if value_count(statement) is None and step.kind not in ON_GPU:
            raise DoesNotFit(f"the number of values of `{statement.index}` is not known")
        inside = _of_kind(statement.body, loops, step, 0)
        return (replace(statement, kind=step.kind, teams=teams, body=inside),)

    return rw.rewritten(body, rule)


def _bound_fold(nest: Nest, step: Bind, index: str) -> Nest:
    """An index of a reduction of a kind."""
    match step.kind:
        case "unroll":
            return reductions.unroll_fold(nest, index, step.factor)
        case ("jam" | "lane") as kind if not step.factor:
            return reductions.bind_fold(nest, kind, index)
        case _:
            raise DoesNotFit(f"`{index}` is an index of a reduction, whose loops are no `{step.kind}`")


def fits(nest: Nest, step: Fits, plain: Nest, extents: Mapping[str, Affine]) -> Nest:
    """The nest where all indices have so many values, else the plain one."""
    for name, _ in step.least:
        if name not in extents:
            raise DoesNotFit(f"there is no loop `{name}` in the plain nest")
    rows = tuple(Constraint(extents[name] - count) for name, count in step.least)
    return replace(nest, body=(If(rows, nest.body, plain.body),))
