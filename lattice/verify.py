"""A certificate, checked: identities of integers, and proofs by exact linear programming or by search.

The last four checks alone prove that the loops visit each solution once, whatever `solve` did; the
first ones are what a person follows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

from tadc.lattice.affine import Affine, Constraint, Floor, Lookup
from tadc.lattice.bounds import EliminationLimit
from tadc.lattice.certificate import Certificate, Rational, spanned
from tadc.lattice.late_dataclasses import dataclass
from tadc.lattice.points import SearchLimit, find_point
from tadc.lattice.polyhedron import hold
from tadc.lattice.rational import determinant, product
from tadc.lattice.trace import Determined, Division, Tight

_BUDGET = 5000


@dataclass(frozen=True)
class Check:
    """Something that makes a solution exact, and whether it has been proven here."""

    what: str
    holds: bool


def verify(certificate: Certificate) -> tuple[Check, ...]:
    """Every check, in the order of the argument.

    What is reported to hold does; what is reported not to hold may hold where no proof was found.
    """
    return tuple(
        Check(what, check(certificate))
        for what, check in CHECKS
        if certificate.matrix or check not in _OF_EQUALITIES
    )


def _smith_form(c: Certificate) -> bool:
    """U A V = S, diagonal, each factor dividing the next."""
    form = c.smith
    factors = form.factors
    expected = [
        [form.diagonal[i][i] if i == j and i < form.rank else 0 for j in range(len(form.right))]
        for i in range(len(form.left))
    ]
    divides = all(b % a == 0 for a, b in pairwise(factors))
    same = product(product(form.left, c.matrix), form.right) == form.diagonal == expected
    return same and divides and all(s > 0 for s in factors)


def _unimodular(c: Certificate) -> bool:
    return all(
        all(len(row) == len(m) for row in m) and abs(determinant(m)) == 1
        for m in (c.smith.left, c.smith.right)
    )


def _kernel(c: Certificate) -> bool:
    rank = c.smith.rank
    is_last = all(row[rank:] == k for row, k in zip(c.smith.right, c.kernel, strict=True))
    return is_last and not any(x for row in product(c.matrix, c.kernel) for x in row)


def _exact(c: Certificate) -> bool:
    """Quotients are exact where the guards hold: what follows may read them as fractions."""
    known = (*c.facts, *c.solution.guards)
    rows = [Constraint(form.mod(divisor), equality=True) for form, divisor in c.trace.exact.values()]
    return all(_proven(row, known) for row in (*c.trace.guards, *rows))


def _offset(c: Certificate) -> bool:
    """A p = e(b) at the particular solution wherever the guards hold."""
    if not _exact(c):
        return False
    for row, e in zip(c.matrix, c.right_side, strict=True):
        left = sum((x * k for x, k in zip(c.offset, row, strict=True)), -e)
        if not _vanishes(c, left):
            return False
    return True


def _vanishes(c: Certificate, form: Affine) -> bool:
    """Whether the form is 0 where the guards hold."""
    known = (*c.facts, *c.solution.guards)
    zeros: list[Rational] = [c.fraction(g.form) for g in c.trace.guards if g.equality]
    if spanned(c.fraction(form), zeros) is not None:
        return True
    return _follows(c, Constraint(form, equality=True), known)


def _substituted(c: Certificate, form: Affine) -> Affine:
    """A form of unknowns over the loops."""
    solution = c.solution

    def value(atom: str | Floor | Lookup) -> Affine | None:
        return solution.substitution.get(atom) if isinstance(atom, str) else solution.atoms.get(atom)

    return form.replace(value)


def _follows(c: Certificate, row: Constraint, known: Sequence[Constraint]) -> bool:
    """Whether the row is proven, read without its quotients or with them."""
    numerator = Constraint(c.quotients.fraction(row.form)[0], row.equality)
    return hold((numerator,), known) or _proven(row, known)


def _proven(row: Constraint, known: Sequence[Constraint]) -> bool:
    """Whether the row follows, by linear programming or else by trying all points."""
    if hold((row,), known):
        return True
    try:
        return all(find_point([*known, Constraint(-s - 1)], _BUDGET) is None for s in row.inequalities)
    except (SearchLimit, EliminationLimit, ValueError):
        return False


def _sound(c: Certificate) -> bool:
    """Each point of the loops is a solution."""
    if not _exact(c):
        return False
    known = (*c.facts, *c.solution.guards, *c.solution.domain)
    rows = [*c.rows, *_definitions(c)]
    return all(
        (row.equality and _vanishes(c, form)) or _follows(c, Constraint(form, row.equality), known)
        for row in rows
        for form in [_substituted(c, row.form)]
    )


def _definitions(c: Certificate) -> Iterator[Constraint]:
    """What makes the value given for a floor the floor, and that of a lookup one that it may have."""
    for atom in c.trace.atoms:
        yield from map(Constraint, atom.facts)


def _complete(c: Certificate) -> bool:
    """Each solution satisfies the guards and the rows on the loops, and is the loops' own point."""
    # A floor of parameters is only decided once it is one of unknowns. No quotient is read as a
    # fraction here: that it is exact is what a guard says, and the guards are to be proven.
    back = {**c.back, **_parameters(c)}
    known = [*c.facts, *c.rows]
    found = [Constraint(form - Affine.var(name), True) for name, form in c.solution.substitution.items()]
    for row in [*_lemmas(c), *c.solution.guards, *c.solution.domain, *found]:
        proven = row.substitute(back)
        simpler = Constraint(_split_floors(proven.form), row.equality)
        if not _proven(proven, known) and not _proven(simpler, known):
            return False
        known.append(simpler)
    return True


def _lemmas(c: Certificate) -> Iterator[Constraint]:
    """What the steps found on their way: one proof of all at once would be harder."""
    for step in c.trace.steps:
        if isinstance(step, Division) and step.guard is not None:
            yield step.guard
        elif isinstance(step, Tight):
            yield Constraint(step.form, equality=True)
        elif isinstance(step, Determined):
            yield Constraint(Affine.var(step.name) - step.value, equality=True)


def _parameters(c: Certificate) -> dict[str, Affine]:
    """Parameters that an access map gives as forms of unknowns."""
    found: dict[str, Affine] = {}
    own = set(c.unknowns)
    for row in c.rows:
        names = row.form.variables - own
        name = next(iter(names), "")
        k = row.form.coefficient(name)
        if row.equality and len(names) == 1 and abs(k) == 1 and name not in found:
            found[name] = (row.form - Affine.var(name) * k) * -k
    return found


def _split_floors(form: Affine) -> Affine:
    """The form with `(6*i) // 5` read as `i + i // 5`: what is left in a floor is small."""

    def split(atom: str | Floor | Lookup) -> Affine | None:
        if not isinstance(atom, Floor):
            return None
        numerator, c = _split_floors(atom.numerator), atom.denominator
        whole = Affine.of({a: k // c for a, k in numerator.terms})
        return whole + (numerator - whole * c).floordiv(c)

    return form.replace(split)


def _injective(c: Certificate) -> bool:
    """The loops can be read off the solution."""
    return all(_vanishes(c, _substituted(c, c.back[name]) - Affine.var(name)) for name in c.solution.kernel)


def _bounds(c: Certificate) -> bool:
    """Each row of the domain is a bound of its innermost loop, or follows, or is tested inside."""
    try:
        nest = c.nest
    except EliminationLimit:
        return False
    bounds = [*nest.inside, *nest.outside]
    for level in nest.levels:
        z = Affine.var(level.name)
        bounds += [Constraint(z * bound.divisor - bound.form) for bound in level.lower]
        bounds += [Constraint(bound.form - z * bound.divisor) for bound in level.upper]
    known = (*c.facts, *c.solution.guards)
    inside = all(_follows(c, row, (*known, *bounds)) for row in c.solution.domain)
    return inside and all(_follows(c, row, (*known, *c.solution.domain)) for row in bounds)


_OF_EQUALITIES: tuple[Callable[[Certificate], bool], ...] = (_smith_form, _unimodular, _kernel, _offset)

CHECKS: tuple[tuple[str, Callable[[Certificate], bool]], ...] = (
    ("S = U A V is diagonal, and each of its factors divides the next", _smith_form),
    ("det U and det V are 1 or -1", _unimodular),
    ("A K = 0, and K is the last columns of V", _kernel),
    ("A p = e(b) at z = 0 where the guards hold", _offset),
    ("every point of the loops satisfies every row of the system", _sound),
    ("every solution satisfies the guards and is reached by a point of the loops", _complete),
    ("no two points of the loops reach one solution", _injective),
    ("the loop bounds are the domain of z, no wider and no narrower", _bounds),
)

__all__ = ["CHECKS", "Check", "verify"]
