"""Expressions of the language as Python objects: text with holes for the expressions in it."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from typing import Any, NoReturn, cast

from tadc.building.python_lines import Site, here, wrong
from tadc.caller.boundary import public
from tadc.frontend.conditions import NEGATED

#: How tightly the operators bind, loosest first; what stands in brackets is an ATOM.
CHOICE, ADD, MULTIPLY, NEGATE, POWER, ATOM = range(6)
_LEVELS = {"+": ADD, "-": ADD, "*": MULTIPLY, "/": MULTIPLY, "%": MULTIPLY, "//": MULTIPLY, "**": POWER}

#: What NumPy calls the operators when a number of its own stands on the left.
_NUMPY = {
    "add": "__add__",
    "subtract": "__sub__",
    "multiply": "__mul__",
    "divide": "__truediv__",
    "floor_divide": "__floordiv__",
    "remainder": "__mod__",
    "power": "__pow__",
    "equal": "__eq__",
    "not_equal": "__ne__",
    "less": "__lt__",
    "less_equal": "__le__",
    "greater": "__gt__",
    "greater_equal": "__ge__",
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


_Operator = Callable[["Expression", Any], "Expression"]


def _operator(sign: str) -> tuple[_Operator, _Operator]:
    """An operator, and the one whose first operand is no expression."""

    def left(self: Expression, other: Any) -> Expression:
        return _binary(sign, self, other)

    def right(self: Expression, other: Any) -> Expression:
        return _binary(sign, other, self)

    return left, right


class Expression:
    """A number for each value of its indices, made by operators and by functions such as `tadc.exp`.

    It is never a value of Python: it has no truth, no length, and cannot be iterated over.

    >>> import tadc
    >>> i, x = tadc.index("i"), tadc.argument("x", "f64", "N")
    >>> 2 * x[i + 1] ** 2
    <tadc.Expression 2 * x[i + 1]**2>
    """

    __slots__ = ("__weakref__", "free", "is_form", "level", "parts", "pieces", "site")
    __hash__ = object.__hash__  # `==` makes a condition, and keys of heads are told apart by identity

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

    # -- operators -------------------------------------------------------------------------

    __add__, __radd__ = _operator("+")
    __sub__, __rsub__ = _operator("-")
    __mul__, __rmul__ = _operator("*")
    __truediv__, __rtruediv__ = _operator("/")
    __floordiv__, __rfloordiv__ = _operator("//")
    __mod__, __rmod__ = _operator("%")
    __pow__, __rpow__ = _operator("**")

    def __neg__(self) -> Expression:
        return Expression(("-", grouped(self, ATOM)), NEGATE, is_form=self.is_form, site=here())

    def __pos__(self) -> Expression:
        return self

    def __abs__(self) -> Expression:
        return Expression(("abs(", self, ")"), site=here())

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

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **_: Any) -> Any:
        """What NumPy asks where one of its numbers stands on the left of an operator."""
        if method == "__call__" and len(inputs) == 2 and ufunc.__name__ in _NUMPY:
            left, right = map(expression, inputs)
            return getattr(left, _NUMPY[ufunc.__name__])(right)
        raise wrong(
            f"`numpy.{ufunc.__name__}` computes arrays, and this is an expression",
            "functions of expressions are tadc's own, as `tadc.exp(x[i])` and `tadc.sum(i, x[i])`",
        )

    # -- what an expression is not ---------------------------------------------------------

    @public
    def __and__(self, other: object) -> NoReturn:
        raise wrong("`&` and `|` are between comparisons", _LOOSE)

    __rand__ = __or__ = __ror__ = __and__

    @public
    def __invert__(self) -> NoReturn:
        raise wrong("`~` negates a comparison", "with parentheses: `~(i < 3)`")

    @public
    def __matmul__(self, other: object) -> NoReturn:
        raise wrong(
            "an expression is one element, no matrix", "write the sum: `tadc.sum(k, a[i, k] * b[k, j])`"
        )

    __rmatmul__ = __matmul__

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
    def __len__(self) -> NoReturn:
        raise wrong("an expression has no length", 'sizes are symbols: `N = tadc.size("N")`')

    @public
    def __iter__(self) -> Iterator[Expression]:
        raise wrong(
            "one cannot iterate over an expression",
            "`tadc.sum(k, …)` adds over an index, and `tadc.define` makes all elements",
        )

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

    def __getitem__(self, indices: Any) -> Expression:
        return self.element(indices, "[")

    def element(self, indices: Any, opening: str) -> Expression:
        """The read that begins with an opening bracket and what stands in front of its first index."""
        site = here()
        given = cast(tuple[Any, ...], indices) if isinstance(indices, tuple) else (indices,)
        if not given:
            return self
        parts: list[str | Expression] = [self, opening]
        for position, item in enumerate(given):
            if isinstance(item, slice) or item is Ellipsis or item is None:
                raise wrong(
                    f"`{self.name}` is read element by element",
                    f"an index stands for all elements of a dimension: `{self.name}[i]`",
                )
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
    def __init__(self, relations: Sequence[tuple[Expression, str, Expression]]) -> None:
        self.relations: Sequence[tuple[Expression, str, Expression]] = tuple(relations)

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


def expression(value: Any) -> Expression:
    """An expression as it is, or a number as one. Raises UsageError (TAD0510) for what is neither."""
    if isinstance(value, Expression):
        return value
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


def _relation(sign: str, left: Expression, right: object) -> Condition:
    return Condition(((left, sign, expression(right)),))


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
