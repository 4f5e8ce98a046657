"""Numbers of operations as sums and products of affine forms: polynomials in sizes, with bounds in them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Literal, NamedTuple

from tadc.lattice.affine import Affine
from tadc.lattice.late_dataclasses import dataclass

Which = Literal["min", "max"]
Kind = Literal["sum", "product"]


class Together(NamedTuple):
    """A sum or a product of counts."""

    kind: Kind
    of: tuple[Count, ...]


Count = int | Affine | Together


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
        case Together(kind=kind, of=of):
            return (sum if kind == "sum" else prod)(_value_at(each, point) for each in of)


def sum_of(counts: Sequence[Count]) -> Count:
    """A sum, its numbers added."""
    known = sum(count for count in counts if isinstance(count, int))
    return _of("sum", counts, known, 0)


def product(counts: Sequence[Count]) -> Count:
    """A product, its numbers multiplied."""
    known = prod(count for count in counts if isinstance(count, int))
    return _of("product", counts, known, 1) if known else 0


def _of(kind: Kind, counts: Sequence[Count], known: int, neutral: int) -> Count:
    """What numbers, which make `known`, and the other counts make together."""
    others: list[Count] = [count for count in counts if not isinstance(count, int)]
    if not others:
        return known
    if known != neutral:
        others.append(known)
    return others[0] if len(others) == 1 else Together(kind, tuple(others))
