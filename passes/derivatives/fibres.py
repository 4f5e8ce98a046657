"""Loops over the preimages of an index array, instead of equalities with its elements.

    sum{e: src[e] = b} f(e)   becomes   sum{q}_(src.ptr[b])^(src.ptr[b + 1] - 1) f(src.perm[q])

`src.perm` holds the positions of `src` sorted by value, and `src.ptr[b]` is where value b begins: the fibres
of `src`, stored like the rows of a CSR matrix. An inspector computes these index arrays once per call
(`Inspected`); later passes see only lookups in bounds and in reads.

A reduction with lookups at its own indices is decomposed step by step, and its equations are solved after
each step. Only conditions that must be tested remain:

- `src[e] = b` with b known: the loop over the fibre above;
- `row[e] = i and col[e] = j` with both known: see `joint_fibres.py`;
- `lo <= src[e] <= hi`: a loop over the values, and that over the fibre of each;
- `ptr[n] <= e < ptr[n + 1]` with e known and n unknown: n is `ptr.owner[e]`;
- `2*src[e] + k = b`: a loop over k;
- `i[e] = j[f]`: a loop over e;
- `i[e] + j[e] = b`: the sum of both is an index array of its own.

Before that, equal elements at different positions are matched, and nested sums are joined if an equality of
the inner sum determines an index of the outer one:

    sum{j} (x[j] * sum{e: row[e] = i and col[e] = j} v[e])   is   sum{e: row[e] = i} x[col[e]] * v[e]
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from math import prod
from typing import Literal, get_args

from tadc.frontend.extents import as_form
from tadc.frontend.program import Definition, Program
from tadc.frontend.terms import Apply, Domain, Guard, Reduce, Term
from tadc.lattice.affine import ZERO, Affine, Constraint, Floor, Lookup
from tadc.lattice.bounds import bounds_innermost
from tadc.lattice.fibre import Fibre, fibres_in
from tadc.lattice.late_dataclasses import dataclass, replace
from tadc.lattice.polyhedron import implied, not_implied
from tadc.passes.derivatives.cancel import Canceller
from tadc.passes.derivatives.joint_fibres import Asked, Equation, asked_at_a_place, groups_of, same_key
from tadc.passes.terms.algebra import is_const
from tadc.passes.terms.collect import Signed, added, addends
from tadc.passes.terms.costs import SPARSE
from tadc.passes.terms.facts_walk import FactsWalk
from tadc.passes.terms.inspected_arrays import Arrays


def with_fibres(program: Program) -> Program:
    """The program whose reductions loop over fibres; the index arrays that it needs are further arguments."""
    if not program.index_arrays():
        return program
    arrays = Arrays(program)
    found = program
    for phase in get_args(_Phase):
        found = found.with_bodies(
            _Fibres(program.terms, arrays, d, phase).visit(d.body, program.facts(d))
            for d in found.definitions
        )
    return program if found is program else arrays.in_program(found)


_Phase = Literal["match", "merge", "loop"]
"""Equal elements are matched, then sums in sums become one, then what is left of them loops over fibres."""


@dataclass
class _Fibres(FactsWalk):
    """One walk over the body of a definition, which makes it one without equalities with lookups."""

    arrays: Arrays
    definition: Definition
    phase: _Phase

    def __post_init__(self) -> None:
        super().__post_init__()
        self.canceller = Canceller(self.terms, lambda name: self.arrays[name].shape)

    def reduce(self, term: Reduce, facts: Domain) -> Term:
        """A reduction, taken apart by one step where there is one."""
        work = _FibreSum(self, term, facts)
        made = getattr(work, self.phase)()
        if made is not None:
            return self.visit(made, facts)
        if self.phase == "loop" and any(_lookups(row.form, work.own) for row in work.rows):
            return work.tested()
        return work.reduction(work.binders, work.rows, self.visit(work.body, facts + work.rows))


class _FibreSum:
    """A reduction with lookups of its own indices in its domain."""

    def __init__(self, walk: _Fibres, term: Reduce, facts: Domain) -> None:
        self.walk, self.term, self.facts = walk, term, facts
        self.terms, self.arrays, self.algebra = walk.terms, walk.arrays, walk.algebra
        self.binders, self.rows, self.body = walk.terms.open(term)
        self.own = frozenset(self.binders)
        self.hints = dict(zip(self.binders, term.hints, strict=True))

    def loop(self) -> Term | None:
        """What the first step makes that can be taken."""
        if not any(_lookups(row.form, self.own) for row in self.rows):
            return None
        steps = (self.fibre, self.owner, self.values, self.beside, self.apart, self.joined)
        return next((made for made in (step() for step in steps) if made is not None), None)

    # -- steps -------------------------------------------------------------------------------------

    def merge(self) -> Term | None:
        """One sum in the place of a sum of products with sums whose equalities tell its indices."""
        if self.term.kind != "sum":
            return None
        parts = addends(self.body)
        found = [self.pulled(part) for _, part in parts]
        if not any(found):
            return None
        made: list[Signed] = []
        for (negative, part), inner in zip(parts, found, strict=True):
            binders, rows, body = inner or ((), (), part)
            total = self.solved((*self.binders, *binders), (*self.rows, *rows), body, ())
            made.append((negative, total))
        return added(self.algebra, made)

    def pulled(self, term: Term) -> tuple[tuple[str, ...], Domain, Term] | None:
        """The indices and the domain of a sum that is a factor of a term, and the term within."""
        match term:
            case Reduce(kind="sum") if any(map(self.tells, term.domain)):
                return self.terms.open(term)
            case Guard() if is_const(term.otherwise, 0) and (inner := self.pulled(term.then)):
                return inner[0], (*term.conditions, *inner[1]), inner[2]
            case Apply(function="mul" | "div" | "neg"):
                places = range(len(term.operands) if term.function == "mul" else 1)
                for place in places:
                    if (inner := self.pulled(term.operands[place])) is not None:
                        below = [*term.operands[:place], inner[2], *term.operands[place + 1 :]]
                        return inner[0], inner[1], self.terms.apply(term.function, below, term.span)
            case _:
                pass
        return None

    def tells(self, row: Constraint) -> bool:
        """Whether a row of a sum inside gives an index of this one as an element of an index array, or bounds
        by one at its place."""
        if _lookups(row.form, self.own):
            return True
        lookups = any(isinstance(atom, Lookup) for atom, _ in row.form.terms)
        return row.equality and lookups and any(abs(row.form.coefficient(name)) == 1 for name in self.binders)

    def match(self) -> Term | None:
        """`row[e] = r[f] and col[e] = c[f]`: the loop over the places where both are what they are at e."""
        best: tuple[Sequence[Equation], Asked] | None = None
        for group in groups_of(self.equations(), self.arrays):
            places = group[0].lookup.variables & self.own
            apart = tuple(row for row in self.rows if row.form.variables.isdisjoint(places))
            asked = asked_at_a_place(group, self.arrays, (*self.facts, *apart))
            if asked is None or (best is not None and not any(row.form.has_lookups for row in apart)):
                continue
            best = group, asked
        if best is None:
            return None
        outer = frozenset[str]().union(*(form.variables for form in best[1].at)) & self.own
        return self.around(outer) if outer else self.along(*best)

    def around(self, names: frozenset[str]) -> Term:
        """The same with the loop over some indices, and their rows, around that over the others."""
        own = [row for row in self.rows if row.form.variables & self.own <= names]
        left = tuple(row for row in self.rows if row not in own)
        inner = self.reduction([name for name in self.binders if name not in names], left, self.body)
        return self.reduction([name for name in self.binders if name in names], own, inner)

    def fibre(self) -> Term | None:
        """`src[e] = b`: the loop over the fibre of b, or of several such."""
        direct = [each for each in self.equations() if each.value.variables.isdisjoint(self.own)]
        if not direct:
            return None
        group = max(groups_of(direct, self.arrays), key=len, default=())
        if len(group) == 2 and self.is_dense(group):
            return self.along(group)
        if group:
            within, key = self.conditions(group), same_key(sorted(group, key=_distance), self.arrays)
            self.rows = (*self.rows, key.row)
            made = self.along((key,))
            return self.algebra.guard(within, made, self.algebra.neutral(self.term.kind))
        return self.along((min(direct, key=lambda each: (self.length(each), _distance(each))),))

    def length(self, known: Equation) -> Fraction:
        """How many places a value has on average, where sizes tell: of two loops the shorter one is around
        the other, in which something is looked for."""
        values, shape = known.lookup.below, self.arrays[known.lookup.array].shape
        sizes = [size for size in shape if isinstance(size, int)]
        if len(sizes) < len(shape) or not values.is_constant or not values.constant:
            return Fraction(0)
        return Fraction(prod(sizes), values.constant)

    def conditions(self, known: Iterable[Equation]) -> tuple[Constraint, ...]:
        """What has to hold of values for elements to be equal to them."""
        found: list[Constraint] = []
        for each in known:
            if each.divisor > 1:
                found.append(Constraint(each.value.mod(each.divisor), equality=True))
            found += [
                Constraint(each.known),
                Constraint(self.arrays.fibres(each.lookup.array) - 1 - each.known),
            ]
        return not_implied(found, self.facts)

    def along(self, known: Sequence[Equation], asked: Asked | None = None) -> Term:
        """The loop over the places of a lookup, or of several at equal places, with known values, which are
        those that index arrays have at a place where these are asked for."""
        lookups = [each.lookup for each in known]
        conditions = self.conditions(known)
        names = [lookup.array for lookup in lookups]
        q = self.terms.fresh("q")
        place = Affine.var(q)
        bounds = self.range(place, known, asked).rows
        if len(names) == 1 and self.arrays.is_in_order(names[0]):
            at = (place,)
        else:
            at = tuple(self.arrays.perm(names, axis).lookup([place]) for axis in range(len(lookups[0].at)))
        left = tuple(row for row in self.rows if not any(row is each.row for each in known))
        given = {
            each: Affine.atom(replace(each, at=at))
            for row in left for each in row.form.lookups() if each.at == lookups[0].at
        }  # fmt: skip
        given |= {each.lookup: each.known for each in known}
        equal = tuple(Constraint(x - y, equality=True) for x, y in zip(lookups[0].at, at, strict=True))
        rows, body = self.put(given, left, self.body)
        inner = self.solved(self.binders, (*rows, *equal), body, (*bounds, *conditions))
        outer = self.algebra.reduction(self.term.kind, [q], bounds, inner, ["q"], self.term.span)
        return self.algebra.guard(conditions, outer, self.algebra.neutral(self.term.kind))

    def range(self, place: Affine, known: Sequence[Equation], asked: Asked | None) -> Fibre:
        """What a place in their order is in."""
        names = [each.lookup.array for each in known]
        if asked is not None:
            begin, end = self.arrays.range(names, asked.names)
            return Fibre.between(place, begin.element(asked.at), end.element(asked.at))
        return self.arrays.starts(names).fibre([each.known for each in known], place)

    def owner(self) -> Term | None:
        """`ptr[n] <= e < ptr[n + 1]` with e known."""
        for fibre in fibres_in(self.rows):
            argument, place = self.arrays[fibre.array], fibre.place
            is_told = not fibre.start.variables.isdisjoint(self.own) and place.variables.isdisjoint(self.own)
            if not argument.increasing or not fibre.exactly or not is_told:
                continue
            owner = self.arrays.owner(fibre.array)
            within = [Constraint(place), Constraint(as_form(owner.shape[0]) - 1 - place)]
            within = [row for row in within if not implied(row.form, self.facts)]
            found = Constraint(fibre.values[0] - owner.lookup([place]), equality=True)
            there = Constraint(as_form(argument.shape[0]) - 2 - owner.lookup([place]))
            left = tuple(row for row in self.rows if row not in fibre.rows)
            made = self.solved(self.binders, (*left, found, there), self.body, tuple(within))
            return self.algebra.guard(within, made, self.algebra.neutral(self.term.kind))
        return None

    def values(self) -> Term | None:
        """`lo <= src[e] <= hi`: a loop over the values."""
        for row in self.rows:
            for lookup in _lookups(row.form, self.own):
                own = [r for r in self.rows if self.is_bound(r, lookup)]
                signs = {r.form.coefficient(lookup) > 0 for r in own}
                if len(signs) == 2:
                    return self.along_values(lookup, own)
        return None

    def along_values(self, lookup: Lookup, own: Sequence[Constraint]) -> Term:
        """The loop over the values of a lookup that rows bound."""
        name = self.terms.fresh("t")
        value = Affine.var(name)
        given = {lookup: value}
        bounds = [Constraint(form) for form in (value, lookup.below - 1 - value)]
        bounds += [Constraint(row.form.replace(_put(given))) for row in own]
        left = tuple(row for row in self.rows if row not in own)
        equal = Constraint(Affine.atom(lookup) - value, equality=True)
        inner = self.reduction(self.binders, (*left, equal), self.body)
        return self.reduction([name], bounds, inner)

    def beside(self) -> Term | None:
        """`2*src[e] + k = b`: the loop over what stands beside the only lookup of its place."""
        for row in self.rows:
            lookups = _lookups(row.form, self.own)
            if not row.equality or len(lookups) != 1:
                continue
            (lookup,) = lookups
            beside = (row.form - Affine.atom(lookup) * row.form.coefficient(lookup)).variables & self.own
            if beside and beside.isdisjoint(lookup.variables) and (made := self.outside(beside)) is not None:
                return made
        return None

    def outside(self, names: frozenset[str]) -> Term | None:
        """The same with a loop over some indices around one over the others; None if nothing bounds them."""
        if not self.bounds(names):
            return None
        own = [row for row in self.known_of(names) if row.form.variables & names]
        left = tuple(row for row in self.rows if row not in own)
        rest = [name for name in self.binders if name not in names]
        inner = self.reduction(rest, left, self.body)
        return self.reduction([name for name in self.binders if name in names], own, inner)

    def apart(self) -> Term | None:
        """`i[e] = j[f]`: the loop over e around that over f, for which `i[e]` is known.

        It is that over what the term does not depend on, so that what is inside is a value of an element, or
        over the fewer, or over what comes first.
        """
        found: list[frozenset[str]] = []
        for row in self.rows:
            lookups = _lookups(row.form, self.own) if row.equality else []
            for lookup in lookups:
                names = lookup.variables & self.own
                others = [other.variables for other in lookups if other is not lookup]
                if others and all(map(names.isdisjoint, others)) and self.bounds(names):
                    found.append(names)
        return self.around(min(found, key=self.order)) if found else None

    def order(self, names: frozenset[str]) -> tuple[bool, tuple[int, int], int]:
        """Which indices are to be around others, as numbers to compare."""
        return not names.isdisjoint(self.body.free), self.points(names), min(map(self.binders.index, names))

    def points(self, names: frozenset[str]) -> tuple[int, int]:
        """How many points indices have, to compare: those first of which no number says it."""
        sizes = [self.extent(name) for name in names]
        known = [size.constant for size in sizes if size is not None and size.is_constant]
        return len(sizes) - len(known), prod(known)

    def bounds(self, names: frozenset[str]) -> bool:
        """Whether rows bound some indices from both sides by what they and what is known say."""
        rows = self.known_of(names)
        signs = ({k > 0 for row in rows if (k := row.form.coefficient(name))} for name in names)
        return all(len(found) == 2 for found in signs)

    def known_of(self, names: frozenset[str]) -> list[Constraint]:
        """The rows of no other index, and of no element that one says the place of."""
        return [
            r for r in self.rows if r.form.variables & self.own <= names and not _lookups(r.form, self.own)
        ]

    def joined(self) -> Term | None:
        """`i[e] + j[e] = b`: an index array of the sums."""
        for row in self.rows:
            if not row.equality or not _lookups(row.form, self.own):
                continue
            moving = Affine(tuple((a, k) for a, k in row.form.terms if not self.own.isdisjoint(_names(a))), 0)
            lookup = self.sums(moving)
            if lookup is None:
                continue
            form, least = lookup
            equal = Constraint(form + least + (row.form - moving), equality=True)
            rows = tuple(equal if other is row else other for other in self.rows)
            return self.reduction(self.binders, rows, self.body)
        return None

    def sums(self, form: Affine) -> tuple[Affine, Affine] | None:
        """A lookup of an index array of the values of a form, and what they are at least more than it.

        None where the form depends on other indices, or on one whose range is not known.
        """
        names = [name for name in self.binders if name in form.variables]
        extents = {name: self.extent(name) for name in names}
        sizes = frozenset(self.arrays.program.sizes)
        if None in extents.values() or not form.variables <= sizes | set(names):
            return None
        least, most = ZERO, ZERO
        for atom, k in form.terms:
            if isinstance(atom, Floor):
                return None
            size = atom.below if isinstance(atom, Lookup) else extents[atom]
            assert size is not None
            # Not of `size - 1`: where a size is 0 there is a bound too, which is not negative.
            least, most = (least, most + size * k) if k > 0 else (least + size * k, most)
        places = {name: Affine.var(f"#{n}") for n, name in enumerate(names)}
        of = tuple(dict.fromkeys(lookup.array for lookup in form.lookups()))
        shape = [size for size in extents.values() if size is not None]
        array = self.arrays.values(of, form.substitute(places) - least, shape, most - least + 1)
        return array.lookup(list(map(Affine.var, names))), least

    def extent(self, name: str) -> Affine | None:
        """A form of sizes that an index is less than, where it is at least 0."""
        variable, sizes = Affine.var(name), frozenset(self.arrays.program.sizes)
        if not any(implied(variable, (row, *self.facts)) for row in self.rows if not row.equality):
            return None
        above = (row.form + variable + 1 for row in self.rows if row.form.coefficient(name) == -1)
        # An element of a scalar index array is no size, though no index is in it.
        return next((f for f in above if f.variables <= sizes and not f.has_lookups), None)

    # -- what is left ------------------------------------------------------------------------------

    def tested(self) -> Term:
        """The reduction whose rows are bounds, the others conditions on its body."""
        order = self.in_order()
        bounds = [row for row in self.rows if not row.equality and bounds_innermost(row.form, order)]
        tests = [row for row in self.rows if row not in bounds]
        body = self.algebra.guard(tests, self.body, self.algebra.neutral(self.term.kind))
        body = self.walk.visit(body, (*self.facts, *bounds))
        return self.reduction(order, bounds, body)

    def in_order(self) -> list[str]:
        """The indices, those in lookups before others that the same rows bound."""
        inside = {name for row in self.rows for lookup in row.form.lookups() for name in lookup.variables}
        return sorted(self.binders, key=lambda name: name not in inside)

    # -- helpers -----------------------------------------------------------------------------------

    def equations(self) -> list[Equation]:
        """The rows that say what an element at some place is, by what does not depend on that place."""
        found: list[Equation] = []
        for row in self.rows if self.own else ():
            for lookup in _lookups(row.form, self.own) if row.equality else ():
                k = row.form.coefficient(lookup)
                rest = row.form - Affine.atom(lookup) * k
                if k and rest.variables.isdisjoint(lookup.variables & self.own):
                    found.append(Equation(row, lookup, rest * (-1 if k > 0 else 1), abs(k)))
        return found

    def is_bound(self, row: Constraint, lookup: Lookup) -> bool:
        k = row.form.coefficient(lookup)
        rest = row.form - Affine.atom(lookup) * k
        return bool(k) and not row.equality and rest.variables.isdisjoint(self.own)

    def is_dense(self, known: Iterable[Equation]) -> bool:
        """Whether values are indices of the tensor that is computed, each another: it has most pairs."""
        definition = self.walk.definition
        sizes = dict(zip(definition.indices, map(as_form, definition.shape), strict=True))
        found = set[str]()
        for each in known:
            name = (each.value - each.value.constant).variable
            if name is None or name in found or name not in sizes:
                return False
            if not implied((sizes[name] + SPARSE) * SPARSE - each.lookup.below, self.facts):
                return False
            found.add(name)
        return True

    def put(self, given: dict[Lookup, Affine], rows: Domain, body: Term) -> tuple[Domain, Term]:
        """Values in the place of lookups."""
        rule = _put(given)
        names = frozenset(name for lookup in given for name in lookup.variables)
        made = tuple(Constraint(row.form.replace(rule), row.equality) for row in rows)
        return made, self.terms.rewrite_forms(body, names, lambda form: form.replace(rule))

    def solved(self, binders: Sequence[str], rows: Domain, body: Term, more: Domain) -> Term:
        made = self.reduction(binders, rows, body)
        return self.walk.canceller.visit(made, (*self.facts, *more))

    def reduction(self, binders: Sequence[str], rows: Iterable[Constraint], body: Term) -> Term:
        hints = [self.hints.get(name, "t") for name in binders]
        return self.algebra.reduction(self.term.kind, binders, tuple(rows), body, hints, self.term.span)


def _put(given: dict[Lookup, Affine]) -> Callable[[str | Floor | Lookup], Affine | None]:
    return lambda atom: given.get(atom) if isinstance(atom, Lookup) else None


def _names(atom: str | Floor | Lookup) -> frozenset[str]:
    return frozenset((atom,)) if isinstance(atom, str) else atom.variables


def _lookups(form: Affine, own: frozenset[str]) -> list[Lookup]:
    """The lookups of a form at places that depend on some indices, those in floors too; none in a lookup."""
    found: dict[Lookup, None] = {}
    for atom, _ in form.terms:
        if isinstance(atom, Lookup) and atom.variables & own:
            found[atom] = None
        elif isinstance(atom, Floor):
            found.update(dict.fromkeys(_lookups(atom.numerator, own)))
    return list(found)


def _distance(known: Equation) -> int:
    """How many lookups it takes to know a value."""
    return sum(1 for _ in known.value.lookups())
