"""Bounds: forms, the least and the greatest of some, forms by a condition."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import product
from typing import Literal

from tadc.lattice.affine import ZERO, Affine
from tadc.passes.nest.nest import Body, Bound, Either, Extreme, For


def form_of(bound: Bound) -> Affine | None:
    """A bound that is one form."""
    return bound if isinstance(bound, Affine) else None


def rename_bound(bound: Bound, names: Mapping[str, Affine]) -> Bound:
    """A bound where indices are replaced by forms."""
    match bound:
        case Extreme():
            return replace(bound, forms=tuple(form.substitute(names) for form in bound.forms))
        case Either():
            rows = tuple(row.substitute(names) for row in bound.rows)
            return Either(rows, bound.then.substitute(names), bound.otherwise.substitute(names))
        case form:
            return form.substitute(names)


def bound_forms(bound: Bound) -> tuple[Affine, ...]:
    """All forms of a bound, those of its condition too."""
    match bound:
        case Extreme(forms=forms):
            return forms
        case Either():
            return (*(row.form for row in bound.rows), bound.then, bound.otherwise)
        case form:
            return (form,)


def parts_of(bound: Bound, which: Literal["min", "max"]) -> tuple[Affine, ...]:
    """The forms that a bound is the least or the greatest of; nothing where it is not known to be."""
    if isinstance(bound, Extreme) and bound.which == which:
        return bound.forms
    return (bound,) if isinstance(bound, Affine) else ()


def extreme_of(which: Literal["min", "max"], forms: Iterable[Affine]) -> Bound:
    """The least or the greatest of forms: of one, that one."""
    found = tuple(dict.fromkeys(forms))
    return found[0] if len(found) == 1 else Extreme(which, found)


def around(body: Body, *loops: tuple[str, Bound, Bound]) -> Body:
    """A body in loops, the first outermost, over the values of an index from a start on below a stop."""
    for index, start, stop in reversed(loops):
        body = (For(index, start, stop, 1, "seq", body),)
    return body


def least_span(starts: Iterable[Affine], stops: Iterable[Affine]) -> int | None:
    """The least number of steps of 1 from a start to a stop that is known; None if none is."""
    spans = (stop - start for start, stop in product(starts, stops))
    return min((max(0, span.constant) for span in spans if span.is_constant), default=None)


def most_values(loop: For) -> int | None:
    """No less than the number of values from the start of a loop to its stop, if something is known of it."""
    return least_span(parts_of(loop.start, "max"), parts_of(loop.stop, "min"))


def value_count(loop: For) -> int | None:
    """The number of values from the start of a loop to its stop, if that is known."""
    start, stop = form_of(loop.start), form_of(loop.stop)
    return None if start is None or stop is None else least_span([start], [stop])


def turns_of(loop: For) -> int | None:
    """How many turns a loop takes, if that is known."""
    count = value_count(loop)
    return None if count is None else -(-count // loop.step)


def indices_of(used: Iterable[Affine], named: Mapping[str, Bound]) -> frozenset[str]:
    """The indices that forms depend on, by way of those that are named too."""
    found, waiting = set[str](), [name for form in used for name in form.variables]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += [n for form in bound_forms(named.get(name, ZERO)) for n in form.variables]
    return frozenset(found)
