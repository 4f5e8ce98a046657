"""NumPy's functions of arrays that are written with others. Parameters have NumPy's names and order."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

from tadc.building import array_sums, array_views
from tadc.building.array_sums import reduced
from tadc.building.array_views import (
    axes_of,
    axis_of,
    broadcast_to,
    concatenate,
    count_of,
    diagonal,
    expand_dims,
    flip,
    full,
    of_places,
    ravel,
    read,
    size_value,
    stack,
    where_places,
)
from tadc.building.python_expressions import Condition
from tadc.building.python_forms import SCALAR, reduction, where
from tadc.building.python_lines import wrong
from tadc.building.size_forms import of_int, size_form
from tadc.building.whole_arrays import ArrayExpression, FreshIndex, as_array

# -- statistics ----------------------------------------------------------------------------


def mean(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    """The sum over the number of elements."""
    array = as_array(a)
    return reduced("sum", array, axis, keepdims) / count_of(array, axes_of(array, axis))


def var(a: Any, axis: Any = None, *, ddof: Any = 0, keepdims: bool = False) -> Any:
    """The mean of squares of what an element differs from the mean."""
    array = as_array(a)
    apart = array - mean(array, axis, keepdims=True)
    return reduced("sum", apart**2, axis, keepdims) / (count_of(array, axes_of(array, axis)) - ddof)


def std(a: Any, axis: Any = None, *, ddof: Any = 0, keepdims: bool = False) -> Any:
    """The root of the variance."""
    return SCALAR["sqrt"](var(a, axis, ddof=ddof, keepdims=keepdims))


def ptp(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    """How far the largest and the smallest element are apart."""
    return reduced("max", a, axis, keepdims) - reduced("min", a, axis, keepdims)


def average(a: Any, axis: Any = None, weights: Any = None, *, keepdims: bool = False) -> Any:
    """The mean by weights: of the shape of a, or one for each place along an axis."""
    if weights is None:
        return mean(a, axis, keepdims=keepdims)
    array, by = as_array(a), as_array(weights)
    if len(by.extents) == 1 < len(array.extents):
        behind = len(array.extents) - 1 - axis_of(array, axis)
        by = read(by, (slice(None), *[None] * behind))
    total = reduced("sum", broadcast_to(by, array_shape(array)), axis, keepdims)
    return reduced("sum", array * by, axis, keepdims) / total


def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    """The length of vectors, or Frobenius' norm."""
    array = as_array(x)
    many = len(axes_of(array, axis))
    if ord is None or (ord == 2 and many == 1) or (ord == "fro" and many == 2):
        return reduced("norm", array, axis, keepdims)
    if many == 1 and ord in (1, math.inf):
        return reduced("max" if ord == math.inf else "sum", abs(array), axis, keepdims)
    if many == 1 and isinstance(ord, int | float) and ord > 0:
        return reduced("sum", abs(array) ** ord, axis, keepdims) ** (1 / ord)
    raise wrong(f"there is no norm of order {ord!r} over {many} axes here")


def count_nonzero(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    """How many elements are not 0, or of a comparison hold."""
    return reduced("sum", choose(a, 1, 0), axis, keepdims)


# -- elements ------------------------------------------------------------------------------


def choose(condition: Any, x: Any, y: Any) -> Any:
    """`numpy.where`."""
    held = condition if isinstance(condition, Condition) else as_array(condition) != 0
    return where(held, x, y)


def clip(a: Any, a_min: Any = None, a_max: Any = None, *, min: Any = None, max: Any = None) -> Any:
    """Elements within bounds."""
    low, high = min if a_min is None else a_min, max if a_max is None else a_max
    above = a if low is None else SCALAR["maximum"](a, low)
    return above if high is None else SCALAR["minimum"](above, high)


def leaky_relu(x: Any, negative_slope: Any = 0.01) -> Any:
    """x, times a slope where it is negative."""
    return where(x >= 0, x, negative_slope * x)


def elu(x: Any, alpha: Any = 1.0) -> Any:
    """x, and `alpha * (exp(x) - 1)` where it is negative."""
    return where(x > 0, x, alpha * SCALAR["expm1"](where(x > 0, 0, x)))


def gelu(x: Any, approximate: bool = True) -> Any:
    """JAX's GELU: x times the normal distribution, by tanh unless it is not to be approximate."""
    if not approximate:
        return 0.5 * x * SCALAR["erfc"](-x / math.sqrt(2))
    return 0.5 * x * (1 + SCALAR["tanh"](math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def softmax(x: Any, axis: Any = -1) -> Any:
    """JAX's softmax: exponentials over their sum."""
    grown = SCALAR["exp"](x - reduced("max", x, axis, True))
    return grown / reduced("sum", grown, axis, True)


def log_softmax(x: Any, axis: Any = -1) -> Any:
    """The logarithm of the softmax."""
    return x - reduced("logsumexp", x, axis, True)


def softmax_of_all(x: Any, axis: Any = None) -> Any:
    """SciPy's softmax, which is over all axes by default."""
    return softmax(x, axis)


def log_softmax_of_all(x: Any, axis: Any = None) -> Any:
    """SciPy's, over all axes by default."""
    return log_softmax(x, axis)


def log_to_base(x: Any, base: Any = None) -> Any:
    """`math.log`."""
    return SCALAR["log"](x) if base is None else SCALAR["log"](x) / SCALAR["log"](base)


# -- along an axis -------------------------------------------------------------------------


def along(array: Any, axis: int, item: Any) -> Any:
    """What an index or a slice reads of one axis."""
    return read(array, (*[slice(None)] * axis, item))


def diff(a: Any, n: int = 1, axis: int = -1) -> Any:
    """Differences of neighbours, n times."""
    array = as_array(a)
    number = axis_of(array, axis)
    for _ in range(n):
        array = along(array, number, slice(1, None)) - along(array, number, slice(None, -1))
    return array


def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    """The integral by trapezoids."""
    array = as_array(y)
    number = axis_of(array, axis)
    steps = dx
    if x is not None:
        steps = diff(x, axis=-1 if len(as_array(x).extents) == 1 else axis)
        if len(as_array(x).extents) == 1:
            steps = read(steps, (slice(None), *[None] * (len(array.extents) - 1 - number)))
    pairs = along(array, number, slice(1, None)) + along(array, number, slice(None, -1))
    return reduced("sum", steps * pairs / 2, number)


def take(a: Any, indices: Any, axis: Any = None) -> Any:
    """What an index array reads of an axis."""
    array = ravel(a) if axis is None else as_array(a)
    return along(array, axis_of(array, 0 if axis is None else axis), indices)


def split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    """The parts between places of an axis, or so many equal ones."""
    array = as_array(ary)
    number = axis_of(array, axis)
    if isinstance(indices_or_sections, list | tuple):
        ends: list[Any] = [None, *indices_or_sections, None]
    else:
        many = operator.index(indices_or_sections)
        length = array.extents[number].over(of_int(many))
        if length is None:
            raise wrong(
                f"array split of {array.extents[number]} by {many} does not result in an equal division"
            )
        ends = [size_value(length * n) for n in range(many + 1)]
    return [along(array, number, slice(start, stop)) for start, stop in pairwise(ends)]


# -- windows -------------------------------------------------------------------------------


def _vectors(a: Any, v: Any) -> tuple[ArrayExpression, ArrayExpression, bool]:
    """Two arrays of one dimension, and whether the second one is longer."""
    array, weights = as_array(a), as_array(v)
    if len(array.extents) != 1 or len(weights.extents) != 1:
        raise wrong("arrays of one dimension are correlated and convolved")
    length, many = array.extents[0].number, weights.extents[0].number
    return array, weights, length is not None and many is not None and length < many


def _windows(array: ArrayExpression, weights: ArrayExpression, mode: str, middle: int = 0) -> Any:
    if mode not in ("valid", "same", "full"):
        raise wrong(f"mode must be one of 'valid', 'same', or 'full', not {mode!r}")
    if mode == "valid":
        return array_sums.windowed(array, weights)
    around = weights.extents[0] - 1
    before = around if mode == "full" else (around + middle) // 2
    behind = around if mode == "full" else around - before
    made = array_sums.windowed(array_views.padded_by(array, before, behind), weights)
    if mode == "full" or (around.number is not None and array.extents[0].number is not None):
        return made
    # NumPy's result is as long as the longer array. So this one holds where the weights are not longer, a
    # condition on sizes that the size of an empty sum states.
    spare = array.extents[0] - weights.extents[0]
    return made + reduction("sum", {FreshIndex("z"): spare.expression}, (0,))


def correlate(a: Any, v: Any, mode: str = "valid") -> Any:
    """Windows of a, each times v."""
    array, weights, is_short = _vectors(a, v)
    if is_short:
        return flip(_windows(weights, array, mode))
    return _windows(array, weights, mode, 1)


def convolve(a: Any, v: Any, mode: str = "full") -> Any:
    """Windows of a, each times v from behind."""
    array, weights, is_short = _vectors(a, v)
    if is_short:
        array, weights = weights, array
    return _windows(array, flip(weights), mode, 1)


# -- matrices ------------------------------------------------------------------------------


def vdot(a: Any, b: Any) -> Any:
    """The sum of all products."""
    return array_sums.dot(ravel(a), ravel(b))


def outer_of_ufunc(function: Callable[[Any, Any], Any], A: Any, B: Any) -> Any:
    """`numpy.subtract.outer` and the like: a function of each pair of elements."""
    rows, columns = as_array(A), as_array(B)
    return function(array_views.read(rows, (..., *[None] * len(columns.extents))), columns)


def multi_dot(arrays: Sequence[Any]) -> Any:
    """A product of matrices."""
    product = arrays[0]
    for other in arrays[1:]:
        product = array_sums.matmul(product, other)
    return product


def cross(a: Any, b: Any, axis: int = -1) -> Any:
    """The cross product of vectors of three components."""
    u, v = (array_views.moveaxis(as_array(array), axis, 0) for array in (a, b))
    if u.extents[0].number != 3 or v.extents[0].number != 3:
        raise wrong("a cross product is of vectors of 3 components here")
    parts = [u[(n + 1) % 3] * v[(n + 2) % 3] - u[(n + 2) % 3] * v[(n + 1) % 3] for n in range(3)]
    return stack(parts, axis)


def matrix_transpose(x: Any) -> Any:
    """The last two axes, each in the place of the other."""
    return array_views.swapaxes(x, -1, -2)


def trace(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """The sum of the diagonal."""
    return reduced("sum", diagonal(a, offset, axis1, axis2), -1)


def diag(v: Any, k: int = 0) -> Any:
    """The diagonal of a matrix, or the matrix with a diagonal."""
    array = as_array(v)
    if len(array.extents) != 1:
        return diagonal(array, k)
    size = size_value(array.extents[0] + abs(k))
    rows = array_views.pad(array, [(max(0, -k), max(0, k))])
    return eye(size, k=k) * expand_dims(rows, 1)


def tril(m: Any, k: int = 0) -> Any:
    """What is below a diagonal, and it."""
    return where_places(m, lambda i, j: j - i <= k)


def triu(m: Any, k: int = 0) -> Any:
    """What is above a diagonal, and it."""
    return where_places(m, lambda i, j: j - i >= k)


def fliplr(m: Any) -> Any:
    """Columns the other way round."""
    return flip(m, 1)


def flipud(m: Any) -> Any:
    """Rows the other way round."""
    return flip(m, 0)


# -- stacks --------------------------------------------------------------------------------


def atleast_1d(a: Any) -> ArrayExpression:
    """The array; a number as an array of one element."""
    array = as_array(a)
    return array if array.extents else expand_dims(array, 0)


def atleast_2d(a: Any) -> ArrayExpression:
    """The array with axes of one element in front, so that there are two."""
    array = atleast_1d(a)
    return array if len(array.extents) > 1 else expand_dims(array, 0)


def vstack(tup: Sequence[Any]) -> Any:
    """Rows one below the other."""
    return concatenate([atleast_2d(item) for item in tup], 0)


def hstack(tup: Sequence[Any]) -> Any:
    """Columns side by side."""
    arrays = [atleast_1d(item) for item in tup]
    return concatenate(arrays, 0 if len(arrays[0].extents) == 1 else 1)


def dstack(tup: Sequence[Any]) -> Any:
    """Matrices along a third axis."""
    arrays = [atleast_2d(item) for item in tup]
    return concatenate([expand_dims(a, 2) if len(a.extents) == 2 else a for a in arrays], 2)


def column_stack(tup: Sequence[Any]) -> Any:
    """Vectors as columns."""
    arrays = [as_array(item) for item in tup]
    return concatenate([expand_dims(a, 1) if len(a.extents) == 1 else a for a in arrays], 1)


# -- arrays that nothing is read for -------------------------------------------------------


def array_shape(a: Any) -> tuple[Any, ...]:
    """The sizes, as numbers and expressions."""
    return tuple(map(size_value, as_array(a).extents))


def array_size(a: Any) -> Any:
    """How many elements there are."""
    array = as_array(a)
    return count_of(array, range(len(array.extents)))


def array_rank(a: Any) -> int:
    """How many dimensions there are."""
    return len(as_array(a).extents)


def zeros(shape: Any) -> ArrayExpression:
    """0 everywhere."""
    return full(shape, 0)


def ones(shape: Any) -> ArrayExpression:
    """1 everywhere."""
    return full(shape, 1)


def zeros_like(a: Any) -> ArrayExpression:
    """0 everywhere."""
    return full(array_shape(a), 0)


def ones_like(a: Any) -> ArrayExpression:
    """1 everywhere."""
    return full(array_shape(a), 1)


def full_like(a: Any, fill_value: Any) -> ArrayExpression:
    """One value everywhere."""
    return full(array_shape(a), fill_value)


def eye(N: Any, M: Any = None, k: int = 0) -> ArrayExpression:
    """1 on a diagonal."""
    return of_places((N, N if M is None else M), lambda at: where(at[1] - at[0] == k, 1, 0))


def identity(n: Any) -> ArrayExpression:
    """1 on the diagonal."""
    return eye(n)


def arange(start: Any, stop: Any = None, step: Any = 1) -> ArrayExpression:
    """Integers by steps, as numbers."""
    first, last = (0, start) if stop is None else (start, stop)
    begin, end, by = size_form(first), size_form(last), size_form(step)
    if begin is None or end is None or by is None or not by.number or by.number < 0:
        raise wrong("`arange` is of integers and sizes, with a step above 0", "`linspace` has others")
    number, length = by.number, (end - begin + (by.number - 1)) // by.number
    return of_places((length.expression,), lambda at: number * at[0] + begin.expression)


def linspace(start: Any, stop: Any, num: Any = 50, endpoint: bool = True) -> ArrayExpression:
    """Numbers at equal distances."""
    step = (stop - start) / (num - 1 if endpoint else num)
    return of_places((num,), lambda at: start + at[0] * step)


def meshgrid(*xi: Any, indexing: str = "xy") -> list[Any]:
    """Coordinates of all points of a grid."""
    arrays = [as_array(x) for x in xi]
    rank = len(arrays)
    grids = [read(a, (*[None] * n, slice(None), *[None] * (rank - 1 - n))) for n, a in enumerate(arrays)]
    shape = [size_value(a.extents[0]) for a in arrays]
    whole = [broadcast_to(grid, shape) for grid in grids]
    return [array_views.swapaxes(g, 0, 1) for g in whole] if indexing == "xy" and rank > 1 else whole
