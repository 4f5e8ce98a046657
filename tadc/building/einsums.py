"""Sums of products in Einstein's notation: functions, arrays of a program, or the values of arrays."""

from __future__ import annotations

from functools import lru_cache
from string import ascii_lowercase
from typing import Any

from tadc.api.function import Function
from tadc.building.array_rules import has_operand
from tadc.building.built_programs import define
from tadc.building.einstein import Names, einsum_of, read_semiring, read_subscripts
from tadc.building.given_arrays import element_type_of, shape_of_given
from tadc.building.python_expressions import Index
from tadc.building.tensors import SizeLike, argument, element_type
from tadc.building.whole_arrays import FreshIndex
from tadc.caller.boundary import public
from tadc.frontend.naming import first_free


@public
def einsum(subscripts: str, *operands: Any, dtype: Any = "f64", reduce: str = "sum") -> Any:
    """What `numpy.einsum` computes: a function for arrays of all sizes, or with operands the result at once.

    Arguments of the function are `a`, `b`, …, of element type `dtype`; each letter is an index, and one
    that is not behind `->` is summed over. Without `->` the result has the letters that stand once, in the
    order of the alphabet. With operands, `...` stands for dimensions that have no letter, and one of size 1
    is repeated; the function is kept for others of the same types. Operands may be arrays of a `tadc.kernel`.
    `reduce` is another reduction, as "max", perhaps with what joins operands in the place of a product:
    "max-plus".

    >>> import tadc
    >>> f = tadc.einsum("ij,jk->ik")
    >>> f([[1, 2]], [[3], [4]])
    array([[11.]])
    >>> tadc.vjp(f, "a").outputs
    ('da',)
    >>> tadc.einsum("...i,i->...", [[1, 2], [3, 4]], [1, 10], reduce="max-plus")
    array([12., 14.])

    Raises UsageError (TAD0510) that shows the place for subscripts that say nothing.
    """
    read_semiring(reduce)
    if not operands:
        names, result = read_subscripts(subscripts)
        return _function(subscripts, tuple(names), result, (element_type(dtype),) * len(names), (), reduce)
    if has_operand(operands):
        return einsum_of(subscripts, operands, reduce)
    shapes = [shape_of_given(operand) for operand in operands]
    names, result = read_subscripts(subscripts, [len(shape) for shape in shapes])
    longest: dict[str, int] = {}
    for own, shape in zip(names, shapes, strict=True):
        for name, size in zip(own, shape, strict=True):
            longest[name] = max(longest.get(name, 1), size)
    # A dimension of size 1 beside a longer one is repeated, so the program differs.
    ones = tuple(
        (number, position)
        for number, (own, shape) in enumerate(zip(names, shapes, strict=True))
        for position, (name, size) in enumerate(zip(own, shape, strict=True))
        if size == 1 < longest[name]
    )
    types = tuple(element_type_of(operand) for operand in operands)
    return _function(subscripts, tuple(names), result, types, ones, reduce)(*operands)


@lru_cache(256)
def _function(
    subscripts: str,
    operands: tuple[Names, ...],
    result: Names,
    types: tuple[str, ...],
    ones: tuple[tuple[int, int], ...],
    reduce: str,
) -> Function:
    """The function; dimensions that `ones` lists have size 1."""
    names = ascii_lowercase[: len(operands)]
    tensors: list[Any] = []
    for number, (name, own, type) in enumerate(zip(names, operands, types, strict=True)):
        shape: list[SizeLike] = [
            1 if (number, position) in ones else f"N_{c.strip('.')}" for position, c in enumerate(own)
        ]
        tensors.append(argument(name, type, shape))
    # An index has another name than an argument.
    head = [
        Index(c if c not in names else first_free(f"i_{c}", names)) if c.isalpha() else FreshIndex()
        for c in result
    ]
    return define("result", head, einsum_of(subscripts, tensors, reduce))
