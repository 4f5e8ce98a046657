"""Extents: the number of elements along a dimension, an integer or a form of size symbols."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet

from tadc.lattice.affine import ZERO, Affine, Constraint
from tadc.lattice.late_dataclasses import dataclass

Extent = int | Affine
Shape = tuple[Extent, ...]

#: The values of a size symbol are below this: no array has more elements along a dimension, and
#: index forms with coefficients up to 2**22 stay 64-bit integers.
SIZE_LIMIT = 2**40
#: The elements of index arrays are below this: they are held in 32 bits.
INDEX_LIMIT = 2**31


def extent(form: Affine) -> Extent:
    """The extent that a form says; an integer where it is one."""
    return form.constant if form.is_constant else form


def as_form(size: Extent) -> Affine:
    """An extent as a form."""
    return Affine.const(size) if isinstance(size, int) else size


def symbol_of(size: Extent) -> str | None:
    """The size symbol that an extent is, if it is one alone."""
    return None if isinstance(size, int) else size.variable


def symbols_in(shape: Iterable[Extent]) -> frozenset[str]:
    """The size symbols of a shape."""
    return frozenset[str]().union(*(size.variables for size in shape if isinstance(size, Affine)))


def is_static(shape: Iterable[Extent]) -> bool:
    """Whether no size symbol is in a shape."""
    return all(isinstance(size, int) for size in shape)


def shape_at(shape: Iterable[Extent], sizes: Mapping[str, int]) -> tuple[int, ...]:
    """The shape where the symbols have these values."""
    return tuple(size if isinstance(size, int) else size.evaluate(sizes) for size in shape)


def substituted(shape: Sequence[Extent], values: Mapping[str, Affine]) -> Shape:
    """The shape with forms in the place of symbols."""
    return tuple(size if isinstance(size, int) else extent(size.substitute(values)) for size in shape)


def extent_text(size: Extent) -> str:
    """An extent as a program writes it."""
    return str(size) if isinstance(size, int) else _form_text(size)


def _form_text(form: Affine) -> str:
    # Kernels of fixed sizes need no text of forms, and with it half of the front end.
    from tadc.frontend.print_index import form_text

    return form_text(form)


def shape_text(shape: Iterable[Extent]) -> str:
    """`3, N + 2`."""
    return ", ".join(map(extent_text, shape))


def type_text(type: str, shape: Shape, below: Extent | None = None, *, increasing: bool = False) -> str:
    """`f64[3, N]`, as declarations have it; a scalar's type alone; `index[E] in N` of an index array."""
    sizes = f"[{shape_text(shape)}]" if shape else ""
    if below is None:
        return type + sizes
    return f"index{sizes} in {extent_text(below)}" + (" increasing" if increasing else "")


#: What the names of the lengths of dimensions begin with, as no symbol does.
LENGTH = "#"


@dataclass(frozen=True)
class SizeSource:
    """A dimension that tells a symbol: its extent is `factor * symbol + rest`, the rest told before."""

    symbol: str
    argument: int
    dimension: int
    factor: int
    rest: Affine

    def value(self, length: int, sizes: Mapping[str, int]) -> int:
        """The symbol where the dimension is so long; `sizes` are those told before. All may be symbols of a
        framework."""
        rest = length - self.rest.evaluate(sizes)
        return rest if self.factor == 1 else rest // self.factor


def size_sources(shapes: Sequence[Shape]) -> tuple[SizeSource, ...]:
    """How the shapes of the arguments tell the size symbols, each once, in an order to go by.

    A dimension that is the symbol alone comes first; else one that is linear in it and has no
    other symbol that is not yet told. What is left is told by several together, as by `N + M` and
    `N - M`: the lengths of these are symbols of their own then, which are told before.
    """
    found: dict[str, SizeSource] = {}
    places = [(a, d, as_form(size)) for a, shape in enumerate(shapes) for d, size in enumerate(shape)]
    places.sort(key=lambda place: symbol_of(extent(place[2])) is None)
    progress = True
    while progress:
        progress = False
        for argument, dimension, form in places:
            unknown = form.variables - found.keys()
            if len(unknown) != 1:
                continue
            (symbol,) = unknown
            factor = form.coefficient(symbol)
            rest = form - Affine.var(symbol) * factor
            if factor and symbol not in rest.variables:
                found[symbol] = SizeSource(symbol, argument, dimension, factor, rest)
                progress = True
    return (*found.values(), *_told_together(places, found.keys()))


def _told_together(
    places: Iterable[tuple[int, int, Affine]], found: AbstractSet[str]
) -> tuple[SizeSource, ...]:
    """The symbols that linear equations tell, and the lengths that they tell them by (Gauss and Jordan)."""
    places = [place for place in places if place[2].variables - found]
    lengths = {f"{LENGTH}{a}.{d}": SizeSource(f"{LENGTH}{a}.{d}", a, d, 1, ZERO) for a, d, _ in places}
    rows = [form - Affine.var(name) for name, (_, _, form) in zip(lengths, places, strict=True)]
    rows = [row for row in rows if all(isinstance(a, str) or a.variables <= found for a, _ in row.terms)]
    pivots: dict[int, str] = {}
    for symbol in sorted({name for row in rows for name in row.variables - found - lengths.keys()}):
        free = (n for n, row in enumerate(rows) if row.coefficient(symbol) and n not in pivots)
        if (at := next(free, None)) is not None:
            pivot, by = rows[at], rows[at].coefficient(symbol)
            rows = [r if r is pivot else r * by - pivot * r.coefficient(symbol) for r in rows]
            pivots[at] = symbol
    told: dict[str, SizeSource] = {}
    for at, symbol in pivots.items():
        factor = rows[at].coefficient(symbol)
        rest = (rows[at] if factor > 0 else -rows[at]) - Affine.var(symbol) * abs(factor)
        if rest.variables <= {*found, *lengths}:
            known = {name: lengths[name] for name in lengths if name in rest.variables}
            first = next(iter(known.values()))
            rest += Affine.var(first.symbol)
            told |= known
            told[symbol] = SizeSource(symbol, first.argument, first.dimension, abs(factor), rest)
    return tuple(told.values())


def told_sizes(shapes: Sequence[Shape], found: Sequence[tuple[int, ...]], sizes: dict[str, int]) -> None:
    """Add to the sizes the values of symbols that arrays of these shapes tell, where their ranks fit."""
    pairs = [(shape, given) for shape, given in zip(shapes, found, strict=True) if len(shape) == len(given)]
    known = dict(sizes)
    for source in size_sources([shape for shape, _ in pairs]):
        length = pairs[source.argument][1][source.dimension]
        if source.symbol not in known and source.rest.variables <= known.keys():
            known[source.symbol] = source.value(length, known)
    sizes.update({name: value for name, value in known.items() if not name.startswith(LENGTH)})


def required_text(excluded: Iterable[Constraint]) -> str:
    """What sizes outside of an excluded set satisfy: `M >= N + 2 or N <= 0`."""
    parts: list[str] = []
    for row in reversed(tuple(excluded)):
        if row.equality:
            parts.append(_comparison(row.form, "!="))
        else:
            parts.append(_comparison(-row.form - 1, ">="))
    return " or ".join(parts)


def _comparison(form: Affine, relation: str) -> str:
    """`form relation 0` with positive terms on both sides."""
    left = Affine(tuple((a, k) for a, k in form.terms if k > 0), 0)
    right = left - form
    if not left.terms:
        left, right, relation = right, left, {">=": "<="}.get(relation, relation)
        left, right = left - left.constant, right - left.constant
    elif right.constant < 0:
        left, right = left - right.constant, right - right.constant
    return f"{_form_text(left)} {relation} {_form_text(right)}"


def count_of(name: str, shape: Shape) -> Extent:
    """The number of elements of a tensor: a size of its own, `name.count`, where it is no form of sizes."""
    symbolic = [size for size in shape if not isinstance(size, int)]
    rest = math.prod(size for size in shape if isinstance(size, int))
    if not symbolic:
        return rest
    return extent(symbolic[0] * rest) if len(symbolic) == 1 else Affine.var(f"{name}.count")
