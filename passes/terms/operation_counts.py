"""What a program computes and moves, counted exactly from its domains, without running it.

The model is the compiled one, before LLVM. A region (the body of a tensor, of a reduction, a branch of a
guard) evaluates each of its values once; both sides of a `select`, one branch of a guard. What the steps of
a reduction share, other reductions apart, is evaluated once before the first. The elements of a tensor
share nothing. Tensors of one map are evaluated together, and so are sums that are one loop: `Together` says
which.

An index that changes neither a bound nor a condition is not walked, it multiplies. One that does is walked
near breakpoints; between them the count is a quasi-polynomial, of which few values tell the sum.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass, field, replace

from tadc.frontend.extents import shape_at
from tadc.frontend.functions import REDUCTIONS
from tadc.frontend.program import Definition, Program
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
)
from tadc.lattice.affine import Affine
from tadc.lattice.bounds import Bound, Level
from tadc.lattice.breakpoints import Critical, critical, zones
from tadc.lattice.loop_nests import LoopNest, loop_nest
from tadc.lattice.sums import Amount, plus, sum_of_pieces, times
from tadc.passes.terms.costs import ELEMENT, TRANSCENDENTAL, weight
from tadc.passes.terms.even_lookups import EvenLookups, looks_up


@dataclass(frozen=True)
class Work:
    """Arithmetic in the weights of `costs` and as a number of operations, `transcendental` ones of them,
    and the bytes that it asks for."""

    weighted: int = 0
    operations: int = 0
    loaded: int = 0
    stored: int = 0
    transcendental: int = 0

    def __add__(self, other: Work) -> Work:
        return Work(
            self.weighted + other.weighted,
            self.operations + other.operations,
            self.loaded + other.loaded,
            self.stored + other.stored,
            self.transcendental + other.transcendental,
        )

    def __mul__(self, times: int) -> Work:
        return Work(
            self.weighted * times,
            self.operations * times,
            self.loaded * times,
            self.stored * times,
            self.transcendental * times,
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


@dataclass(frozen=True)
class Together:
    """Names of tensors that are computed in one nest of loops, with all values that are made for each
    element; and numbers of sums that are one loop where they stand in one region."""

    maps: tuple[tuple[tuple[str, ...], tuple[Term, ...]], ...] = ()
    sums: tuple[frozenset[int], ...] = ()


def count_program(program: Program, together: Together | None = None) -> Work:
    """The work of all tensors of a program without size symbols, as if index arrays were spread evenly."""
    found = together or Together()
    if arrays := program.index_arrays():
        program, found = _evened(program, found, EvenLookups(program.terms, arrays))
    planner = _Planner(program.terms, found.sums)
    by_name = {d.name: d for d in program.definitions}
    fused = {name for names, _ in found.maps for name in names}
    total = NOTHING
    for names, values in found.maps:
        total += _elements(planner, [by_name[name] for name in names], values)
    for definition in program.definitions:
        if definition.name not in fused:
            total += _elements(planner, [definition])
    return total


def _evened(program: Program, together: Together, even: EvenLookups) -> tuple[Program, Together]:
    """A program that looks up nothing, and what of it is computed together."""
    made = even.program(program)
    maps = tuple((names, tuple(map(even.term, values))) for names, values in together.maps)
    sums = (frozenset(even.known[n].number for n in each if n in even.known) for each in together.sums)
    return made, Together(maps, tuple(sums))


def count_definition(definition: Definition, terms: Terms) -> Work:
    """The work of one tensor without size symbols, over a table of terms."""
    if looks_up([definition.body]):
        definition = replace(definition, body=EvenLookups(terms, {}).term(definition.body))
    return _elements(_Planner(), [definition])


def count_definitions(program: Program) -> dict[str, Work]:
    """The operations of a program, tensor by tensor."""
    planner = _Planner()
    if arrays := program.index_arrays():
        program = EvenLookups(program.terms, arrays).program(program)
    return {d.name: _elements(planner, [d]) for d in program.definitions}


@dataclass(frozen=True, eq=False)
class _Region:
    """What is evaluated together: `own` always, then a branch of each choice, and all loops.

    `depends` are the indices that change how much that is.
    """

    own: Amount
    choices: tuple[tuple[Domain, _Region, _Region], ...]
    loops: tuple[_Loop, ...]
    depends: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class _Loop:
    """`step` at each point of the nest, `shared` once if there is one."""

    nest: LoopNest
    shared: _Region
    step: _Region
    depends: frozenset[str]


@dataclass
class _Planner:
    """Regions of terms, each built once, and what they come to at the points met so far.

    Sums whose numbers are in one set of `together` are one loop.
    """

    terms: Terms = field(default_factory=Terms)
    together: Sequence[frozenset[int]] = ()
    holds: dict[int, bool] = field(default_factory=dict[int, bool])
    known: dict[tuple[_Region, tuple[int, ...]], Amount] = field(
        default_factory=dict["tuple[_Region, tuple[int, ...]]", Amount]
    )
    critical: dict[tuple[_Loop, int], Critical | None] = field(
        default_factory=dict["tuple[_Loop, int]", "Critical | None"]
    )

    def region(self, roots: Iterable[Term], seen: set[int], own: Work = NOTHING) -> _Region:
        """What these terms need that has not been seen; what they always evaluate is added to that."""
        guards: list[Guard] = []
        reductions: list[Reduce] = []
        stack = list(roots)
        while stack:
            node = stack.pop()
            if node.number in seen:
                continue
            seen.add(node.number)
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
        return _Region(_amount(own), choices, loops, tuple(sorted(depends)))

    def merged(self, reductions: Sequence[Reduce]) -> list[list[Reduce]]:
        """Reductions of a region by loops."""
        rest, found = list(reductions), list[list[Reduce]]()
        while rest:
            first = rest[0]
            joined = {first.number}.union(*(s for s in self.together if first.number in s))
            found.append([node for node in rest if node.number in joined])
            rest = [node for node in rest if node.number not in joined]
        return found

    def loop(self, nodes: Sequence[Reduce], seen: set[int]) -> _Loop:
        """The steps of reductions over one domain."""
        # An index is named by its height: the highest name is bound in no body.
        first = max(nodes, key=lambda node: node.body.height)
        bodies: list[Term] = []
        own = NOTHING
        for node in nodes:
            mapping = {b: Affine.var(n) for b, n in zip(node.binders, first.binders, strict=True)}
            bodies.append(node.body if node is first else self.terms.substitute(node.body, mapping))
            own += work_of(node)
        shared = self.region(self.unchanged(first, bodies), seen)
        step = self.region(bodies, seen, own)
        depends = frozenset(shared.depends).union(step.depends, *(row.form.variables for row in first.domain))
        nest = loop_nest(first.binders, first.domain, ())
        return _Loop(nest, shared, step, depends.difference(first.binders))

    def unchanged(self, node: Reduce, bodies: Sequence[Term]) -> list[Term]:
        """What every step of a reduction evaluates to the same value, without a reduction in it."""
        found: list[Term] = []
        seen: set[int] = set()
        stack = list(bodies)
        while stack:
            term = stack.pop()
            if term.number in seen:
                continue
            seen.add(term.number)
            if term.free.isdisjoint(node.binders) and not holds_reduction(term, self.holds):
                found.append(term)
            elif not isinstance(term, Guard | Reduce):
                stack += operands(term)
        return found

    # -- at points -----------------------------------------------------------------------------------

    def at(self, region: _Region, point: Mapping[str, int]) -> Amount:
        """What a region comes to at a point, as `_amount` of its work."""
        if not region.loops and not region.choices:
            return region.own
        key = (region, tuple([point[name] for name in region.depends]))
        if key not in self.known:
            total = region.own
            for rows, then, otherwise in region.choices:
                total = plus(
                    total, self.at(then if all(row.holds(point) for row in rows) else otherwise, point)
                )
            for loop in region.loops:
                total = plus(total, self.steps(loop, point))
            self.known[key] = total
        return self.known[key]

    def steps(self, loop: _Loop, point: Mapping[str, int]) -> Amount:
        """What all steps of a loop come to, and what they share."""
        if not all(row.holds(point) for row in loop.nest.outside):
            return _NONE
        count, *total = self.below(loop, 0, dict(point))
        return plus((0, *total), self.at(loop.shared, point)) if count else _NONE

    def below(self, loop: _Loop, depth: int, point: dict[str, int]) -> Amount:
        """The number of points of the levels from a depth inward, and what their steps come to."""
        levels = loop.nest.levels
        if depth == len(levels):
            if not all(row.holds(point) for row in loop.nest.inside):
                return _NONE
            return (1, *self.at(loop.step, point)[1:])
        level = levels[depth]
        lower = max([-((-bound.form.evaluate(point)) // bound.divisor) for bound in level.lower])
        upper = min([bound.form.evaluate(point) // bound.divisor for bound in level.upper])
        if lower > upper:
            return _NONE
        name = level.name

        def value(at: int) -> Amount:
            point[name] = at
            return self.below(loop, depth + 1, point)

        if not _matters(loop, depth):
            return times(value(lower), upper - lower + 1)
        inner = self.pieces(loop, depth + 1)
        if inner is None or upper - lower < inner.period * (inner.degree + 2):
            return sum_of_pieces(value, lower, upper, [(lower, upper)], 1, 0)
        outer = {n: v for n, v in point.items() if n != name}
        found = zones(inner.forms, name, outer)
        return sum_of_pieces(value, lower, upper, found, inner.period, inner.degree)

    # -- pieces --------------------------------------------------------------------------------------

    def pieces(self, loop: _Loop, depth: int) -> Critical | None:
        """How the levels of a loop from a depth inward depend on what is around them; None if not seen."""
        key = (loop, depth)
        if key not in self.critical:
            self.critical[key] = self.level_pieces(loop, depth)
        return self.critical[key]

    def level_pieces(self, loop: _Loop, depth: int) -> Critical | None:
        """What `pieces` keeps, for a depth that is new."""
        levels = loop.nest.levels
        if depth == len(levels):
            step = self.region_pieces(loop.step)
            return step and critical(row.form for row in loop.nest.inside).joined([step])
        level, inner = levels[depth], self.pieces(loop, depth + 1)
        if inner is None:
            return None
        sides = [
            Affine.var(level.name) * bound.divisor - bound.form for bound in (*level.lower, *level.upper)
        ]
        bounded = critical(sides).joined([inner])
        if not _matters(loop, depth) and all(form.variables <= {level.name} for form in sides):
            return inner
        return bounded.summed(level.name)

    def region_pieces(self, region: _Region) -> Critical | None:
        """How a region depends on what is around it."""
        found = critical(row.form for rows, _, _ in region.choices for row in rows)
        parts = [self.region_pieces(branch) for _, *branches in region.choices for branch in branches]
        for loop in region.loops:
            parts += [
                critical(row.form for row in loop.nest.outside),
                self.pieces(loop, 0),
                self.region_pieces(loop.shared),
            ]
        known = [part for part in parts if part is not None]
        return found.joined(known) if len(known) == len(parts) else None


def _amount(work: Work) -> Amount:
    """A place for a number of points, and all that a work counts."""
    return (0, *astuple(work))


_NONE = _amount(NOTHING)


def _matters(loop: _Loop, depth: int) -> bool:
    """Whether the value of a level's index changes what is below it."""
    name, inner = loop.nest.levels[depth].name, loop.nest.levels[depth + 1 :]
    bounds = (bound.form for level in inner for bound in (*level.lower, *level.upper))
    forms = (*bounds, *(row.form for row in loop.nest.inside))
    return name in loop.step.depends or any(name in form.variables for form in forms)


def _elements(planner: _Planner, definitions: Sequence[Definition], values: Sequence[Term] = ()) -> Work:
    """The work of all elements of tensors with the same indices, these values among it."""
    first = definitions[0]
    shape = shape_at(first.shape, {})
    stored = Work(stored=sum(ELEMENT[d.type] for d in definitions))
    step = planner.region([*(d.body for d in definitions), *values], set(), stored)
    nest = LoopNest((), _box(first.indices, shape), ())
    loop = _Loop(nest, planner.region([], set()), step, frozenset())
    return Work(*planner.steps(loop, {})[1:]) if math.prod(shape) else NOTHING


def _box(names: Sequence[str], shape: Sequence[int]) -> tuple[Level, ...]:
    zero = (Bound(Affine.const(0), 1),)
    return tuple(
        Level(name, zero, (Bound(Affine.const(size - 1), 1),))
        for name, size in zip(names, shape, strict=True)
    )


__all__ = ["Together", "Work", "count_definition", "count_definitions", "count_program", "work_of"]
