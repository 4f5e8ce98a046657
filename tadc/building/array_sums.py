"""Reductions of whole arrays, sums of products of several, and recurrences along an axis."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tadc.building.array_views import axes_of, axis_of, expand_dims, ravel, reshape
from tadc.building.python_expressions import Expression, expression
from tadc.building.python_forms import SCALAR, reduction, where
from tadc.building.python_lines import wrong
from tadc.building.size_forms import SizeForm, shape_text
from tadc.building.whole_arrays import ArrayExpression, At, FreshIndex, as_array


def reduced(kind: str, a: Any, axis: Any = None, keepdims: bool = False) -> ArrayExpression:
    """A reduction of the language over axes of an array."""
    array = as_array(a)
    over = axes_of(array, axis)
    kept = [d for d in range(len(array.extents)) if d not in over]
    array.used()

    def read(at: At) -> Any:
        if not over:
            return array.element(at)
        bound = {d: FreshIndex() for d in over}
        outer = dict(zip(kept, at, strict=True))
        body = array.element([bound[d] if d in bound else outer[d] for d in range(len(array.extents))])
        return reduction(kind, {i: array.extents[d].expression for d, i in bound.items()}, (body,))

    made = ArrayExpression([array.extents[d] for d in kept], read, [array], costs=True, label=kind)
    return expand_dims(made, tuple(sorted(over))) if keepdims else made


#: What the elements of operands are joined by.
JOINS: dict[str, Callable[[Any, Any], Any]] = {
    "times": operator.mul,
    "plus": operator.add,
    "max": lambda a, b: SCALAR["maximum"](a, b),
    "min": lambda a, b: SCALAR["minimum"](a, b),
}


def contracted(
    operands: Sequence[tuple[ArrayExpression, Sequence[str]]],
    result: Sequence[str],
    kind: str = "sum",
    join: str = "times",
) -> ArrayExpression:
    """The reduction of what operands are joined to, over the names of indices that the result has not.

    Each operand has a name for each dimension. Raises UsageError (TAD0510) where those of one name differ.
    """
    sizes = _named_sizes(operands)
    summed = [name for name in sizes if name not in result]
    for array, names in operands:
        array.used(repeatedly=bool(set(sizes).difference(names)))

    def read(at: At) -> Any:
        bound = {name: FreshIndex(name) for name in summed}
        places: Mapping[str, Expression] = {**dict(zip(result, at, strict=True)), **bound}
        elements = [_element(array, names, places) for array, names in operands]
        body = functools.reduce(JOINS[join], elements)
        return reduction(kind, {i: sizes[n].expression for n, i in bound.items()}, (body,)) if bound else body

    return ArrayExpression(
        [sizes[name] for name in result],
        read,
        [array for array, _ in operands],
        costs=bool(summed),
        label=kind,
    )


def _element(array: ArrayExpression, names: Sequence[str], places: Mapping[str, Expression]) -> Expression:
    return array.element(
        [
            expression(0) if size.number == 1 else places[n]
            for n, size in zip(names, array.extents, strict=True)
        ]
    )


def _named_sizes(operands: Sequence[tuple[ArrayExpression, Sequence[str]]]) -> dict[str, SizeForm]:
    sizes: dict[str, SizeForm] = {}
    for array, names in operands:
        for name, size in zip(names, array.extents, strict=True):
            known = sizes.get(name, size)
            if known != size and 1 not in (known.number, size.number):
                texts = " ".join(shape_text(a.extents) for a, _ in operands)
                help = [f"if `{known}` and `{size}` are always equal, declare both with one size"]
                is_told = known.number is not None and size.number is not None
                raise wrong(
                    f"dimensions of sizes {known} and {size} do not match, of shapes {texts}", *help[is_told:]
                )
            sizes[name] = size if known.number == 1 else known
    return sizes


def _letters(count: int, start: int = 0) -> list[str]:
    return [f"d{n}" for n in range(start, start + count)]


def matmul(a: Any, b: Any) -> ArrayExpression:
    """`a @ b`: the last axis of a with the last but one of b, all others side by side."""
    first, second = as_array(a), as_array(b)
    if not first.extents or not second.extents:
        raise wrong("matmul: an operand has no dimension", "`*` multiplies by a number")
    if first.extents[-1] != (other := second.extents[-2 if len(second.extents) > 1 else 0]):
        texts = f"{shape_text(first.extents)} and {shape_text(second.extents)}"
        message = f"matmul: shapes {texts} do not match: {first.extents[-1]} is not {other}"
        raise wrong(
            message,
            *["if they are always equal, declare both with one size"] * (not _are_numbers(first, second)),
        )
    stacks = _letters(max(len(first.extents), len(second.extents), 2) - 2)
    left = [*stacks[len(stacks) - max(0, len(first.extents) - 2) :], *["i"] * (len(first.extents) > 1), "k"]
    right = [
        *stacks[len(stacks) - max(0, len(second.extents) - 2) :],
        "k",
        *["j"] * (len(second.extents) > 1),
    ]
    result = [*stacks, *["i"] * (len(first.extents) > 1), *["j"] * (len(second.extents) > 1)]
    return contracted([(first, left), (second, right)], result)


def _are_numbers(*arrays: ArrayExpression) -> bool:
    return all(size.number is not None for array in arrays for size in array.extents)


def tensordot(a: Any, b: Any, axes: Any = 2) -> ArrayExpression:
    """The sum of products over axes of both."""
    first, second = as_array(a), as_array(b)
    rank = len(first.extents)
    if isinstance(axes, tuple | list):
        over, by = axes_of(first, axes[0]), axes_of(second, axes[1])
    else:
        over, by = list(range(rank - operator.index(axes), rank)), list(range(operator.index(axes)))
    left, right = _letters(rank), _letters(len(second.extents), rank)
    for d, e in zip(over, by, strict=True):
        right[e] = left[d]
    result = [n for n in [*left, *right] if n not in {left[d] for d in over}]
    return contracted([(first, left), (second, right)], result)


def dot(a: Any, b: Any) -> ArrayExpression:
    """The sum of products over the last axis of a and the last but one of b."""
    first, second = as_array(a), as_array(b)
    if not first.extents or not second.extents:
        return contracted(
            [(first, _letters(len(first.extents))), (second, _letters(len(second.extents)))],
            _letters(max(len(first.extents), len(second.extents))),
        )
    return tensordot(first, second, ([-1], [-2 if len(second.extents) > 1 else 0]))


def inner(a: Any, b: Any) -> ArrayExpression:
    """The sum of products over the last axes."""
    return tensordot(a, b, ([-1], [-1]))


def outer(a: Any, b: Any) -> ArrayExpression:
    """All products of an element of a and one of b."""
    return tensordot(ravel(a), ravel(b), 0)


def kron(a: Any, b: Any) -> Any:
    """All products of elements, in blocks."""
    first, second = as_array(a), as_array(b)
    if len(first.extents) != 2 or len(second.extents) != 2:
        raise wrong("kron is of two matrices here")
    product = contracted([(first, "ac"), (second, "bd")], "abcd")
    rows, columns = (f * s for f, s in zip(first.extents, second.extents, strict=True))
    return reshape(product, [rows.expression, columns.expression])


def accumulated(step: Callable[[Any, Any], Any], a: Any, axis: Any = None) -> ArrayExpression:
    """Each element with all before it along an axis: a recurrence, so that each takes one step."""
    array = ravel(a) if axis is None else as_array(a)
    along = axis_of(array, 0 if axis is None else axis)
    array.used(repeatedly=True)  # the first one is read in another branch
    at = [FreshIndex() for _ in array.extents]
    before = tuple(i - 1 if d == along else i for d, i in enumerate(at))
    element = array.element(at)
    if element.free.difference(i.name for i in at):
        help = "write the sum over all before: `tadc.sum(k, 0, i, …)`"
        raise wrong("what is accumulated depends on an index of the kernel", help)

    def body(own: Any) -> Any:
        return where(at[along] == 0, element, step(own.element(before, "["), element))

    made = ArrayExpression(array.extents, array.element, costs=True, label="total")
    made.keep(at, body, at[along])
    return made


def windowed(array: ArrayExpression, weights: ArrayExpression) -> ArrayExpression:
    """The sum of products with each run of as many elements as there are weights."""
    (length,), (many,) = array.extents, weights.extents
    array.used(repeatedly=True)
    weights.used(repeatedly=True)

    def read(at: At) -> Any:
        k = FreshIndex("k")
        return reduction("sum", {k: many.expression}, (array.element([at[0] + k]) * weights.element([k]),))

    return ArrayExpression([length - many + 1], read, [array, weights], costs=True)
