"""The places where the terms of a definition stand: under which indices, reductions and choices."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from tadc.frontend.program import Definition
from tadc.frontend.terms import Domain, Guard, Reduce, Select, Term, Terms, operands
from tadc.lattice.affine import Affine, Constraint
from tadc.passes.terms.algebra import is_const
from tadc.passes.terms.index_ranges import Ranges, ranges_of, ranges_within


@dataclass(frozen=True)
class Rows:
    """All rows hold here, or, where `holds` is False, not all."""

    rows: Domain
    holds: bool


@dataclass(frozen=True)
class Test:
    """The comparison of this select holds here, or does not."""

    select: Select
    holds: bool

    @property
    def is_mask(self) -> bool:
        """Whether it tells where a value is 0."""
        return self.select.relation == "!=" and is_const(self.select.rhs, 0)


@dataclass(frozen=True)
class Place:
    """Where a term is evaluated: under indices, outermost first, with their ranges and user's names."""

    indices: tuple[str, ...]
    hints: tuple[str, ...]
    ranges: Ranges
    around: tuple[Rows | Test, ...] = ()

    @cached_property
    def told(self) -> dict[str, Affine]:
        """Indices that others tell here.

        Where `i = j + 1`, i is one more than j; in a sum over the e with `dst[e] = n`, n is `dst[e]`: there
        are as many points as values of e.
        """
        found: dict[str, Affine] = {}
        for choice in self.around:
            if not isinstance(choice, Rows) or not choice.holds:
                continue
            for form in (row.form for row in choice.rows if row.equality):
                told = next((i for i in self.indices if abs(form.coefficient(i)) == 1), None)
                if told is None or not form.variables.isdisjoint(found):
                    continue
                rest = Affine.var(told) - form * form.coefficient(told)
                if told not in rest.variables and not any(told in f.variables for f in found.values()):
                    found[told] = rest
        return found

    def under(self, choice: Rows | Test) -> Place:
        """The place below a choice."""
        return replace(self, around=(*self.around, choice))


class Places:
    """Places by number; the definition's own is 0."""

    def __init__(self, terms: Terms, sizes: frozenset[str], definition: Definition) -> None:
        self.terms, self.sizes, d = terms, sizes, definition
        self.places = [Place(d.indices, d.indices, ranges_of(d))]
        self.opened: dict[tuple[int, str, object], int] = {}
        self.bodies: dict[tuple[int, int], tuple[int, tuple[str, ...], Domain, Term]] = {}

    def choose(self, at: int, kind: str, key: object, choice: Rows | Test) -> int:
        """The place inside of a choice; what chooses by nothing of a reduction has the same."""
        if (at, kind, key) not in self.opened:
            self.opened[at, kind, key] = len(self.places)
            self.places.append(self.places[at].under(choice))
        return self.opened[at, kind, key]

    def open(self, at: int, term: Reduce) -> tuple[int, tuple[str, ...], Domain, Term]:
        """The place in a reduction, its indices, its domain and its body there."""
        if (at, term.number) not in self.bodies:
            binders, domain, body = self.terms.open(term)
            place = self.places[at]
            inner = ranges_within(binders, domain, place.ranges, self.sizes)
            hints = term.hints or ("",) * len(binders)
            made = Place(
                (*place.indices, *binders),
                (*place.hints, *hints),
                {**place.ranges, **inner},
                (*place.around, Rows(domain, holds=True)),
            )
            self.places.append(made)
            self.bodies[at, term.number] = (len(self.places) - 1, binders, domain, body)
        return self.bodies[at, term.number]

    def rebuilt(self, at: int, term: Term, below: Sequence[Term]) -> Term:
        """The term over other operands, which stand where those of `below` do."""
        if not isinstance(term, Reduce):
            return self.terms.rebuild(term, below)
        _, binders, domain, _ = self.open(at, term)
        return self.terms.reduce(binders, domain, below[0], kind=term.kind, hints=term.hints, span=term.span)

    def below(self, at: int, term: Term) -> Iterator[tuple[int, Term]]:
        """The operands of a term, with their places."""
        match term:
            case Reduce():
                inside, _, _, body = self.open(at, term)
                yield inside, body
            case Guard():
                rows = term.conditions
                yield self.choose(at, "if", rows, Rows(rows, holds=True)), term.then
                other = Rows(rows, holds=False)
                if len(rows) == 1 and not rows[0].equality:
                    other = Rows((Constraint(-rows[0].form - 1),), holds=True)
                yield self.choose(at, "else", rows, other), term.otherwise
            case Select():
                yield at, term.lhs
                yield at, term.rhs
                yield self.choose(at, "then", term.number, Test(term, holds=True)), term.then
                yield self.choose(at, "otherwise", term.number, Test(term, holds=False)), term.otherwise
            case _:
                yield from ((at, operand) for operand in operands(term))
