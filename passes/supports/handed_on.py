"""Recurrences whose elements are 0 but where one index is told by the others, at every step.

`D[e, t, b] = if {t = 0 and s[e] = b} then (1) else (0) + w[e]*D[e, t - 1, b]` is one: what it starts from is
0 but where `s[e] = b`, and so are elements that read such. So `C[e, t] = D[e, t, s[e]]` is all of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from tadc.frontend.program import Definition
from tadc.frontend.terms import Domain, Read, Term, Terms, bottom_up, reachable
from tadc.lattice.affine import Affine
from tadc.passes.terms.algebra import Algebra, is_const
from tadc.passes.terms.alike import with_tensors


def told_by_others(
    old: Definition, parts: Sequence[tuple[Domain, Term]], sizes: Iterable[str], algebra: Algebra
) -> tuple[str, Affine] | None:
    """An index and the form of others that it is where elements are not 0; None where none is seen to be.

    `parts` are the addends of an element, each of which is 0 where its rows do not hold.
    """
    starts: list[set[tuple[str, Affine]]] = []
    outer = {*old.indices, *sizes}
    for rows, value in parts:
        if not is_const(_without_reads(algebra, value, old.name), 0):
            starts.append({found for row in rows for found in _tells(row.form, old, outer) if row.equality})
    places = [t.indices for t in reachable([old.body]) if isinstance(t, Read) and t.tensor == old.name]
    for name, told in sorted(set[tuple[str, Affine]]().union(*starts), key=str):
        if all((name, told) in start for start in starts) and all(
            _stays(old, at, name, told) for at in places
        ):
            return name, told
    return None


def _tells(form: Affine, old: Definition, outer: set[str]) -> list[tuple[str, Affine]]:
    """The indices that an equality of a form with 0 tells, and what by."""
    assert old.order is not None
    found: list[tuple[str, Affine]] = []
    for name in old.indices:
        told = form.solved(name)
        if told is not None and name not in old.order.variables and told.variables <= outer:
            found.append((name, told))
    return found


def _without_reads(algebra: Algebra, value: Term, name: str) -> Term:
    """A value where what is read of a tensor is 0."""

    def node(term: Term, below: list[Term]) -> Term:
        is_left_out = isinstance(term, Read) and term.tensor == name
        return algebra.zero if is_left_out else algebra.rebuild(term, below)

    return bottom_up(value, {}, node)


def _stays(old: Definition, at: Sequence[Affine], name: str, told: Affine) -> bool:
    """Whether an element at a place with the told index is read where the index is told so too."""
    place = old.at(at)
    here = {name: told}
    return told.substitute(place).substitute(here) == place[name].substitute(here)


def without_index(terms: Terms, old: Definition, name: str, told: Affine) -> Definition:
    """The recurrence of the elements where an index is what tells it."""
    left = [n for n, index in enumerate(old.indices) if index != name]

    def fewer(read: Read) -> Term | None:
        if read.tensor != old.name:
            return None
        return terms.reread(read, old.name, [read.indices[n] for n in left])

    body = terms.with_reads(terms.substitute(old.body, {name: told}), fewer)
    indices, shape = (tuple(whole[n] for n in left) for whole in (old.indices, old.shape))
    return replace(old, indices=indices, shape=shape, body=body)


def renamed(terms: Terms, old: Definition, name: str) -> Definition:
    """A definition of another name, which reads itself by that."""
    return replace(old, name=name, body=with_tensors(terms, old.body, {old.name: name}))
