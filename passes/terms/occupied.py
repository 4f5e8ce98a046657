"""When a domain has a point: the condition under which a reduction is not empty; how many it has."""

from __future__ import annotations

from collections.abc import Sequence

from tadc.frontend.terms import Domain
from tadc.lattice.affine import Affine, Constraint
from tadc.lattice.polyhedron import normalised, not_implied


def occupied(binders: Sequence[str], domain: Domain, facts: Domain) -> Domain | None:
    """Rows on the other indices that hold exactly where the domain has a point; none where it always has.

    Found where no row joins two binders; None else. Rows that the facts imply are left out.
    """
    own = set(binders)
    lower: dict[str, list[tuple[int, Affine]]] = {name: [] for name in binders}
    upper: dict[str, list[tuple[int, Affine]]] = {name: [] for name in binders}
    rows: list[Constraint] = []
    for row in domain:
        names = row.form.variables & own
        if not names:
            rows.append(row)
            continue
        if len(names) > 1 or row.equality:
            return None
        (name,) = names
        k = row.form.coefficient(name)
        rest = row.form - Affine.var(name) * k
        if not k or name in rest.variables:
            return None
        (lower if k > 0 else upper)[name].append((abs(k), rest))
    for name in binders:
        if not lower[name] or not upper[name]:
            return None
        rows += [_between(a, p, b, q) for a, p in lower[name] for b, q in upper[name]]
    rows = list(dict.fromkeys(map(normalised, rows)))
    return not_implied(rows, facts)


def counted(binders: Sequence[str], domain: Domain) -> list[Affine] | None:
    """How many values each index of a domain has if that has a point; None where no box is found."""
    found: list[Affine] = []
    for name in binders:
        forms = [form for row in domain if name in row.form.variables for form in row.inequalities]
        steps = [form.coefficient(name) for form in forms]
        if sorted(steps) != [-1, 1] or any(form.variables & set(binders) - {name} for form in forms):
            return None
        found.append(forms[0] + forms[1] + 1)
    return found if all(form.is_linear for form in found) else None


def _between(a: int, p: Affine, b: int, q: Affine) -> Constraint:
    """Whether an integer x has `a*x + p >= 0` and `-b*x + q >= 0`, a and b being positive."""
    return Constraint(q * a + p * b) if 1 in (a, b) else Constraint(p.floordiv(a) + q.floordiv(b))
