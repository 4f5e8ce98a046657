"""Which elements depend on which, through the statements of a component, as maps on integer sets."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
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
    """An element of `into`, at indices i, depends on the element `forms` of `source`, where `rows` hold.

    `rows` and `forms` are in i and in further unknowns: where some values of these satisfy the rows.
    """

    into: Definition = field(compare=False)
    source: str
    forms: tuple[Affine, ...]
    rows: Domain

    @property
    def facts(self) -> Domain:
        """What holds of its indices."""
        return (*box(self.into.indices, self.into.shape), *self.rows)

    @property
    def unknowns(self) -> list[str]:
        """The further unknowns, in a fixed order; some stand there twice."""
        forms = (*self.forms, *(row.form for row in self.rows))
        return [name for form in forms for name in sorted(form.variables) if name.startswith("?")]


def relations(
    form: ComponentForm, into: Definition, direct: Collection[str] = ()
) -> tuple[ElementRelation, ...]:
    """What the elements of a definition depend on, among values that die and those of `direct`.

    Paths through a value of `direct` end there. Raises TooMany.
    """
    ends, wanted = {*direct, *form.dying}, {into.name}
    reads: dict[str, list[ElementRelation]] = {}
    for d in reversed(form.steps.definitions):
        if d.name in wanted:
            reads[d.name] = _reads(form.program.terms, d)
            wanted |= {step.source for step in reads[d.name]} - ends
    known: dict[str, tuple[ElementRelation, ...]] = {}
    for name in reversed(reads):
        found: dict[ElementRelation, None] = {}
        for step in reads[name]:
            if step.source == name:
                raise TooMany  # a recurrence in between
            rest = known.get(step.source, ())
            found |= dict.fromkeys(
                map(_named, [step] if step.source in ends else [_joined(step, r) for r in rest])
            )
            if len(found) > MOST:
                raise TooMany
        known[name] = tuple(found)
    return known[into.name]


def _reads(terms: Terms, definition: Definition) -> list[ElementRelation]:
    """The reads of a body with the sets over which they are read; unknowns are those of the sums."""
    found: list[ElementRelation] = []
    for term, _, rows in evaluated(terms, definition.body, (), below=differentiable):
        if isinstance(term, Read):
            found.append(ElementRelation(definition, term.tensor, term.indices, rows))
        if len(found) > 4 * MOST:
            raise TooMany
    return found


def _joined(step: ElementRelation, rest: ElementRelation) -> ElementRelation:
    """The elements that depend on others through those of one value."""
    inner = rest.into.at(step.forms)
    forms = tuple(form.substitute(inner) for form in rest.forms)
    rows = (*step.rows, *(row.substitute(inner) for row in rest.rows))
    return ElementRelation(step.into, rest.source, forms, rows)


def _named(relation: ElementRelation) -> ElementRelation:
    """The relation with unknowns named in order, so that equal ones are one."""
    found = {name: Affine.var(f"?{n}") for n, name in enumerate(dict.fromkeys(relation.unknowns))}
    forms = tuple(form.substitute(found) for form in relation.forms)
    rows = dict.fromkeys(row.substitute(found) for row in relation.rows)
    return replace(relation, forms=forms, rows=tuple(rows))


def apart(one: Sequence[Affine], other: Sequence[Affine]) -> list[Constraint]:
    """Rows of which one holds where two lists of forms differ."""
    pairs = zip(one, other, strict=True)
    return [Constraint(sign * (a - b) - 1) for (a, b), sign in product(pairs, (1, -1))]
