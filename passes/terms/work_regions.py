"""What is evaluated together, and what of that is done again: regions of terms, and the loops in them.

A region (the body of a tensor, of a reduction, a branch of a guard) evaluates each of its values once; both
sides of a `select`, one branch of a guard. What the steps of a reduction share, other reductions apart, is
evaluated once before the first.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import astuple, field
from functools import cached_property

from tadc.frontend.functions import REDUCTIONS
from tadc.frontend.program import Definition
from tadc.frontend.terms import (
    Domain,
    Guard,
    IndexValue,
    Read,
    Reduce,
    Term,
    Terms,
    holds_reduction,
    integer_exponent,
    operands,
    reachable,
)
from tadc.lattice.affine import box
from tadc.lattice.effort import spend
from tadc.lattice.late_dataclasses import dataclass
from tadc.lattice.loop_nests import LoopNest, loop_nest
from tadc.lattice.sums import Amount
from tadc.passes.terms.costs import ELEMENT, TRANSCENDENTAL, weight


@dataclass(frozen=True)
class Work:
    """Arithmetic in the weights of `costs` and as a number of operations, `transcendental` ones of them,
    and the bytes that it asks for; upper bounds of these where it is not exact."""

    weighted: int = 0
    operations: int = 0
    loaded: int = 0
    stored: int = 0
    transcendental: int = 0
    exact: bool = True

    def __add__(self, other: Work) -> Work:
        return Work(
            self.weighted + other.weighted,
            self.operations + other.operations,
            self.loaded + other.loaded,
            self.stored + other.stored,
            self.transcendental + other.transcendental,
            self.exact and other.exact,
        )

    def __mul__(self, times: int) -> Work:
        return Work(
            self.weighted * times,
            self.operations * times,
            self.loaded * times,
            self.stored * times,
            self.transcendental * times,
            self.exact,
        )


NOTHING = Work()


def work_of(node: Term) -> Work:
    """The work of one node without what is below it; a reduction's is that of a step."""
    match node:
        case Read():
            assert node.type
            return Work(loaded=ELEMENT[node.type])
        case IndexValue():
            return NOTHING  # arithmetic of indices, which is not counted
        case Reduce():
            exponentials = REDUCTIONS[node.kind].exponentials
            return Work(weight(node), 1 + exponentials, transcendental=exponentials)
        case _:
            n = integer_exponent(node)
            if n is None:
                cost = weight(node)
                return Work(cost, min(cost, 1), transcendental=int(cost == TRANSCENDENTAL))
            return Work(weight(node), max(0, abs(n).bit_length() + abs(n).bit_count() - 2) + (n < 0))


def amount(work: Work) -> Amount:
    """A place for a number of points, and all that a work counts."""
    return (0, *astuple(work)[:-1])


def work(found: Amount) -> Work:
    """What `amount` made that of."""
    return Work(*found[1:], exact=True)


@dataclass(frozen=True, eq=False)
class Region:
    """What is evaluated together: `own` always, then a branch of each choice, and all loops.

    `depends` are the indices that change how much that is.
    """

    own: Amount
    choices: tuple[tuple[Domain, Region, Region], ...]
    loops: tuple[WorkLoop, ...]
    depends: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class WorkLoop:
    """`step` at each point of a domain, `shared` once if there is one."""

    binders: tuple[str, ...]
    domain: Domain
    shared: Region
    step: Region
    depends: frozenset[str]

    @cached_property
    def nest(self) -> LoopNest:
        """The loops over the domain. Raises Unbounded and EliminationLimit."""
        return loop_nest(self.binders, self.domain, ())


@dataclass
class Regions:
    """Makes regions of terms; sums whose numbers are in one set of `together` are one loop."""

    terms: Terms
    together: Sequence[frozenset[int]] = ()
    holds: dict[int, bool] = field(default_factory=dict[int, bool])

    def elements(self, definitions: Sequence[Definition], values: Sequence[Term] = ()) -> WorkLoop:
        """The elements of tensors with the same indices, these values among what is evaluated."""
        first = definitions[0]
        stored = Work(stored=sum(ELEMENT[d.type] for d in definitions))
        step = self.region([*(d.body for d in definitions), *values], set(), stored)
        nothing = Region(amount(NOTHING), (), (), ())
        return WorkLoop(first.indices, box(first.indices, first.shape), nothing, step, frozenset())

    def region(self, roots: Iterable[Term], seen: set[int], own: Work = NOTHING) -> Region:
        """What these terms need that has not been seen; what they always evaluate is added to that."""
        guards: list[Guard] = []
        reductions: list[Reduce] = []
        stack = list(roots)
        while stack:
            node = stack.pop()
            if node.number in seen:
                continue
            seen.add(node.number)
            spend(1)
            match node:
                case Guard():
                    guards.append(node)
                case Reduce():
                    reductions.append(node)
                case _:
                    own += work_of(node)
                    stack += operands(node)
        choices = tuple(
            (g.conditions, self.region([g.then], set(seen)), self.region([g.otherwise], set(seen)))
            for g in guards
        )
        loops = tuple(self.loop(nodes, set(seen)) for nodes in self.merged(reductions))
        depends = frozenset[str]().union(
            *(row.form.variables for rows, _, _ in choices for row in rows),
            *(branch.depends for _, *branches in choices for branch in branches),
            *(loop.depends for loop in loops),
        )
        return Region(amount(own), choices, loops, tuple(sorted(depends)))

    def merged(self, reductions: Sequence[Reduce]) -> list[list[Reduce]]:
        """Reductions of a region by loops."""
        rest, found = list(reductions), list[list[Reduce]]()
        while rest:
            first = rest[0]
            joined = {first.number}.union(*(s for s in self.together if first.number in s))
            found.append([node for node in rest if node.number in joined])
            rest = [node for node in rest if node.number not in joined]
        return found

    def loop(self, nodes: Sequence[Reduce], seen: set[int]) -> WorkLoop:
        """The steps of reductions over one domain."""
        # An index is named by its height: the highest name is bound in no body.
        first = max(nodes, key=lambda node: node.body.height)
        bodies: list[Term] = []
        own = NOTHING
        for node in nodes:
            bodies.append(node.body if node is first else self.terms.open(node, first.binders)[-1])
            own += work_of(node)
        shared = self.region(self.unchanged(first, bodies), seen)
        step = self.region(bodies, seen, own)
        depends = frozenset(shared.depends).union(step.depends, *(row.form.variables for row in first.domain))
        return WorkLoop(first.binders, first.domain, shared, step, depends.difference(first.binders))

    def unchanged(self, node: Reduce, bodies: Sequence[Term]) -> list[Term]:
        """What every step of a reduction evaluates to the same value, without a reduction in it."""

        def is_unchanged(term: Term) -> bool:
            return term.free.isdisjoint(node.binders) and not holds_reduction(term, self.holds)

        def below(term: Term) -> tuple[Term, ...]:
            return () if isinstance(term, Guard | Reduce) or is_unchanged(term) else term.below

        return list(filter(is_unchanged, reachable(bodies, below)))
