"""What rows imply: exact proofs over the rationals, sharpened by what integers allow.

Atoms stand for free integer variables; a floor atom also brings its definition
`c*q <= e <= c*q + c - 1`, and a lookup its bounds. A form is at least 0 on integers where it is above -1 on
rationals, and every row is divided by the gcd of its coefficients, rounding its constant
down. What is proven here is true; what is not proven may still be true.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import lru_cache
from math import gcd

from tadc.lattice.affine import Affine, Constraint, Floor, Lookup
from tadc.lattice.effort import Price, apart, pay, spend
from tadc.lattice.row_groups import grouped, parted, row_groups
from tadc.lattice.simplex import Linear
from tadc.lattice.system import System, atom_facts, outer_atoms

__all__ = [
    "NEVER",
    "atom_facts",
    "hold",
    "implied",
    "irredundant",
    "is_empty",
    "normalised",
    "not_implied",
    "quotient",
    "tightened",
    "without_floor",
]

NEVER = Constraint(Affine.const(-1))
"""The row that no point satisfies."""


def implied(form: Affine, facts: Sequence[Constraint]) -> bool:
    """Whether it is proven that `form >= 0` at every integer point where the facts hold."""
    if not form.terms and form.constant >= 0:
        return True
    holds, prices = _implied(form, tuple(facts))
    for price in prices:
        pay(price)
    return holds


def hold(rows: Iterable[Constraint], facts: Sequence[Constraint]) -> bool:
    """Whether it is proven that all rows hold at every integer point where the facts do."""
    return all(implied(form, facts) for row in rows for form in row.inequalities)


def not_implied(rows: Iterable[Constraint], facts: Sequence[Constraint]) -> tuple[Constraint, ...]:
    """The rows that are not proven to hold wherever the facts do."""
    return tuple(row for row in rows if not hold((row,), facts))


def follows(form: Affine, facts: Sequence[Constraint]) -> bool:
    """Whether it is proven that `form >= 0`, by what rounding adds to the rationals too: `N // 8 >= 0` where
    `N >= 0`, and `i // 8 <= p` where `i <= 8*p + 7`."""
    if implied(form, facts):
        return True
    floors = list(dict.fromkeys(floor for f in (form, *(row.form for row in facts)) for floor in f.floors()))
    rounded = [Constraint(Affine.atom(floor)) for floor in floors if implied(floor.numerator, facts)]
    rows = [*facts, *atom_facts((form, *(row.form for row in facts)))]
    rounded += (cut for floor in floors for cut in _cuts(floor, rows) if {*cut.form.floors()} <= {*floors})
    return bool(rounded) and implied(form, (*facts, *rounded))


def _cuts(floor: Floor, rows: Sequence[Constraint]) -> Iterator[Constraint]:
    """Bounds of a floor `e // c`: it is at most `u // c` where a row says that e <= u, and at least `l // c`
    where one says that e >= l."""
    e = floor.numerator
    variable = next((atom for atom, k in e.terms if k in (1, -1)), None)
    k = e.coefficient(variable) if variable is not None else 0
    for row in rows:
        factor = row.form.coefficient(variable) if variable is not None else 0
        if factor == -k:
            yield Constraint((row.form + e).floordiv(floor.denominator) - Affine.atom(floor))
        elif factor == k:
            yield Constraint(Affine.atom(floor) - (e - row.form).floordiv(floor.denominator))


@lru_cache(maxsize=1 << 14)
def _implied(form: Affine, facts: tuple[Constraint, ...]) -> tuple[bool, tuple[Price, ...]]:
    """Whether it is proven, and what to pay for the answer.

    Rows that share nothing with the form, not even by others, say nothing of it if they have a point.
    """
    near, far = parted(form, facts)
    holds, price = _follows(form, near)
    prices = [price]
    for rows in () if holds else far:
        if not (holds or _has_origin(rows)):
            holds, price = _system(rows).no_point()
            prices.append(price)
    return holds, tuple(price for price in prices if price is not None)


@lru_cache(maxsize=1 << 14)
def _follows(form: Affine, facts: tuple[Constraint, ...]) -> tuple[bool, Price | None]:
    return _with_atoms([form], facts).implies(form)


def _has_origin(rows: Sequence[Constraint]) -> bool:
    """Whether rows hold where all variables are 0; False where they are about elements of index arrays."""
    return all(
        row.form.constant >= 0 and not (row.equality and row.form.constant) and not row.form.has_lookups
        for row in rows
    )


def negation(rows: Sequence[Constraint], facts: Sequence[Constraint]) -> tuple[Constraint, ...]:
    """What holds where rows do not all hold, as one row; nothing if that takes more.

    An equality at an end of a range is one: `t = 0` fails where `t >= 1`, if t >= 0 by the facts.
    """
    if len(rows) != 1:
        return ()
    form = rows[0].form
    if not rows[0].equality:
        return (Constraint(-form - 1),)
    ends = (side for side in (form, -form) if implied(side, facts))
    return tuple(Constraint(side - 1) for side in ends)[:1]


def is_empty(rows: Sequence[Constraint]) -> bool:
    """Whether it is proven that no integer point satisfies all rows."""
    return not _has_origin(rows) and any(
        not _has_origin(group) and _system(group).empty for group in row_groups(rows)
    )


def quotient(form: Affine, divisor: int, facts: Sequence[Constraint]) -> int | None:
    """The value of `form // divisor` if it is proven to be the same wherever the facts hold."""
    if form.is_constant:
        return form.constant // divisor
    known = tuple(facts)
    near, _ = parted(form, known)
    value = _with_atoms([form], near).value(form)
    if value is None:
        return None
    found = value // divisor
    rest = form - found * divisor
    return found if implied(rest, known) and implied(divisor - 1 - rest, known) else None


def tightened(row: Constraint, facts: Sequence[Constraint]) -> Constraint:
    """A row that says as much where the facts hold, without terms that only fill a remainder.

    With `0 <= b <= 2`, `3*q + b - 5 >= 0` is `q - 1 >= 0` exactly if b - 5 stays between
    two multiples of 3.
    """
    row = normalised(row)
    if row.equality:
        return row
    for modulus in sorted({abs(k) for _, k in row.form.terms if abs(k) > 1}, reverse=True):
        multiple = tuple((atom, k // modulus) for atom, k in row.form.terms if k % modulus == 0)
        rest = row.form - Affine(multiple, 0) * modulus
        if rest.terms and (whole := quotient(rest, modulus, facts)) is not None:
            return tightened(Constraint(Affine(multiple, whole)), facts)
    return row


def without_floor(row: Constraint, atom: Floor) -> Constraint | None:
    """An inequality solved for a floor: `x // 2 >= i` is `x >= 2*i`; None where that is not exact."""
    k = row.form.coefficient(atom)
    rest = row.form - Affine.atom(atom) * k
    if not k or row.equality:
        return None
    if k > 0:
        return Constraint(atom.numerator + rest.floordiv(k) * atom.denominator)
    return Constraint(rest.floordiv(-k) * atom.denominator + (atom.denominator - 1) - atom.numerator)


def cleared(row: Constraint) -> Constraint:
    """A row with one floor, a unit of it, as the same row without."""
    floors = [(atom, k) for atom, k in row.form.terms if isinstance(atom, Floor)]
    return row if len(floors) != 1 or abs(floors[0][1]) != 1 else without_floor(row, floors[0][0]) or row


@lru_cache(maxsize=1 << 10)
def _system(facts: tuple[Constraint, ...]) -> System:
    return System(facts)


if hasattr(os, "register_at_fork"):
    # Another thread may have been in the middle of a question to one.
    os.register_at_fork(after_in_child=_system.cache_clear)


def _with_atoms(forms: Sequence[Affine], facts: tuple[Constraint, ...]) -> System:
    """The system of the facts and of the floors and lookups in the forms."""
    system = _system(facts)
    missing = {atom for form in forms for atom in outer_atoms(form) if atom not in system.atoms}
    if not missing:
        return system
    return _system((*facts, *atom_facts(form for form in forms if not missing.isdisjoint(outer_atoms(form)))))


def normalised(row: Constraint) -> Constraint:
    """A row as strong over the integers with coefficients without a common factor.

    A constant row stays; an equality that no integers satisfy becomes `NEVER`.
    """
    common = gcd(*(k for _, k in row.form.terms))
    if common <= 1:
        return row
    if row.equality and row.form.constant % common:
        return NEVER
    terms = tuple((atom, k // common) for atom, k in row.form.terms)
    return Constraint(Affine(terms, row.form.constant // common), row.equality)


def irredundant(
    rows: Sequence[Constraint], facts: Sequence[Constraint], loops: Collection[str] = ()
) -> list[Constraint]:
    """The rows without those that the others and the facts imply, normalised, in their order.

    Where either of two rows could go, the one that is harder to read goes. Rows that are
    proven to contradict each other or the facts give `[NEVER]`. A row about the place of an element of an
    index array stays where the rows that imply it hold the element: `e < ptr[e]` has no bound of e in it.
    So does one about what is in `loops`, which has to be bounded before an element is looked at.
    """
    kept = list(dict.fromkeys(normalised(row) for row in rows))
    if before := _before_elements(kept, frozenset(loops)):
        needed = irredundant(before, facts)
        needed += irredundant([row for row in kept if row not in before], (*facts, *needed), loops)
        return [NEVER] if NEVER in needed else [row for row in kept if row in needed]
    equalities = _needed_equalities([row for row in kept if row.equality], facts)
    inequalities = [row.form for row in kept if not row.equality]
    needed = _needed_inequalities(inequalities, (*facts, *equalities))
    if needed is None:
        return [NEVER]
    return [row for row in kept if (row in equalities if row.equality else row.form in needed)]


def in_place(
    rows: Sequence[Constraint], shape_of: Callable[[str], Sequence[int | Affine]], facts: Sequence[Constraint]
) -> tuple[Constraint, ...]:
    """Conditions, and first those that they need: under which the elements of index arrays in them are there.

    Where facts hold, and conditions in which fewer elements stand in each other.
    """
    needed: dict[Constraint, None] = {}
    for row in sorted((row for row in rows if row.form.has_lookups), key=lambda row: _depth(row.form)):
        known = (*facts, *needed, *(other for other in rows if _depth(other.form) < _depth(row.form)))
        places = [
            (place, size)
            for atom in row.form.lookups()
            for place, size in zip(atom.at, shape_of(atom.array), strict=True)
        ]
        sides = (side for place, size in places for side in (place, size - 1 - place))
        needed.update((Constraint(side), None) for side in sides if not follows(side, known))
    return (*dict.fromkeys((*needed, *rows)),)


def _before_elements(rows: Sequence[Constraint], loops: frozenset[str]) -> list[Constraint]:
    """The rows that are to hold before elements of index arrays in others are looked at, those first that
    hold the fewest in each other."""
    if not any(row.form.has_lookups for row in rows):
        return []
    # What is known outside of all loops bounds them as a number does.
    depths = {row: _depth(row.form, frozenset() if row.equality else loops) for row in rows}
    for depth in sorted(set(depths.values()))[:-1]:
        deeper = (row for row in rows if depths[row] > depth)
        at = (form for row in deeper for atom in row.form.lookups() for form in atom.at)
        places = frozenset[str]().union(*(form.variables for form in at), () if depth else loops)
        if found := [row for row in rows if depths[row] == depth and row.form.variables & places]:
            return found
    return []


def _depth(form: Affine, loops: frozenset[str] = frozenset()) -> int:
    """How many elements of index arrays stand in each other; of loops, if these are given, those alone that
    a loop changes."""
    inner = (
        max(_depth(part, loops) for part in atom.parts) + isinstance(atom, Lookup)
        for atom, _ in form.terms
        if not isinstance(atom, str) and not (loops and atom.variables.isdisjoint(loops))
    )
    return max(inner, default=0)


def _needed_equalities(rows: Sequence[Constraint], facts: Sequence[Constraint]) -> list[Constraint]:
    needed = list(rows)
    for row in sorted(rows, key=lambda row: _reading(row.form), reverse=True):
        others = (*facts, *(other for other in needed if other is not row))
        if hold((row,), others):
            needed.remove(row)
    return needed


def _needed_inequalities(forms: Sequence[Affine], facts: tuple[Constraint, ...]) -> set[Affine] | None:
    """The forms that do not follow from the others and the facts; None if they contradict them."""
    if any(form.is_constant and form.constant < 0 for form in forms):
        return None
    own = tuple(Constraint(form) for form in forms if not form.is_constant)
    rows, needed, rest = (*own, *facts), set[Affine](), list[Constraint]()
    for _, places in grouped(rows):
        asked = tuple(rows[n].form for n in places if n < len(own))
        near = tuple(rows[n] for n in places if n >= len(own))
        if not asked:
            rest += near
            continue
        those, entries = _needed_together(asked, near)
        spend(entries)
        if those is None:
            return None
        needed |= those
    return None if is_empty(rest) else needed


@lru_cache(maxsize=1 << 12)
def _needed_together(
    forms: tuple[Affine, ...], facts: tuple[Constraint, ...]
) -> tuple[set[Affine] | None, int]:
    """The same of one group of rows, which is asked for where other facts are different, with its price."""
    with apart() as meter:
        before = meter.left
        needed = _needed_of_group(forms, facts)
        return needed, before - meter.left


def _needed_of_group(forms: Sequence[Affine], facts: tuple[Constraint, ...]) -> set[Affine] | None:
    system = _with_atoms(forms, facts)
    loose: dict[str | Floor | Lookup, int] = {}
    sharpest: dict[tuple[tuple[int, int], ...], tuple[Affine, Linear]] = {}
    # Of forms that are the same under the equalities, the one that is easiest to read stays.
    for form in sorted(forms, key=_reading):
        normal = system.normal(form, loose)
        if normal is None or system.states(normal):
            continue
        key = tuple(sorted(normal[0].items()))
        if key not in sharpest or normal[1] < sharpest[key][1][1]:
            sharpest[key] = form, normal
    found = list(sharpest.values())
    if system.contradiction or any(not normal[0] for _, normal in found):
        return None
    tableau, _ = system.tableau([normal for _, normal in found])
    if not tableau.feasible:
        return None
    order = sorted(range(len(found)), key=lambda i: _reading(found[i][0]), reverse=True)
    return {found[i][0] for i in order if not tableau.drop_if_redundant(i)}


def _reading(form: Affine) -> tuple[int, int, str]:
    """How hard a form is to read."""
    return len(form.terms), sum(abs(k) for _, k in form.terms), str(form)
