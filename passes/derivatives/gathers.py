"""Which sums of a derivative gather what a read contributes, and how their equalities were solved."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tadc.frontend.program import Definition
from tadc.frontend.source import Place, Span
from tadc.frontend.terms import Apply, Const, Domain, Guard, Reduce, Term, reachable
from tadc.lattice.late_dataclasses import dataclass
from tadc.lattice.solve import Solution
from tadc.passes.terms.algebra import left_out


@dataclass(frozen=True)
class Solved:
    """A sum over `unknowns` where `rows` hold, as it was solved.

    Where there was nothing to solve the solution is None and `is_empty` False; where it is
    proven that no point satisfies the rows, `is_empty` is True. Where all conditions of a domain in
    `outside` hold, what is summed up is 0: the rows cannot say that. Of the rows the last `joined` are not
    the sum's own: where one of them does not hold, what is summed up is 0.
    """

    unknowns: tuple[str, ...]
    rows: Domain
    solution: Solution | None
    is_empty: bool = False
    outside: tuple[Domain, ...] = ()
    joined: int = 0


@dataclass(frozen=True)
class Gather:
    """A summand of a definition, `sum{a in D, M a = b} g(a)`: what reads at one place contribute.

    `indices` are those of the definition, b; `hints` the names of the unknowns a that a person reads.
    """

    definition: str
    indices: tuple[str, ...]
    place: Span | Place
    facts: Domain
    hints: tuple[str, ...]
    solved: Solved


def gathers(
    definition: Definition, facts: Domain, solved: Mapping[tuple[int, Domain], Solved]
) -> Iterator[Gather]:
    """The summands of a definition with a place, with what is known of how they were solved."""
    for term in summands(definition.body):
        if term.span is None:
            continue
        hints: tuple[str, ...] = ()
        found = solved.get((term.number, facts))
        if isinstance(term, Reduce):
            hints = term.hints
        elif isinstance(term, Guard):
            # Of a scalar definition: there is no index to solve for.
            found = Solved((), term.conditions, None, outside=tuple(left_out(term.then)[0]))
        if found is not None:
            yield Gather(definition.name, definition.indices, term.span, facts, hints, found)


def summands(root: Term) -> Iterator[Term]:
    """What a body adds up, whatever the signs and literal factors, each term once."""
    return (term for term in reachable([root], _added) if not _added(term))


def _added(term: Term) -> tuple[Term, ...]:
    match term:
        case Apply(function="add" | "sub" | "neg"):
            return term.operands
        case Apply(function="mul", operands=(Const(), other)):
            return (other,)
        case _:
            return ()
