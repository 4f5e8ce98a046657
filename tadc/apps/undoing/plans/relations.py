"""Which elements depend on which, through the statements of a component, as maps on integer sets."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import product

from tadc.apps.undoing.plans.forms import ComponentForm
from tadc.apps.undoing.plans.graph import differentiable
from tadc.toolkit.language import Affine, Constraint, Definition, Domain, Read, Terms, box, evaluated

#: More relations of one value than this are not looked at one by one.
MOST = 200


class TooMany(Exception):
    """There are too many paths."""


@dataclass(frozen=True)
class ElementRelation:
    """An element at indices i depends on the element `forms` of `source`, where `rows` hold.

    `rows` and `forms` are in i and in further unknowns: where some values of these satisfy the rows.
    """

    source: str
    forms: tuple[Affine, ...]
    rows: Domain


def relations(
    form: ComponentForm, into: Definition, direct: Collection[str] = ()
) -> tuple[ElementRelation, ...]:
    """What the elements of a definition depend on, among values that die and those of `direct`.

    Paths through a value of `direct` end there. Raises TooMany.
    """
    return _Paths(form, frozenset(direct)).of(into)


@dataclass(frozen=True)
class _Paths:
    form: ComponentForm
    direct: frozenset[str]

    def of(self, into: Definition) -> tuple[ElementRelation, ...]:
        made = {d.name: d for d in self.form.steps.definitions}
        ends = self.direct | set(self.form.dying)
        known: dict[str, tuple[ElementRelation, ...]] = {}
        wanted = [into.name]
        while wanted:
            name = wanted[-1]
            if name in known:
                wanted.pop()
                continue
            steps = _reads(self.form.program.terms, made[name])
            if any(step.source == name for step in steps):
                raise TooMany  # a recurrence in between
            missing = [
                s.source for s in steps if s.source in made and s.source not in ends and s.source not in known
            ]
            if missing:
                wanted += missing
                continue
            found: dict[ElementRelation, None] = {}
            for step in steps:
                if step.source in ends:
                    found[_named(step, made[name])] = None
                elif step.source in made:
                    indices = made[step.source].indices
                    for rest in known[step.source]:
                        found[_named(_joined(step, indices, rest), made[name])] = None
                if len(found) > MOST:
                    raise TooMany
            known[name] = tuple(found)
        return known[into.name]


def _reads(terms: Terms, definition: Definition) -> list[ElementRelation]:
    """The reads of a body with the sets over which they are read; unknowns are those of the sums."""
    found: list[ElementRelation] = []
    for term, _, rows in evaluated(terms, definition.body, (), below=differentiable):
        if isinstance(term, Read):
            found.append(ElementRelation(term.tensor, term.indices, rows))
        if len(found) > 4 * MOST:
            raise TooMany
    return found


def _joined(step: ElementRelation, indices: Sequence[str], rest: ElementRelation) -> ElementRelation:
    """The elements that depend on others through those of one value, whose indices these are."""
    inner = dict(zip(indices, step.forms, strict=True))
    forms = tuple(form.substitute(inner) for form in rest.forms)
    return ElementRelation(rest.source, forms, step.rows + tuple(row.substitute(inner) for row in rest.rows))


def _named(relation: ElementRelation, definition: Definition) -> ElementRelation:
    """The relation with unknowns named in order, so that equal ones are one."""
    found: dict[str, Affine] = {}
    for form in (*relation.forms, *(row.form for row in relation.rows)):
        for name in sorted(form.variables):
            if name.startswith("?") and name not in found:
                found[name] = Affine.var(f"?{len(found)}")
    forms = tuple(form.substitute(found) for form in relation.forms)
    rows = dict.fromkeys(row.substitute(found) for row in relation.rows)
    return ElementRelation(relation.source, forms, tuple(rows))


def facts(definition: Definition, relation: ElementRelation) -> Domain:
    """What holds of the indices of a relation."""
    return (*box(definition.indices, definition.shape), *relation.rows)


def apart(one: Sequence[Affine], other: Sequence[Affine]) -> list[Constraint]:
    """Rows of which one holds where two lists of forms differ."""
    pairs = zip(one, other, strict=True)
    return [Constraint(sign * (a - b) - 1) for (a, b), sign in product(pairs, (1, -1))]
