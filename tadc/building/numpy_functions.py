"""NumPy's functions of whole arrays by name, and what JAX, SciPy and `math` call by other names."""

from __future__ import annotations

import functools
import operator
import re
from collections.abc import Callable, Mapping
from typing import Any

from tadc.building import array_compositions, array_sums, array_views
from tadc.building.array_sums import accumulated, reduced
from tadc.building.einstein import einsum_of
from tadc.building.python_expressions import ATOM, CHOICE, Expression, applied, expression, grouped
from tadc.building.python_forms import SCALAR
from tadc.building.python_lines import here
from tadc.building.whole_arrays import as_array
from tadc.frontend.foreign_functions import CALLS, FORMULA_OF

#: A function of arrays.
Make = Callable[..., Any]

_STEPS: Mapping[str, Callable[[Any, Any], Any]] = {
    "cumsum": operator.add,
    "cumprod": operator.mul,
    "cummax": SCALAR["maximum"],
    "cummin": SCALAR["minimum"],
    "cumlogsumexp": SCALAR["logaddexp"],
}
#: What the methods of ufuncs do.
_UFUNCS = (
    ("add", "sum", "cumsum"),
    ("multiply", "prod", "cumprod"),
    ("maximum", "max", "cummax"),
    ("minimum", "min", "cummin"),
    ("logaddexp", "logsumexp", "cumlogsumexp"),
)


def _reduction(kind: str, first: Any = None) -> Make:
    def function(a: Any, axis: Any = first, *, keepdims: bool = False) -> Any:
        return reduced(kind, a, axis, keepdims)

    return function


def _accumulation(kind: str, first: Any = None) -> Make:
    def function(a: Any, axis: Any = first) -> Any:
        return accumulated(_STEPS[kind], a, axis)

    return function


def _einsum(subscripts: str, *operands: Any) -> Any:
    return einsum_of(subscripts, operands)


def _operator(name: str) -> Make:
    made: Make = getattr(operator, name)

    def function(x1: Any, x2: Any) -> Any:
        return made(x1, x2)

    return function


def _by_name(module: Any, names: str) -> dict[str, Make]:
    return {name: getattr(module, name) for name in names.split()}


#: Functions by their names.
FUNCTIONS: dict[str, Make] = {
    **{name: _reduction(name) for name in ("sum", "prod", "max", "min", "logsumexp")},
    "amax": _reduction("max"),
    "amin": _reduction("min"),
    **{name: _accumulation(name) for name in _STEPS},
    **_by_name(array_sums, "matmul dot inner outer tensordot kron"),
    **_by_name(
        array_views,
        "transpose moveaxis swapaxes expand_dims squeeze broadcast_to reshape ravel flip diagonal "
        "concatenate stack roll tile repeat pad full",
    ),
    **_by_name(
        array_compositions,
        "mean var std ptp average norm count_nonzero clip leaky_relu elu gelu softmax log_softmax diff "
        "trapezoid take split correlate convolve vdot multi_dot cross matrix_transpose trace diag tril triu "
        "fliplr flipud atleast_1d atleast_2d vstack hstack dstack column_stack zeros ones zeros_like "
        "ones_like full_like eye identity arange linspace meshgrid",
    ),
    "where": array_compositions.choose,
    "shape": array_compositions.array_shape,
    "size": array_compositions.array_size,
    "ndim": array_compositions.array_rank,
    "einsum": _einsum,
    "trapz": array_compositions.trapezoid,
    "permute_dims": array_views.transpose,
    "concat": array_views.concatenate,
    "copy": as_array,
    "array": as_array,
    "asarray": as_array,
    **{
        name: _operator(python)
        for python, names in (
            ("add", "add"),
            ("sub", "subtract"),
            ("mul", "multiply"),
            ("truediv", "divide true_divide"),
            ("pow", "power float_power pow"),
            ("mod", "remainder mod"),
            ("floordiv", "floor_divide"),
            ("eq", "equal"),
            ("ne", "not_equal"),
            ("lt", "less"),
            ("le", "less_equal"),
            ("gt", "greater"),
            ("ge", "greater_equal"),
            ("and_", "logical_and"),
        )
        for name in names.split()
    },
    "negative": operator.neg,
    "positive": operator.pos,
    "logical_not": operator.invert,
    **{f"{ufunc}.reduce": _reduction(kind, 0) for ufunc, kind, _ in _UFUNCS},
    **{f"{ufunc}.accumulate": _accumulation(kind, 0) for ufunc, _, kind in _UFUNCS},
}

#: What a module calls by a name that means something else in NumPy.
_OF_MODULES: dict[tuple[str, str], Make] = {
    ("scipy.special", "softmax"): array_compositions.softmax_of_all,
    ("scipy.special", "log_softmax"): array_compositions.log_softmax_of_all,
    ("math", "prod"): functools.partial(functools.reduce, operator.mul),
    ("math", "fsum"): functools.partial(functools.reduce, operator.add),
    ("math", "log"): array_compositions.log_to_base,
}

_NAME = re.compile(r"\b([xy])\b")


def formula(name: str, *operands: Any) -> Any:
    """A function of elements that the language has no name for, but a formula."""
    text = FORMULA_OF[name]

    def of_elements(*given: Any) -> Expression:
        by = dict(zip("xy", (grouped(expression(item), ATOM) for item in given), strict=False))
        return Expression(tuple(by.get(p, p) for p in _NAME.split(text) if p), CHOICE, site=here())

    return applied(of_elements, *operands, costs="(" in text)


def function_named(name: str, module: str = "") -> Make | None:
    """The function of arrays that a library calls so; None where there is none."""
    if (found := _OF_MODULES.get((module, name)) or FUNCTIONS.get(name)) is not None:
        return found
    if name.endswith(".outer") and (made := function_named(name.removesuffix(".outer"), module)):
        return functools.partial(array_compositions.outer_of_ufunc, made)
    text = (hint.text if (hint := CALLS.get(name)) else None) or name
    own = {"max": "maximum", "min": "minimum"}.get(text, text)
    if own in SCALAR:
        return SCALAR[own]
    return functools.partial(formula, name) if name in FORMULA_OF else None
