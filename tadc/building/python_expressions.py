"""Expressions of the language as Python objects: text with holes for the expressions in it."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any, NoReturn, Protocol, cast

from tadc.building.python_lines import Site, here, wrong
from tadc.caller.boundary import public
from tadc.frontend.conditions import NEGATED

if TYPE_CHECKING:
    import numpy as np

#: How tightly the operators bind, loosest first; what stands in brackets is an ATOM.
CHOICE, ADD, MULTIPLY, NEGATE, POWER, ATOM = range(6)
_LEVELS = {"+": ADD, "-": ADD, "*": MULTIPLY, "/": MULTIPLY, "%": MULTIPLY, "//": MULTIPLY, "**": POWER}

#: NumPy's names of the operators, and what the right side is asked where something of NumPy is on the left.
_NUMPY = {
    "add": "__radd__",
    "subtract": "__rsub__",
    "multiply": "__rmul__",
    "divide": "__rtruediv__",
    "floor_divide": "__rfloordiv__",
    "remainder": "__rmod__",
    "power": "__rpow__",
    "matmul": "__rmatmul__",
}
_COMPARISONS = {
    "equal": "=",
    "not_equal": "!=",
    "less": "<",
    "less_equal": "<=",
    "greater": ">",
    "greater_equal": ">=",
}

_LOOSE = "`&` binds tighter than `<`: write `(i < 3) & (j < 4)`, with parentheses"

#: Numbers of sizes and tensors in the order in which they are made.
moments = count()

#: What stands before the sign of a comparison of values that is negated.
NOT = "not "

#: Integers of more bits are beyond all numbers; Python writes none of more than some thousand digits.
_MOST_BITS = 2048

#: So far pieces are counted.
_COUNTED = 1 << 62


_Operator = Callable[["Operand | Condition", Any], Any]


def _operator(sign: str) -> tuple[_Operator, _Operator]:
    """An operator, and the one whose first operand is no expression."""

    def left(self: Operand | Condition, other: Any) -> Any:
        return applied(partial(_binary, sign), self, other)

    def right(self: Operand | Condition, other: Any) -> Any:
        return applied(partial(_binary, sign), other, self)

    return left, right


def _unless_comparisons(operator: _Operator) -> _Operator:
    """An operator that two comparisons do not have."""

    def of_one(self: Operand | Condition, other: Any) -> Any:
        if isinstance(other, Condition):
            help = "count them by `tadc.where(x > y, 1, 0)`; `&` joins comparisons that must all hold"
            raise wrong("two comparisons are not added or subtracted", help)
        return operator(self, other)

    return of_one


class ArrayRules(Protocol):
    """What is done with whole arrays, by NumPy's names and meaning."""

    def elementwise(
        self, make: Callable[..., Any], operands: Sequence[Any], *, costs: bool, chooses: bool
    ) -> Any:
        """The array whose elements are made of those of others, broadcast."""
        ...

    def whole(self, value: Any) -> Any:
        """An array of numbers as one of a program."""
        ...

    def scalar(self, array: Any) -> Expression:
        """The element of an array that has one. Raises UsageError (TAD0510) for others."""
        ...

    def spread(
        self, head: Sequence[tuple[Index, Expression | None]], body: Any
    ) -> tuple[tuple[tuple[Index, Expression | None], ...], Expression]:
        """The head and the body of a definition by an array."""
        ...

    def read(self, array: Any, key: Any) -> Any:
        """`array[key]`, as NumPy reads it."""
        ...

    def attribute(self, operand: Any, name: str) -> Any:
        """`x.T`, `x.shape`, the method `x.sum`. Raises AttributeError."""
        ...

    def call(self, function: Any, given: Sequence[Any], named: Mapping[str, Any]) -> Any:
        """The value of a function of NumPy. Raises UsageError (TAD0510) for one that is not known."""
        ...


class _Hooks:
    arrays: ArrayRules


#: `array_rules.py`, which stands on this module, puts itself here.
HOOKS = _Hooks()


def applied(make: Callable[..., Any], *operands: Any, costs: bool = False, chooses: bool = False) -> Any:
    """What `make` makes of operands; element by element where one is an array.

    `costs`: it takes longer than to read the value from memory. It `chooses` by its first operand.
    """
    if any(getattr(operand, "is_array", False) for operand in operands) or (
        any(isinstance(operand, Operand | Condition) for operand in operands)
        and any(map(_is_numbers, operands))
    ):
        return HOOKS.arrays.elementwise(make, operands, costs=costs, chooses=chooses)
    return make(*operands)


def _is_numbers(value: Any) -> bool:
    """Whether it is an array of NumPy or another library."""
    return not isinstance(value, Operand | Condition) and bool(getattr(value, "shape", ()))


class Operand:
    """What operators and functions of NumPy take: an expression, or an array of these.

    It is never a value of Python: it has no truth.
    """

    __slots__ = ("__weakref__",)
    __hash__ = object.__hash__  # `==` makes a condition, and keys of heads are told apart by identity

    @property
    def is_array(self) -> bool:
        """Whether it has elements."""
        return False

    # -- operators -------------------------------------------------------------------------

    __add__, __radd__ = _operator("+")
    __sub__, __rsub__ = _operator("-")
    __mul__, __rmul__ = _operator("*")
    __truediv__, __rtruediv__ = _operator("/")
    __floordiv__, __rfloordiv__ = _operator("//")
    __mod__, __rmod__ = _operator("%")
    __pow__, __rpow__ = _operator("**")

    def __neg__(self) -> Any:
        return applied(_negative, self)

    def __pos__(self) -> Any:
        return self

    def __abs__(self) -> Any:
        return applied(_absolute, self)

    def __matmul__(self, other: Any) -> Any:
        return HOOKS.arrays.call("matmul", (self, other), {})

    def __rmatmul__(self, other: Any) -> Any:
        return HOOKS.arrays.call("matmul", (other, self), {})

    # -- conditions ------------------------------------------------------------------------

    def __eq__(self, other: object) -> Condition:  # pyright: ignore[reportIncompatibleMethodOverride]
        return _relation("=", self, other)

    def __ne__(self, other: object) -> Condition:  # pyright: ignore[reportIncompatibleMethodOverride]
        return _relation("!=", self, other)

    def __lt__(self, other: Any) -> Condition:
        return _relation("<", self, other)

    def __le__(self, other: Any) -> Condition:
        return _relation("<=", self, other)

    def __gt__(self, other: Any) -> Condition:
        return _relation(">", self, other)

    def __ge__(self, other: Any) -> Condition:
        return _relation(">=", self, other)

    # -- NumPy -----------------------------------------------------------------------------

    if TYPE_CHECKING:  # functions of NumPy take it

        def __array__(self) -> np.ndarray[Any, Any]: ...

    @public
    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **named: Any) -> Any:
        """What NumPy asks where a function of elements is called, or its number stands on the left."""
        name = ufunc.__name__ if method == "__call__" else f"{ufunc.__name__}.{method}"
        if len(inputs) == 2 and not named and not isinstance(inputs[0], Operand):
            if name in _NUMPY:
                return getattr(inputs[1], _NUMPY[name])(inputs[0])
            if name in _COMPARISONS:
                return _relation(_COMPARISONS[name], inputs[0], inputs[1])
        return HOOKS.arrays.call(name, inputs, named)

    @public
    def __array_function__(
        self, function: Any, _: Any, given: Sequence[Any], named: Mapping[str, Any]
    ) -> Any:
        """What NumPy asks where another function of it is called."""
        return HOOKS.arrays.call(function, given, named)

    def __getattr__(self, name: str) -> Any:
        return HOOKS.arrays.attribute(self, name)

    # -- what an expression is not ---------------------------------------------------------

    @public
    def __and__(self, other: object) -> NoReturn:
        raise wrong("`&` and `|` are between comparisons", _LOOSE)

    __rand__ = __or__ = __ror__ = __and__

    @public
    def __invert__(self) -> NoReturn:
        raise wrong("`~` negates a comparison", "with parentheses: `~(i < 3)`")

    @public
    def __bool__(self) -> NoReturn:
        raise wrong("an expression is neither true nor false", "choose by `tadc.where(x > 0, …, …)`")

    @public
    def __float__(self) -> NoReturn:
        raise wrong(
            "an expression has no value before a function of it is called",
            "functions of expressions are tadc's own: `tadc.exp(x[i])`, not `math.exp(x[i])`",
        )

    __int__ = __complex__ = __index__ = __float__

    @public
    def __setitem__(self, key: object, value: object) -> NoReturn:
        help = "choose by places: `tadc.where(i == 0, …, x[i])`, or put parts together by `np.concatenate`"
        raise wrong("elements of a program are not assigned to", help)

    @public
    def __len__(self) -> int:
        if self.is_array and isinstance(size := self.shape[0], int):
            return size
        raise wrong("an expression has no length", 'sizes are symbols: `N = tadc.size("N")`')

    @public
    def __iter__(self) -> Iterator[Any]:
        if self.is_array and isinstance(size := self.shape[0], int):
            return iter([HOOKS.arrays.read(self, (n,)) for n in range(size)])
        raise wrong(
            "one cannot iterate over an expression",
            "`tadc.sum(k, …)` adds over an index, and `tadc.define` makes all elements",
        )


class Expression(Operand):
    """A number for each value of its indices, made by operators and by functions such as `tadc.exp`.

    It is never a value of Python: it has no truth, no length, and cannot be iterated over.

    >>> import tadc
    >>> i, x = tadc.index("i"), tadc.argument("x", "f64", "N")
    >>> 2 * x[i + 1] ** 2
    <tadc.Expression 2 * x[i + 1]**2>
    """

    __slots__ = ("free", "is_form", "level", "parts", "pieces", "site")

    def __init__(
        self,
        parts: tuple[str | Expression, ...],
        level: int = ATOM,
        *,
        is_form: bool = False,
        site: Site | None = None,
        binds: Sequence[str] = (),
    ) -> None:
        """`is_form`: it is made of indices, sizes and integers alone. `binds` are the indices bound in it."""
        self.parts = parts
        self.level = level
        self.is_form = is_form
        self.site = site
        inside = [part for part in parts if isinstance(part, Expression)]
        self.free: frozenset[str] = frozenset().union(*(part.free for part in inside)).difference(binds)
        #: How many pieces its text has: what is used twice counts twice.
        self.pieces: int = min(len(parts) + sum(part.pieces for part in inside), _COUNTED)

    @public
    def __getitem__(self, indices: Any) -> Expression:
        raise wrong(
            f"`{self.shown()}` has no elements: only arguments and what `tadc.let` makes are read by indices",
            'name it first: `h = tadc.let("h", [i], …)`, then `h[i + 1]`',
        )

    def __str__(self) -> str:
        return "".join(text for _, text in walk(self) if text)

    def shown(self) -> str:
        """The text for messages, which may be longer than memory: what is used twice stands there twice."""
        return str(self) if self.pieces < 10_000 else f"… of {self.pieces} pieces"

    def __repr__(self) -> str:
        return f"<tadc.{type(self).__name__} {self.shown()}>"


class Index(Expression):
    """An index, which `tadc.indices` makes; two of the same name are the same index.

    >>> import tadc
    >>> tadc.index("i")
    <tadc.Index i>
    """

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        super().__init__((name,), is_form=True)
        self.name = name
        self.free = frozenset([name])


class Size(Expression):
    """A size, which `tadc.sizes` makes; with a value where it has a fixed one.

    >>> import tadc
    >>> tadc.size("N")
    <tadc.Size N>
    """

    __slots__ = ("declared", "name", "order", "value")

    def __init__(self, name: str, value: int | None, site: Site) -> None:
        super().__init__((name,), is_form=True)
        self.name, self.value, self.declared, self.order = name, value, site, next(moments)


class Tensor(Expression):
    """An argument, or what `tadc.let` names: it is read by `x[i, 2*k]`, a scalar by `x` alone.

    >>> import tadc
    >>> i, a = tadc.index("i"), tadc.argument("a", "f64", (3, "N"))
    >>> a[2, i]
    <tadc.Expression a[2, i]>
    """

    __slots__ = ("declared", "name", "order")

    #: Whether what is read of it is an index expression.
    elements_are_forms = False

    def __init__(self, name: str, site: Site) -> None:
        super().__init__((name,))
        self.name, self.declared, self.order = name, site, next(moments)

    @property
    def at(self) -> Stored:
        """What a sparse tensor stores, read as `a.at[e]`."""
        return Stored(self)

    @property
    def extents(self) -> tuple[Expression | None, ...]:
        """The size of each dimension; None where it is told by what is read."""
        return ()

    @property
    def is_array(self) -> bool:
        """See Operand."""
        return bool(self.extents)

    def __getitem__(self, indices: Any) -> Any:
        given = cast(tuple[Any, ...], indices) if isinstance(indices, tuple) else (indices,)
        if given and (len(given) < len(self.extents) or not all(map(_is_place, given))):
            return HOOKS.arrays.read(self, given)
        return self.element(given, "[")

    def element(self, indices: Any, opening: str) -> Expression:
        """The read that begins with an opening bracket and what stands in front of its first index."""
        site = here()
        given = cast(tuple[Any, ...], indices) if isinstance(indices, tuple) else (indices,)
        if not given:
            return self
        parts: list[str | Expression] = [self, opening]
        for position, item in enumerate(given):
            parts += [", "] * (position > 0) + [expression(item)]
        is_form = self.elements_are_forms and all(p.is_form for p in parts[2:] if isinstance(p, Expression))
        return Expression((*parts, "]"), site=site, is_form=is_form)


class Stored:
    """What a sparse tensor stores, by the places at which it does."""

    __slots__ = ("_tensor",)

    def __init__(self, tensor: Tensor) -> None:
        self._tensor = tensor

    def __getitem__(self, indices: Any) -> Expression:
        first, *others = cast(tuple[Any, ...], indices) if isinstance(indices, tuple) else (indices,)
        # A sign behind it would make `at` an index.
        return self._tensor.element((grouped(expression(first), ATOM), *others), "[at ")

    def __repr__(self) -> str:
        return f"<what {self._tensor.name} stores>"


class Condition:
    """Comparisons that all hold: `i >= 1`, `(i < N) & (j == k)`, `x[i] > 0`, for `tadc.where`.

    >>> import tadc
    >>> i, j = tadc.indices("i j")
    >>> (i >= 1) & (i != j)
    <tadc.Condition i >= 1 and i != j>
    """

    __hash__ = object.__hash__

    #: Left, sign and right of each; `NOT` stands before the sign of one that does not hold.
    def __init__(self, relations: Sequence[tuple[Any, str, Any]]) -> None:
        self.relations: Sequence[tuple[Any, str, Any]] = tuple(relations)

    @property
    def is_array(self) -> bool:
        """Whether arrays are compared, element by element."""
        return any(side.is_array for left, _, right in self.relations for side in (left, right))

    # Arrays of comparisons are numbers, 1 where they hold; but NumPy's sum of two is their `or`.
    __add__, __radd__ = map(_unless_comparisons, _operator("+"))
    __sub__, __rsub__ = map(_unless_comparisons, _operator("-"))
    __mul__, __rmul__ = _operator("*")
    __truediv__, __rtruediv__ = _operator("/")

    def __neg__(self) -> Any:
        return 0 - self

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or not self.is_array:
            raise AttributeError(f"`tadc.Condition` has no attribute {name!r}")
        return HOOKS.arrays.attribute(self, name)

    @public
    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **named: Any) -> Any:
        """What NumPy asks where a function of elements is called."""
        name = ufunc.__name__ if method == "__call__" else f"{ufunc.__name__}.{method}"
        return HOOKS.arrays.call(name, inputs, named)

    @public
    def __array_function__(
        self, function: Any, _: Any, given: Sequence[Any], named: Mapping[str, Any]
    ) -> Any:
        """What NumPy asks where another function of it is called."""
        return HOOKS.arrays.call(function, given, named)

    @public
    def __and__(self, other: Any) -> Condition:
        if not isinstance(other, Condition):
            raise wrong("`&` joins comparisons", _LOOSE)
        return Condition((*self.relations, *other.relations))

    @public
    def __rand__(self, other: object) -> NoReturn:
        raise wrong("`&` joins comparisons", _LOOSE)

    @public
    def __invert__(self) -> Condition:
        if len(self.relations) > 1:
            raise wrong("`~` negates one comparison", "swap the branches: `tadc.where(c, y, x)`")
        left, sign, right = self.relations[0]
        if sign.startswith(NOT):
            return Condition([(left, sign.removeprefix(NOT), right)])
        # Neither `x > 0` nor `x <= 0` holds of a NaN.
        is_exact = sign in ("=", "!=") or (left.is_form and right.is_form)
        return Condition([(left, NEGATED[sign] if is_exact else NOT + sign, right)])

    @public
    def __or__(self, other: object) -> NoReturn:
        raise wrong(
            "conditions are joined by `&` alone", "choose twice: `tadc.where(a, x, tadc.where(b, x, y))`"
        )

    __ror__ = __or__

    @public
    def __bool__(self) -> NoReturn:
        raise wrong(
            f"whether `{self}` holds is not known before a function is called",
            "choose by `tadc.where(i < 3, …, …)`, not by `if`, `and`, `or` or `min`; "
            "`0 <= i < 3` is `(0 <= i) & (i < 3)`",
        )

    def __str__(self) -> str:
        return " and ".join(
            f"{NOT if sign.startswith(NOT) else ''}{left.shown()} {sign.removeprefix(NOT)} {right.shown()}"
            for left, sign, right in self.relations
        )

    def __repr__(self) -> str:
        return f"<tadc.Condition {self}>"


def _is_place(item: Any) -> bool:
    """Whether an index is one element of a dimension, counted from its beginning."""
    if isinstance(item, Operand):
        return not item.is_array
    return hasattr(item, "__index__") and not getattr(item, "shape", ()) and item >= 0


def expression(value: Any) -> Expression:
    """An expression as it is, or a number as one. Raises UsageError (TAD0510) for what is neither."""
    if isinstance(value, Expression):
        return value
    if isinstance(value, Operand):
        return HOOKS.arrays.scalar(value)
    if isinstance(value, Condition):
        raise wrong("a comparison is no number", "`tadc.where(x > y, 1, 0)` is 1 where it holds")
    if getattr(value, "shape", ()):
        raise wrong(
            "an array stands in a program",
            'make it an argument, `x = tadc.argument("x", "f64", "N")`, and call the function with it',
        )
    if isinstance(value, bool | str | complex) or type(value).__name__ in ("bool_", "bool"):
        raise wrong(f"a number or an expression stands here, not {value!r}")
    number = _number(value)
    if number is None:
        raise wrong(f"a number or an expression stands here, not a {type(value).__name__}")
    if number != number or abs(number) == float("inf"):
        raise wrong(f"the language has no number `{number}`", "only finite numbers can be written")
    if isinstance(number, int) and number.bit_length() > _MOST_BITS:
        raise wrong(f"number of {number.bit_length()} bits is too large", "the largest is about 1.8e308")
    negative = repr(number).startswith("-")
    return Expression((repr(number),), NEGATE if negative else ATOM, is_form=isinstance(number, int))


def _number(value: Any) -> int | float | None:
    """A number as Python has it; None for what is none."""
    for convert in (operator.index, float):
        try:
            return convert(value)
        except (TypeError, ValueError):
            pass
    return None


def grouped(operand: Expression, level: int) -> Expression:
    """An operand, in parentheses where it binds less than `level`."""
    if operand.level >= level:
        return operand
    return Expression(("(", operand, ")"), is_form=operand.is_form)


def _binary(sign: str, left: Any, right: Any) -> Expression:
    site, level = here(), _LEVELS[sign]
    lhs, rhs = expression(left), expression(right)
    is_form = lhs.is_form and rhs.is_form and sign in ("+", "-", "*", "//", "%")
    text = sign if sign == "**" else f" {sign} "
    # A chain is grouped from the left, so that a long one needs no parentheses.
    first = grouped(lhs, ATOM if sign == "**" else level)
    second = grouped(rhs, ATOM if sign == "**" or rhs.level == NEGATE else level + 1)
    return Expression((first, text, second), level, is_form=is_form, site=site)


def _negative(operand: Expression) -> Expression:
    return Expression(("-", grouped(operand, ATOM)), NEGATE, is_form=operand.is_form, site=here())


def _absolute(operand: Expression) -> Expression:
    return Expression(("abs(", operand, ")"), site=here())


def _relation(sign: str, left: Any, right: object) -> Condition:
    return Condition(((_side(left), sign, _side(right)),))


def _side(value: Any) -> Any:
    """What is compared: an array, or an expression."""
    if _is_numbers(value):
        return HOOKS.arrays.whole(value)
    return value if getattr(value, "is_array", False) else expression(value)


def walk(whole: Expression) -> Iterator[tuple[Expression | None, str]]:
    """The pieces of text in order; around those of each expression it with "", and None with "" behind it."""
    stack: list[str | Expression | None] = [whole]
    while stack:
        item = stack.pop()
        if isinstance(item, Expression):
            yield item, ""
            stack.append(None)
            stack += reversed(item.parts)
        elif item is None:
            yield None, ""
        elif item:
            yield None, item
