"""What operators, NumPy and Python ask of whole arrays, answered by the tables of NumPy's functions."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tadc.building import array_compositions, array_views
from tadc.building.array_views import size_value
from tadc.building.numpy_functions import FUNCTIONS, function_named
from tadc.building.python_expressions import HOOKS, Condition, Expression, Index, Operand
from tadc.building.python_lines import wrong
from tadc.building.size_forms import SizeForm, listed, shape_text, size_form
from tadc.building.spoken import in_python
from tadc.building.whole_arrays import ArrayExpression, FreshIndex, as_array, elementwise
from tadc.caller.boundary import public
from tadc.frontend.foreign_functions import CALLS
from tadc.frontend.suggest import did_you_mean

#: Methods of arrays that are functions of the same name and arguments.
_METHODS = frozenset(
    "sum prod max min mean var std ptp dot ravel swapaxes squeeze clip cumsum cumprod repeat take "
    "trace diagonal copy".split()
)
_PROPERTIES: Mapping[str, Callable[[ArrayExpression], Any]] = {
    "shape": lambda a: tuple(map(size_value, a.extents)),
    "ndim": lambda a: len(a.extents),
    "size": array_compositions.array_size,
    "T": array_views.transpose,
    "mT": array_compositions.matrix_transpose,
}


def _reshape(array: ArrayExpression, *shape: Any) -> ArrayExpression:
    return array_views.reshape(array, shape[0] if len(shape) == 1 else shape)


def _transpose(array: ArrayExpression, *axes: Any) -> ArrayExpression:
    given = listed(axes[0]) if len(axes) == 1 and axes[0] is not None else axes
    return array_views.transpose(array, None if not axes or axes[0] is None else given)


_OWN_METHODS: Mapping[str, Callable[..., Any]] = {
    "reshape": _reshape,
    "transpose": _transpose,
    "flatten": array_views.ravel,
}


class _Rules:
    """See ArrayRules."""

    def elementwise(
        self, make: Callable[..., Any], operands: Sequence[Any], *, costs: bool, chooses: bool
    ) -> ArrayExpression:
        """See ArrayRules."""
        return elementwise(make, operands, costs=costs, chooses=chooses)

    def whole(self, value: Any) -> ArrayExpression:
        """See ArrayRules."""
        return as_array(value)

    def scalar(self, array: Any) -> Expression:
        """See ArrayRules."""
        if array.extents:
            raise wrong(
                f"an array of shape {shape_text(array.extents)} stands where a number does",
                'read an element, `y[i]`, or name its elements: `tadc.let("y", [i], …)`',
            )
        array.used(repeatedly=True)
        return array.element(())

    def spread(
        self, head: Sequence[tuple[Index, Expression | None]], body: Any
    ) -> tuple[tuple[tuple[Index, Expression | None], ...], Expression]:
        """See ArrayRules. Indices of the head that its elements do not depend on name its last dimensions."""
        array = as_array(body)
        many = len(array.extents)
        named = list(head[len(head) - many :])
        free = array.free
        is_row = any(index.name in free for index, _ in named)
        if len(named) < many and not is_row and head:
            shape = shape_text(array.extents)
            help = "name each dimension, `[i, j]`, or none, `[]`"
            raise wrong(f"{len(head)} indices are given for an array of shape {shape}", help)
        if is_row or not head:
            named = [(FreshIndex(), None) for _ in array.extents]
            head = [*head, *named]
        sizes = [self._stated(size, own) for (_, size), own in zip(named, array.extents, strict=True)]
        whole = [*head[: len(head) - many], *((i, size) for (i, _), size in zip(named, sizes, strict=True))]
        return tuple(whole), array.element([i for i, _ in named])

    @staticmethod
    def _stated(stated: Expression | None, own: SizeForm) -> Expression:
        if stated is not None and size_form(stated) != own:
            raise wrong(f"the size `{stated}` is stated of a dimension of size `{own}`")
        return own.expression

    def read(self, array: Any, key: Any) -> Any:
        """See ArrayRules."""
        return array_views.read(array, key)

    def attribute(self, operand: Any, name: str) -> Any:
        """See ArrayRules."""
        if name in _PROPERTIES:
            return _PROPERTIES[name](as_array(operand))
        method = _OWN_METHODS.get(name) or (FUNCTIONS[name] if name in _METHODS else None)
        if method is None and name in CALLS:
            raise wrong(f"arrays of a program have no method `{name}`", in_python(CALLS[name].help))
        if method is None:
            near = did_you_mean(name, (*_PROPERTIES, *_OWN_METHODS, *_METHODS)) if name[0] != "_" else ()
            about = "".join(f"; {help}" for help in near)
            raise AttributeError(f"`tadc.{type(operand).__name__}` has no attribute {name!r}{about}")
        return public(functools.partial(called, method, f"the method `{name}`", operand))

    def call(self, function: Any, given: Sequence[Any], named: Mapping[str, Any]) -> Any:
        """See ArrayRules."""
        name, module = (
            (function, "numpy") if isinstance(function, str) else (function.__name__, function.__module__)
        )
        return call_named(name, module, given, named)


def call_named(name: str, module: str, given: Sequence[Any], named: Mapping[str, Any]) -> Any:
    """The value of a library's function. Raises UsageError (TAD0510) for one that arrays do not have."""
    found = function_named(name, module)
    title = f"`{module}.{name}`"
    if found is None:
        hint = CALLS.get(name)
        helps = [in_python(hint.help)] if hint else did_you_mean(name, FUNCTIONS)
        raise wrong(f"{title} is no function of expressions and arrays in a program", *helps)
    return called(found, title, *given, **named)


def called(function: Callable[..., Any], title: str, /, *given: Any, **named: Any) -> Any:
    """The value of a function. Raises UsageError (TAD0510) for arguments that it does not have."""
    named = {n: value for n, value in named.items() if value is not None or n not in ("out", "dtype")}
    try:
        inspect.signature(function).bind(*given, **named)
    except TypeError as problem:
        raise wrong(f"{title}: {problem}") from None
    return function(*given, **named)


def has_operand(given: Any) -> bool:
    """Whether an expression, a comparison or an array of a program stands in arguments."""
    if isinstance(given, tuple | list):
        return any(map(has_operand, given))  # pyright: ignore[reportUnknownArgumentType]
    return isinstance(given, Operand | Condition)


HOOKS.arrays = _Rules()
