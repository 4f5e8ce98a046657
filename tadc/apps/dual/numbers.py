"""What stands for a float in plain Python code: its operators, and the functions of NumPy on it."""

from __future__ import annotations

import math
import operator as plain_operators
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

from tadc.toolkit.language import UNARY

Plain = Callable[..., Any]

operator: Any = plain_operators  # typed loosely: its stubs leave types out

#: NumPy's functions by name, where the language has them by another.
_RENAMED = {
    **{"subtract": "sub", "multiply": "mul", "divide": "div", "true_divide": "div", "power": "pow"},
    **{"float_power": "pow", "negative": "neg", "positive": "pos", "remainder": "mod", "absolute": "abs"},
    **{"fabs": "abs", "maximum": "max", "fmax": "max", "minimum": "min", "fmin": "min"},
    **{"arcsin": "asin", "arccos": "acos", "arctan": "atan", "arctan2": "atan2", "arcsinh": "asinh"},
    **{"arccosh": "acosh", "arctanh": "atanh", "floor_divide": "floordiv", "rad2deg": "degrees"},
    **{"deg2rad": "radians", "conjugate": "pos", "gamma": "gamma", "gammaln": "lgamma", "psi": "digamma"},
}
_SAME = (
    *("add", "hypot", "rint", "trunc", "square", "reciprocal", "degrees", "radians", "logaddexp"),
    *("fmod", "copysign", "ldexp", *UNARY),
)
#: NumPy's and SciPy's element-wise functions, and what they are here.
UFUNCS: dict[str, str] = {**{name: name for name in _SAME}, **_RENAMED}

#: NumPy's relations, and operators.
_RELATIONS: dict[str, Callable[[Any, Any], Any]] = {
    **{"less": operator.lt, "less_equal": operator.le, "greater": operator.gt},
    **{"greater_equal": operator.ge, "equal": operator.eq, "not_equal": operator.ne},
}

#: Tests of a value.
_TESTS = ("isnan", "isinf", "isfinite", "signbit")


def _both(function: str, plain: Plain) -> tuple[Any, Any]:
    """An operator of numbers of ours and floats, and the one whose first operand is a float."""

    def left(self: TracedNumber, other: Any) -> Any:
        is_known = isinstance(other, TracedNumber) or _is_number(other)
        return self.apply(function, plain, self, other) if is_known else NotImplemented

    def right(self: TracedNumber, other: Any) -> Any:
        return self.apply(function, plain, other, self) if _is_number(other) else NotImplemented

    return left, right


def _compared(relation: str) -> Any:
    def method(self: TracedNumber, other: Any) -> Any:
        return self.compare(relation, other)

    return method


def _rounded(plain: Plain) -> Any:
    def method(self: TracedNumber) -> Any:
        return self.test(plain, f"the whole number that {self!r} is rounded to")

    return method


class TracedNumber(ABC):
    """A number that functions of floats compute with; `apply` says what each operation is."""

    __slots__ = ()
    __hash__: ClassVar[None] = None  # pyright: ignore[reportIncompatibleMethodOverride]

    @classmethod
    @abstractmethod
    def apply(cls, function: str, plain: Plain, *operands: Any) -> Any:
        """The function of numbers of this kind and floats; `plain` is the one of floats."""

    @abstractmethod
    def test(self, plain: Plain, what: str = "") -> Any:
        """What `plain` finds of the value, as `math.isnan` or `int`; `what` says in an error what that is."""

    @abstractmethod
    def compare(self, relation: str, other: Any) -> Any:
        """Whether a relation of the language holds for the value and another number."""

    __eq__, __ne__ = _compared("="), _compared("!=")
    __lt__, __le__ = _compared("<"), _compared("<=")
    __gt__, __ge__ = _compared(">"), _compared(">=")

    __int__, __trunc__ = _rounded(int), _rounded(math.trunc)
    __floor__, __ceil__ = _rounded(math.floor), _rounded(math.ceil)

    def __bool__(self) -> bool:
        return bool(self != 0.0)

    __add__, __radd__ = _both("add", operator.add)
    __sub__, __rsub__ = _both("sub", operator.sub)
    __mul__, __rmul__ = _both("mul", operator.mul)
    __truediv__, __rtruediv__ = _both("div", operator.truediv)
    __mod__, __rmod__ = _both("mod", operator.mod)
    __floordiv__, __rfloordiv__ = _both("floordiv", operator.floordiv)
    __pow__, __rpow__ = _both("pow", operator.pow)

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> Any:
        return other // self, other % self

    def __neg__(self) -> Any:
        return self.apply("neg", operator.neg, self)

    def __pos__(self) -> Any:
        return self

    def __abs__(self) -> Any:
        return self.apply("abs", abs, self)

    @property
    def real(self) -> Any:
        """The number itself."""
        return self

    @property
    def imag(self) -> float:
        """0: there is no imaginary part."""
        return 0.0

    def conjugate(self) -> Any:
        """The number itself."""
        return self

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        name = ufunc.__name__
        if method != "__call__" or kwargs:
            how = (
                f"`numpy.{name}.{method}`" if method != "__call__" else f"`{name}` with {', '.join(kwargs)}="
            )
            raise TypeError(f"{how} cannot be computed with {type(self).__name__} numbers")
        if any(getattr(x, "ndim", 0) for x in inputs):
            return _elementwise(ufunc, inputs)
        operands = [unboxed(x) for x in inputs]
        if name in _RELATIONS:
            return _RELATIONS[name](*operands)
        if name in _TESTS:
            return self.test(ufunc)
        if name not in UFUNCS:
            raise TypeError(f"there is no rule for `{name}` of {type(self).__name__} numbers")
        return self.apply(UFUNCS[name], ufunc, *operands)

    def __getattr__(self, name: str) -> Any:
        # NumPy computes `sin` of an array of objects by their method `sin`.
        if name not in UFUNCS:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        import numpy as np

        ufunc = getattr(np, name)

        def call(*others: Any) -> Any:
            return self.__array_ufunc__(ufunc, "__call__", self, *others)

        return call


def _is_number(x: Any) -> bool:
    if isinstance(x, int | float):
        return True
    import numpy as np

    return isinstance(x, np.number | np.bool_)


def unboxed(x: Any) -> Any:
    """What is in an array without dimensions; anything else as it is."""
    return x[()] if getattr(x, "shape", None) == () else x


def _elementwise(ufunc: Any, inputs: tuple[Any, ...]) -> Any:
    import numpy as np

    boxed: list[Any] = []
    for x in inputs:
        if isinstance(x, TracedNumber):
            box = np.empty((), object)
            box[()] = x
            boxed.append(box)
        else:
            boxed.append(np.asarray(x).astype(object))
    return ufunc(*boxed)
