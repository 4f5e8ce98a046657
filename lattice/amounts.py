"""Numbers of operations as sums and products of affine forms: polynomials in sizes, with bounds in them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from tadc.lattice.affine import Affine

Which = Literal["min", "max"]


@dataclass(frozen=True)
class Sum:
    """A sum of counts."""

    of: tuple[Count, ...]


@dataclass(frozen=True)
class Product:
    """A product of counts."""

    of: tuple[Count, ...]


Count = int | Affine | Sum | Product


@dataclass(frozen=True)
class Counted:
    """A number of operations over sizes and further names, each for the least or greatest of forms, in this
    order.

    Too large a product wraps around where code computes it: then it is wrong what is worth it, and nothing
    else.
    """

    names: tuple[tuple[str, Which, tuple[Affine, ...]], ...]
    count: Count

    def at(self, sizes: Mapping[str, int]) -> int:
        """The number for some sizes."""
        point = dict(sizes)
        for name, which, forms in self.names:
            values = [form.evaluate(point) for form in forms]
            point[name] = min(values) if which == "min" else max(values)
        return _value_at(self.count, point)


def _value_at(count: Count, point: Mapping[str, int]) -> int:
    match count:
        case int():
            return count
        case Affine():
            return count.evaluate(point)
        case Sum(of=of):
            return sum(_value_at(each, point) for each in of)
        case Product(of=of):
            result = 1
            for each in of:
                result *= _value_at(each, point)
            return result


def sum_of(counts: Sequence[Count]) -> Count:
    """A sum, its numbers added."""
    known = sum(count for count in counts if isinstance(count, int))
    return _of(Sum, counts, known, 0)


def product(counts: Sequence[Count]) -> Count:
    """A product, its numbers multiplied."""
    known = 1
    for count in counts:
        known *= count if isinstance(count, int) else 1
    return _of(Product, counts, known, 1) if known else 0


def _of(kind: type[Sum] | type[Product], counts: Sequence[Count], known: int, neutral: int) -> Count:
    """What numbers, which make `known`, and the other counts make together."""
    others: list[Count] = [count for count in counts if not isinstance(count, int)]
    if not others:
        return known
    if known != neutral:
        others.append(known)
    return others[0] if len(others) == 1 else kind(tuple(others))
