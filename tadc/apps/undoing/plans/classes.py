"""What the matrix of a component looks like, read off its index maps: how it is solved, and what that costs.

A component takes the numbers that die to as many that are new, by a matrix A at each point. Which elements of
A can differ from 0 follows from the access maps alone, exactly, whatever the values are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import combinations_with_replacement
from math import prod

from tadc.apps.undoing.plans.forms import ComponentForm, flat, positions
from tadc.apps.undoing.plans.kinds import BAND, SMALL, LowRank, MatrixClass, dense, full_blocks, permutation
from tadc.apps.undoing.plans.relations import ElementRelation, TooMany, apart, relations
from tadc.toolkit.language import (
    Affine,
    Constraint,
    EliminationLimit,
    SearchLimit,
    equals_zero,
    find_point,
    hold,
    implied,
    is_empty,
)

#: A value of at most this share of the component, and of at most so many numbers, makes a low rank.
_SHARE, _RANK = 4, 256
#: A recurrence looks back so far at most.
_ORDER = 8
#: So many relations are compared in pairs.
_PAIRS = 16
#: So many points are tried to prove that two index maps meet nowhere.
_TRIES = 5000


def class_of(form: ComponentForm) -> MatrixClass | LowRank:
    """The class of a component, of those that hold of its index maps the one that is cheapest to solve."""
    if not form.size:
        # As many numbers die as are new, none, but not as many tensors: no other class allows for that.
        return permutation(0)
    found = _direct(form, ())
    if found.method == "lapack" and found.count == 1 and not found.is_band and not found.cyclic:
        through = _narrow(form)
        if through:
            base = _direct(form, through)
            is_easy = base.method in ("formula", "blocks") or (base.method == "lapack" and base.is_band)
            if is_easy and not (base.count > 1 and base.is_band):
                low = LowRank(base, through, form.elements(through))
                return low if low.cost < found.cost else found
    return found


def _direct(form: ComponentForm, through: tuple[str, ...]) -> MatrixClass:
    """The class of what does not pass through some values."""
    if not through and all(not form.shapes[name] for name in (*form.dying, *form.new)):
        # A few scalars are one small system.
        return full_blocks("formula" if form.size <= SMALL else "blocks", 0, 1, form.size)
    try:
        found = [
            r
            for d in form.program.definitions
            if d.name in form.new
            for r in relations(form, d, through)
            if r.source in form.dying and not is_empty(r.facts)
        ]
    except (TooMany, EliminationLimit):
        return dense(form.size)
    for attempt in (_blocks, _permutation, _banded):
        with suppress(EliminationLimit, SearchLimit):
            chosen = attempt(form, found)
            if chosen is not None and chosen.method == "blocks":
                # Elements that change places within blocks take no system.
                chosen = _permutation(form, found) or chosen
            if chosen is not None:
                return chosen
    return dense(form.size)


_Found = Sequence[ElementRelation]


def _blocks(form: ComponentForm, found: _Found) -> MatrixClass | None:
    """Dimensions in front, of one extent in all tensors, whose index is the same on both sides."""
    batch = _batch(form, found)
    shapes = {form.shapes[name] for name in (*form.dying, *form.new)}
    shape = form.shapes[form.new[0]]
    count = prod(shape[:batch])
    size = form.size // count
    is_one = len(shapes) == len(form.dying) == len(form.new) == 1
    lower = upper = size
    if is_one and 0 < len(shape) - batch and (batch == len(shape) - 1 or size > SMALL):
        lower, upper = _reach(form, found, batch)
    reach = lower + upper
    if batch == len(shape) - 1 and not (lower and upper) and 0 < reach <= min(_ORDER, (size - 1) // 2):
        return MatrixClass("recurrence", size, lower, upper, batch, count)
    if not batch or count == 1 < size:
        return None
    if size <= SMALL:
        closed = len(shapes) == 1 and len(shape) == batch
        return full_blocks("formula" if closed else "blocks", batch, count, size)
    if not lower or not upper:
        far = size - 1
        return MatrixClass("triangles", size, 0 if upper else far, far if upper else 0, batch, count)
    if (reach + 1) * BAND <= size:
        return MatrixClass("lapack", size, lower, upper, batch, count)
    return full_blocks("blocks", batch, count, size)


def _reach(form: ComponentForm, found: _Found, batch: int) -> tuple[int, int]:
    """How far the occupied columns of a row of a block are from the diagonal, below and above."""
    shape = form.shapes[form.new[0]][batch:]
    offsets = [(flat(shape, r.forms[batch:]) - flat(shape, r.into.own[batch:]), r.facts) for r in found]
    return _reaches(offsets, prod(shape))


def _reaches(offsets: Sequence[tuple[Affine, Sequence[Constraint]]], size: int) -> tuple[int, int]:
    """The least bounds that are proven of how far offsets are below and above 0."""

    def greatest(sign: int) -> int:
        return max(
            _least(lambda n, o=offset, k=known: implied(n - o * sign, k), -size - 1, size)
            for offset, known in offsets
        )

    return (max(0, greatest(-1)), max(0, greatest(1))) if offsets else (0, 0)


def _batch(form: ComponentForm, found: _Found) -> int:
    """How many dimensions in front have the same extent in all tensors, and the same index on both sides."""
    shapes = [form.shapes[name] for name in (*form.dying, *form.new)]
    batch = 0
    for extents in zip(*shapes, strict=False):
        if len(set(extents)) > 1:
            break
        if not all(hold([equals_zero(r.forms[batch] - r.into.own[batch])], r.facts) for r in found):
            break
        batch += 1
    return batch


def _permutation(form: ComponentForm, found: _Found) -> MatrixClass | None:
    """Whether every row and every column has at most one element: no two relations meet."""
    if len(found) > _PAIRS or any(r.unknowns for r in found):
        return None
    for r, s in combinations_with_replacement(found, 2):
        if r is not s and r.into is s.into and not _never_both(r, s):
            return None
        if r.source == s.source and not _never_one(r, s):
            return None
    return permutation(form.size)


def _never_both(one: ElementRelation, other: ElementRelation) -> bool:
    """Whether no element depends on two, one by each relation."""
    known = (*one.facts, *other.rows)
    if one.source != other.source:
        return _no_point(known)
    return all(_no_point((*known, row)) for row in apart(one.forms, other.forms))


def _never_one(one: ElementRelation, other: ElementRelation) -> bool:
    """Whether no two elements depend on one, one by each relation."""
    second = {name: Affine.var(f"{name}'") for name in other.into.indices}
    there = [row.substitute(second) for row in other.facts]
    meet = [equals_zero(a - b.substitute(second)) for a, b in zip(one.forms, other.forms, strict=True)]
    known = (*one.facts, *there, *meet)
    if one.into is not other.into:
        return _no_point(known)
    different = apart(one.into.own, list(second.values()))
    # Of a relation and itself the two points can be exchanged.
    return all(_no_point((*known, row)) for row in (different[::2] if one is other else different))


def _no_point(rows: Sequence[Constraint]) -> bool:
    return is_empty(rows) or find_point(rows, _TRIES) is None


def _banded(form: ComponentForm, found: _Found) -> MatrixClass | None:
    """How far the occupied columns of a row are from the diagonal."""
    shapes = {form.shapes[name] for name in (*form.dying, *form.new)}
    interleaved = len(shapes) == 1
    columns = positions(form, form.dying, interleaved)
    rows = positions(form, form.new, interleaved)

    def place(name: str, forms: Sequence[Affine], at: tuple[int, int, int]) -> Affine:
        return flat(form.shapes[name], forms) * at[1] + at[0]

    offsets = [
        (
            place(r.source, r.forms, columns[r.source]) - place(r.into.name, r.into.own, rows[r.into.name]),
            r.facts,
        )
        for r in found
    ]
    size = form.size
    lower, upper = _reaches(offsets, size)
    if (lower + upper + 1) * BAND <= size:
        return MatrixClass("lapack", size, lower, upper, interleaved=interleaved)
    if not lower or not upper:
        far = size - 1
        return MatrixClass("lapack", size, 0 if upper else far, far if upper else 0, interleaved=interleaved)
    return _cyclic(size, interleaved, offsets)


def _cyclic(
    size: int, interleaved: bool, offsets: Sequence[tuple[Affine, Sequence[Constraint]]]
) -> MatrixClass | None:
    """A band that goes on past the end: offsets near 0, near `size` and near `-size`."""

    def within(reach: int) -> bool:
        return all(
            _no_point(
                (*known, Constraint(sign * offset - reach - 1), Constraint(size - reach - 1 - sign * offset))
            )
            for offset, known in offsets
            for sign in (1, -1)
        )

    most = (size // BAND - 1) // 2
    reach = 1
    while reach <= most and not within(reach):
        reach *= 2
    if reach > most:
        return None
    reach = _least(within, reach // 2, reach)
    return MatrixClass("lapack", size, reach, reach, interleaved=interleaved, cyclic=True)


def _least(holds: Callable[[int], bool], low: int, high: int) -> int:
    """The least number from `low + 1` to `high` of which it holds; it holds of all above that."""
    while low + 1 < high:
        middle = (low + high) // 2
        if holds(middle):
            high = middle
        else:
            low = middle
    return high


def _narrow(form: ComponentForm) -> tuple[str, ...]:
    """The small values in between that others read, where each path through one is of low rank."""
    limit = min(_RANK, form.size // _SHARE)
    small = [
        d.name
        for d in form.program.definitions
        if d.name not in form.new and prod(form.shapes[d.name]) <= limit
    ]
    if not small:
        return ()
    chosen: dict[str, None] = {}
    with suppress(TooMany):
        for definition in form.program.definitions:
            if definition.name not in small:
                for r in relations(form, definition, small):
                    if r.source in small:
                        chosen[r.source] = None
    through = tuple(chosen)
    return through if form.elements(through) <= limit else ()
