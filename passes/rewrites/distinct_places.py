"""Products over a fibre that leave some of its elements out, and sums over such: all of other elements.

    sum{z} sum{w} (if z, w and e are three then (u(z) * v(w) * prod{q} (if q is none of them then x(q))))

is what the derivatives of a product have: places of one fibre that are all different, a term for each, and
the factors of all others. Sums and conditions may stand in any order: what is left out of what is a set of
pairs of places, which has to have all pairs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations
from typing import NamedTuple

from tadc.frontend.extents import as_form
from tadc.frontend.program import Argument
from tadc.frontend.terms import Apply, Domain, Guard, Reduce, Term, Terms
from tadc.lattice.affine import ZERO, Affine
from tadc.lattice.fibre import Fibre, fibre_of
from tadc.lattice.late_dataclasses import dataclass, replace
from tadc.passes.terms.algebra import Algebra, left_out
from tadc.passes.terms.inspected_arrays import Arrays

#: The subscripts of an element.
Element = tuple[Affine, ...]
#: What elements are that are left out.
_NOTHING = {"prod": 1, "sum": 0}


@dataclass(frozen=True)
class Order:
    """The elements of an index array in the order of the fibres that they are in."""

    arrays: Arrays
    ptr: Argument
    of: Argument  # which fibre an element is in
    perms: tuple[Argument, ...]  # the subscripts of the sorted elements; none where the places are these

    def element(self, place: Affine) -> Element:
        """The element at a place."""
        return tuple(perm.lookup([place]) for perm in self.perms) or (place,)

    def place(self, element: Element) -> Affine:
        """The place of an element."""
        if not self.perms:
            return element[0]
        sorted_at = element[0].lookup
        if sorted_at is not None and self.element(sorted_at.at[0]) == element:
            return sorted_at.at[0]
        array = self.perms[0]
        if len(self.perms) > 1:
            count, names = as_form(self.arrays.count(self.of.name)), [perm.name for perm in self.perms]
            array = self.arrays.values(names, self.flat(self.element(Affine.var("#0"))), (count,), count)
        return self.arrays.perm((array.name,), 0).lookup([self.flat(element)])

    def flat(self, element: Element) -> Affine:
        """The number of an element, row by row."""
        found = ZERO
        for size, form in zip(self.of.shape, element, strict=True):
            found = (found * size if isinstance(size, int) else ZERO) + form
        return found

    def range(self, fibre: Affine) -> tuple[Affine, Affine]:
        """Where a fibre begins, and where the next one does."""
        found = self.ptr.fibre([fibre], fibre)
        return Affine.atom(found.start), Affine.atom(found.stop)

    def known(self, form: Affine) -> Affine:
        """The fibre of an element at a place."""
        return self.of.lookup(self.element(form))


def order_of(arrays: Arrays, name: str) -> Order | None:
    """The order of the elements of an index array, by where its fibres begin."""
    ptr = arrays[name]
    if ptr.inspected is None:
        return Order(arrays, ptr, arrays.owner(name), ())
    if len(made_of := arrays.made_of("ptr", name)) != 1:
        return None
    of = arrays[made_of[0]]
    if not all(isinstance(size, int) for size in of.shape[1:]):
        return None
    perms = () if of.increasing else tuple(arrays.perm((of.name,), axis) for axis in range(len(of.shape)))
    return Order(arrays, ptr, of, perms)


class Others(NamedTuple):
    """A product over a fibre without an element; a sum of such with `summands` in the place of factors."""

    order: Order
    left: Element  # what is left out
    name: str  # the index of a place of the fibre
    factor: Term  # over `name`, as the summands are
    summands: tuple[Term, ...]
    multiple: Term  # by what the element says, of all of it


@dataclass(frozen=True)
class _Path:
    """What is met on the way to a product: fibres, its own last, which places are not equal, factors."""

    fibres: tuple[Fibre, ...] = ()
    apart: tuple[Domain, ...] = ()
    factors: tuple[Term, ...] = ()
    divisors: tuple[Term, ...] = ()
    minus: bool = False


@dataclass
class DistinctPlaces:
    """Looks for such products."""

    terms: Terms
    algebra: Algebra
    arrays: Arrays

    def found(self, term: Reduce) -> Others | None:
        """What a reduction is of, if it is over all other elements of a fibre; None for another."""
        for path, factor in self.paths(term, _Path()):
            order = order_of(self.arrays, path.fibres[-1].array)
            if order is not None and (made := self.others(order, path, factor)) is not None:
                return made
        return None

    def opened(self, term: Term) -> tuple[list[Fibre], Term]:
        """The fibres that a product or a sum is over, and what is in it; none for another term."""
        if not isinstance(term, Reduce) or term.kind not in _NOTHING:
            return [], term
        names, domain, body = self.terms.open(term)
        found = [fibre for name in names if (fibre := fibre_of(name, domain)) and fibre.exactly]
        return (found if 2 * len(found) == len(domain) == 2 * len(names) else []), body

    def paths(self, term: Term, path: _Path) -> Iterator[tuple[_Path, Term]]:
        """The products over fibres that a term is a sum of multiples of: each way to one, and its factor."""
        match term:
            case Reduce():
                fibres, body = self.opened(term)
                if not fibres or len({each.array for each in (*path.fibres, *fibres)}) > 1:
                    return
                apart, body = left_out(body, _NOTHING[term.kind])
                path = replace(path, fibres=(*path.fibres, *fibres), apart=(*path.apart, *apart))
                if term.kind == "sum":
                    yield from self.paths(body, path)
                elif len(fibres) == 1:
                    yield path, body
            case Guard() if path.fibres:
                apart, body = left_out(term)
                if apart:
                    yield from self.paths(body, replace(path, apart=(*path.apart, *apart)))
            case Apply(function="mul", operands=(one, other)) if path.fibres:
                yield from self.paths(one, replace(path, factors=(*path.factors, *_factors(other))))
                yield from self.paths(other, replace(path, factors=(*path.factors, *_factors(one))))
            case Apply(function="div", operands=(one, other)) if path.fibres:
                yield from self.paths(one, replace(path, divisors=(*path.divisors, other)))
            case Apply(function="neg", operands=(one,)) if path.fibres:
                yield from self.paths(one, replace(path, minus=not path.minus))
            case _:
                pass

    def others(self, order: Order, path: _Path, factor: Term) -> Others | None:
        """The places that are different, if they all are."""
        elements = {_index(each): order.element(each.place) for each in reversed(path.fibres)}
        pairs, outside = set[frozenset[str]](), set[Element]()
        for rows in path.apart:
            name, other = next(
                ((n, side) for n, e in elements.items() if (side := _other_side(rows, e))), ("", ())
            )
            known = next((n for n, e in elements.items() if e == other), "")
            if not name:
                return None
            pairs.add(frozenset((name, known)))
            if not known:
                outside.add(other)
        every = {frozenset(pair) for pair in combinations(["", *elements], 2)}
        if len(outside) != 1 or pairs != every:
            return None
        (left,) = outside
        fibres = [order.of.lookup(element) for element in (left, *elements.values())]
        if not all(len(each.values) == 1 and each.values[0] in fibres for each in path.fibres):
            return None
        return self.apart(order, left, path, factor)

    def apart(self, order: Order, left: Element, path: _Path, factor: Term) -> Others | None:
        """The term of each place; None where one depends on several."""
        *loops, name = map(_index, path.fibres)
        elements = [left, *(order.element(Affine.var(each)) for each in loops)]

        def of_one(term: Term, own: str) -> Term | None:
            """A term over one place, with its fibre as the fibre of that, if nothing else tells it."""
            here = order.known(Affine.var(own))
            for element in elements:
                names = frozenset[str]().union(*(form.variables for form in element))
                term = self.terms.rewrite_forms(term, names, put(order.of.lookup(element), here))
            term = self.terms.substitute(term, {own: Affine.var(name)})
            return term if term.free.isdisjoint(loops) else None

        whole = of_one(factor, name)
        if whole is None:
            return None
        summands: dict[str, Term] = dict.fromkeys([*loops, ""], self.algebra.one)
        for terms, combine in ((path.factors, self.algebra.mul), (path.divisors, self.algebra.div)):
            for term in terms:
                # What no place tells is a multiple of all.
                wanted = [each for each in loops if each in term.free]
                made = ((each, one) for each in wanted if (one := of_one(term, each)) is not None)
                own, one = next(made, ("", None)) if wanted else ("", term)
                if one is None:
                    return None
                summands[own] = combine(summands[own], one)
        multiple = summands.pop("")
        multiple = self.algebra.neg(multiple) if path.minus else multiple
        return Others(order, left, name, whole, tuple(summands.values()), multiple)


def _index(fibre: Fibre) -> str:
    """The index that runs over a fibre."""
    (name,) = fibre.place.variables
    return name


def _factors(term: Term) -> list[Term]:
    if isinstance(term, Apply) and term.function == "mul":
        return [factor for operand in term.operands for factor in _factors(operand)]
    return [term]


def _other_side(rows: Domain, element: Element) -> Element | None:
    """The element that is equal to another where rows hold."""
    found: list[Affine] = []
    for form in element:
        sides = (row.form.solved(form.terms[0][0]) for row in rows if row.equality)
        found += [side for side in sides if side is not None][:1]
    return tuple(found) if len(found) == len(element) == len(rows) else None


def put(old: Affine, new: Affine) -> Callable[[Affine], Affine]:
    """Forms with another in the place of the element that one is."""
    ((atom, _),) = old.terms
    return lambda form: form.replace(lambda each: new if each == atom else None)
