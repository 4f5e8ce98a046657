"""The places where the terms of a definition stand: under which indices, reductions and choices."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Sequence
from functools import cached_property

from tadc.frontend.program import Definition, Program
from tadc.frontend.terms import Domain, Guard, Reduce, Select, Term, operands
from tadc.lattice.affine import Affine, Lookup
from tadc.lattice.fibre import Fibre, fibres_in
from tadc.lattice.late_dataclasses import dataclass, field, replace
from tadc.lattice.polyhedron import negation
from tadc.passes.terms.algebra import is_const
from tadc.passes.terms.costs import together
from tadc.passes.terms.index_ranges import Range, Ranges, ranges_of, ranges_within


@dataclass(frozen=True)
class RowsHold:
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
class ToldIndex:
    """What others, `by`, tell of an index: it is `form`, or nothing is in `fibre` for another value of it."""

    by: frozenset[str]
    form: Affine | None
    fibre: Fibre | None = None


@dataclass(frozen=True)
class TermPlace:
    """Where a term is evaluated: under indices, outermost first, with their ranges and user's names.

    `increasing` are the index arrays that are. `over` keeps what `told_indices` makes of the place: by an
    element the index that stands for it, the place under it, and terms over it by number.
    """

    indices: tuple[str, ...]
    hints: tuple[str, ...]
    ranges: Ranges
    around: tuple[RowsHold | Test, ...] = ()
    increasing: Collection[str] = frozenset()
    over: dict[Lookup, tuple[str, TermPlace, dict[int, Term]]] = field(
        default_factory=dict[Lookup, "tuple[str, TermPlace, dict[int, Term]]"],
        init=False,
        repr=False,
        compare=False,
    )

    @cached_property
    def rows(self) -> Domain:
        """What choices around say."""
        return tuple(row for c in self.around if isinstance(c, RowsHold) and c.holds for row in c.rows)

    @cached_property
    def in_ranges(self) -> Domain:
        """That indices are in their ranges."""
        found = [within.rows(name) for name, within in self.ranges.items() if within is not None]
        return tuple(row for rows in found for row in rows)

    @cached_property
    def told(self) -> dict[str, ToldIndex]:
        """Indices that others tell here; those of which others are told last.

        Where `i = j + 1`, i is one more than j. In a sum over the e with `dst[e] = n`, n is `dst[e]`: there
        are as many points as values of e. In one over those from `ptr[n]` to `ptr[n + 1] - 1`, n is the row
        of e, for rows have no element in common.
        """
        found: dict[str, ToldIndex] = {}
        by_rows = _by_rows(self.indices, self.rows, self.increasing)
        for index, told in (*_by_forms(self.indices, self.rows), *by_rows):
            if index not in found and not _depends(told, index, found):
                found[index] = told
        return found

    def ranges_of(self, names: Collection[str]) -> Ranges:
        """The ranges of indices without those that elements of others tell: there is a point for each of
        these.

        There are as many points in all fibres of an index array as it has places, so what says which one
        stays.
        """
        found = {i: within for i, within in self.ranges.items() if i in names}
        fibres = frozenset[str]().union(*(within.by for within in found.values() if within))
        told = {
            i
            for i, known in self.told.items()
            if known.form is not None
            and known.form.has_lookups
            and i not in fibres
            and known.by & self.ranges.keys() <= found.keys()
        }
        return together({i: within for i, within in found.items() if i not in told})

    def narrowed(self, ranges: Ranges) -> Ranges:
        """Ranges of numbers, with the bounds that conditions say."""
        forms = [form for row in self.rows for form in row.inequalities if len(form.terms) == 1]
        return {name: _narrowed(name, within, forms) for name, within in ranges.items()}

    def under(self, choice: RowsHold | Test) -> TermPlace:
        """The place below a choice."""
        return replace(self, around=(*self.around, choice))


def _narrowed(name: str, within: Range | None, forms: Sequence[Affine]) -> Range | None:
    """A range of numbers where forms of one atom each are at least 0."""
    if within is None or not within.low.is_constant or not within.high.is_constant:
        return within
    low, high = within.low.constant, within.high.constant
    for form, k in ((form, form.coefficient(name)) for form in forms):
        low = max(low, -(form.constant // k)) if k > 0 else low
        high = min(high, form.constant // -k) if k < 0 else high
    return replace(within, low=Affine.const(low), high=Affine.const(high))


def _by_forms(indices: Sequence[str], rows: Domain) -> Iterator[tuple[str, ToldIndex]]:
    """The indices that equalities tell."""
    for form in (row.form for row in rows if row.equality):
        for index in indices:
            if (rest := form.solved(index)) is not None:
                yield index, ToldIndex(rest.variables, rest)


def _by_rows(
    indices: Sequence[str], rows: Domain, increasing: Collection[str]
) -> Iterator[tuple[str, ToldIndex]]:
    """The indices of ranges between neighbours that something is in."""
    for found in fibres_in(rows, increasing):
        (at,) = found.values
        for index in indices:
            rest = at.solved(index)
            if rest is not None and index not in found.place.variables:
                yield index, ToldIndex(rest.variables | found.place.variables, None, found)


def _depends(told: ToldIndex, index: str, found: dict[str, ToldIndex]) -> bool:
    """Whether an index is told by way of itself."""
    seen, waiting = set[str](), list(told.by)
    while waiting:
        name = waiting.pop()
        if name == index:
            return True
        if name not in seen:
            seen.add(name)
            waiting += found[name].by if name in found else ()
    return False


class Places:
    """Places by number; the definition's own is 0."""

    def __init__(self, program: Program, definition: Definition) -> None:
        self.terms, self.sizes, d = program.terms, frozenset(program.sizes), definition
        arrays = program.index_arrays().values()
        increasing = frozenset(array.name for array in arrays if array.increasing)
        self.places = [TermPlace(d.indices, d.indices, ranges_of(d), increasing=increasing)]
        self.opened: dict[tuple[int, str, object], int] = {}
        self.bodies: dict[tuple[int, int], tuple[int, tuple[str, ...], Domain, Term]] = {}

    def choose(self, at: int, kind: str, key: object, choice: RowsHold | Test) -> int:
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
            made = TermPlace(
                (*place.indices, *binders),
                (*place.hints, *term.hints),
                {**place.ranges, **inner},
                (*place.around, RowsHold(domain, holds=True)),
                place.increasing,
            )
            self.places.append(made)
            self.bodies[at, term.number] = (len(self.places) - 1, binders, domain, body)
        return self.bodies[at, term.number]

    def rebuilt(self, at: int, term: Term, below: Sequence[Term]) -> Term:
        """The term over other operands, which stand where those of `below` do."""
        if not isinstance(term, Reduce):
            return self.terms.rebuild(term, below)
        _, binders, domain, _ = self.open(at, term)
        return self.terms.reduce_like(term, binders, domain, below[0])

    def below(self, at: int, term: Term) -> Iterator[tuple[int, Term]]:
        """The operands of a term, with their places."""
        match term:
            case Reduce():
                inside, _, _, body = self.open(at, term)
                yield inside, body
            case Guard():
                rows = term.conditions
                yield self.choose(at, "if", rows, RowsHold(rows, holds=True)), term.then
                negated = negation(rows, ())
                yield self.choose(at, "else", rows, RowsHold(negated or rows, bool(negated))), term.otherwise
            case Select():
                yield at, term.lhs
                yield at, term.rhs
                yield self.choose(at, "then", term.number, Test(term, holds=True)), term.then
                yield self.choose(at, "otherwise", term.number, Test(term, holds=False)), term.otherwise
            case _:
                yield from ((at, operand) for operand in operands(term))

    def terms_of(self, root: Term) -> Iterator[tuple[int, Term]]:
        """The terms of a definition's body, each once a place."""
        seen, stack = set[tuple[int, int]](), [(0, root)]
        while stack:
            at, term = stack.pop()
            if (at, term.number) not in seen:
                seen.add((at, term.number))
                stack += self.below(at, term)
                yield at, term


@dataclass
class PlaceWalk(ABC):
    """Rewrites a definition from the root down, each term once a place."""

    places: Places
    memo: dict[tuple[int, int], Term] = field(
        default_factory=dict[tuple[int, int], Term], init=False, repr=False
    )

    @abstractmethod
    def moved(self, at: int, term: Term) -> Term | None:
        """What stands for a term; None where its operands are to be looked at."""

    def visit(self, at: int, term: Term) -> Term:
        """What a term becomes at a place."""
        if (at, term.number) not in self.memo:
            self.memo[at, term.number] = self.moved(at, term) or self.rebuilt(at, term)
        return self.memo[at, term.number]

    def rebuilt(self, at: int, term: Term) -> Term:
        """The term over operands that have been visited."""
        return self.places.rebuilt(at, term, [self.visit(p, t) for p, t in self.places.below(at, term)])
