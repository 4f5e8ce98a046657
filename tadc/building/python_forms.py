"""Functions, reductions and choices of expressions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

from tadc.building.python_expressions import (
    CHOICE,
    NOT,
    Condition,
    Expression,
    Index,
    applied,
    expression,
)
from tadc.building.python_lines import Site, here, wrong
from tadc.building.tensors import Head, checked_head
from tadc.caller.boundary import public
from tadc.frontend.functions import FUNCTIONS, SPELLED_REDUCTIONS, complete

#: What a function is called in Python whose name a reduction has: as in NumPy.
_RENAMED = {"max": "maximum", "min": "minimum"}


def _scalar(name: str, arity: int) -> Callable[..., Expression]:
    spoken = _RENAMED.get(name, name)

    def function(*operands: Any) -> Expression:
        if len(operands) != arity:
            raise wrong(f"`tadc.{spoken}` takes {arity} expressions, not {len(operands)}")
        return applied(of_elements, *operands, costs=True)

    def of_elements(*operands: Any) -> Expression:
        site = here()
        parts: list[str | Expression] = [f"{name}("]
        for position, operand in enumerate(operands):
            if not isinstance(operand, Expression) and getattr(operand, "shape", ()):
                help = "NumPy's function of that name gives the values of an array"
                raise wrong(f"`tadc.{spoken}` makes an expression of a program, and takes no array", help)
            parts += [", "] * (position > 0) + [expression(operand)]
        return Expression((*parts, ")"), site=site)

    function.__name__ = function.__qualname__ = spoken
    function.__doc__ = f"`{name}` of {arity} expression{'s' * (arity > 1)}, element by element."
    return public(function)


#: The functions of the language by their names in Python; `tadc.exp` and the like are these.
SCALAR: dict[str, Callable[..., Expression]] = {
    _RENAMED.get(f.name, f.name): _scalar(f.name, f.arity) for f in FUNCTIONS.values()
}


#: What `tadc` has besides by its name: the functions, and the constant that has a name.
NAMED: dict[str, Any] = {**SCALAR, "pi": Expression(("pi",))}


@public
def sum(indices: Head, *rest: Any, where: Condition | None = None) -> Expression:
    """The sum over indices: `sum(k, e)`, `sum([i, j], e)`, `sum({k: 5}, e)`, `sum(k, first, last, e)`.

    The range of an index is that of what it reads, or of its stated size, or from `first` to `last`, both
    included, as in Σ. Several bounds of one side are a list, of which the tightest holds. With `where`, the
    sum is over those indices for which comparisons of indices hold: `sum(e, x[e], where=dst[e] == n)`.

    >>> import tadc
    >>> i, k = tadc.indices("i k")
    >>> x = tadc.argument("x", "f64", "N")
    >>> tadc.define("s", [i], tadc.sum(k, 0, i, x[k]) + 0 * x[i])([1, 2, 3])
    array([1., 3., 6.])
    """
    return reduction("sum", indices, rest, where)


@public
def prod(indices: Head, *rest: Any, where: Condition | None = None) -> Expression:
    """The product over indices, given as those of `sum`.

    >>> import tadc
    >>> k, x = tadc.index("k"), tadc.argument("x", "f64", "N")
    >>> float(tadc.define("p", [], tadc.prod(k, x[k]))([1, 2, 3]))
    6.0
    """
    return reduction("prod", indices, rest, where)


@public
def max(indices: Head, *rest: Any, where: Condition | None = None) -> Expression:
    """The maximum over indices, given as those of `sum`; that of two expressions is `tadc.maximum`.

    >>> import tadc
    >>> k, x = tadc.index("k"), tadc.argument("x", "f64", "N")
    >>> float(tadc.define("m", [], tadc.max(k, x[k]))([1, 3, 2]))
    3.0
    """
    return reduction("max", indices, rest, where)


@public
def min(indices: Head, *rest: Any, where: Condition | None = None) -> Expression:
    """The minimum over indices, given as those of `sum`; that of two expressions is `tadc.minimum`.

    >>> import tadc
    >>> k, x = tadc.index("k"), tadc.argument("x", "f64", "N")
    >>> float(tadc.define("m", [], tadc.min(k, x[k]))([1, 3, 2]))
    1.0
    """
    return reduction("min", indices, rest, where)


@public
def logsumexp(indices: Head, *rest: Any, where: Condition | None = None) -> Expression:
    """The logarithm of the sum of exponentials over indices, given as those of `sum`.

    >>> import tadc
    >>> k, x = tadc.index("k"), tadc.argument("x", "f64", "N")
    >>> float(tadc.define("m", [], tadc.logsumexp(k, x[k]))([0.0]))
    0.0
    """
    return reduction("logsumexp", indices, rest, where)


@public
def norm(indices: Head, *rest: Any, where: Condition | None = None) -> Expression:
    """The root of the sum of squares over indices, given as those of `sum`; its slope is 0 where it is 0.

    >>> import tadc
    >>> k, x = tadc.index("k"), tadc.argument("x", "f64", "N")
    >>> float(tadc.define("m", [], tadc.norm(k, x[k]))([3, 4]))
    5.0
    """
    return reduction("norm", indices, rest, where)


def reduction(kind: str, indices: Any, rest: tuple[Any, ...], where: Any = None) -> Expression:
    """A reduction by its name in the language: `indices`, then the body, with bounds in front or without."""
    assert kind in SPELLED_REDUCTIONS
    site = here()
    if not rest and isinstance(indices, Expression):
        raise wrong(f"`tadc.{kind}` is over an index", f"name it first: `tadc.{kind}(k, x[k])`")
    if kind in _RENAMED and isinstance(indices, Expression) and not isinstance(indices, Index):
        raise wrong(
            f"`tadc.{kind}` is over an index", f"that of two expressions is `tadc.{_RENAMED[kind]}(x, y)`"
        )
    head = checked_head(indices)
    if len(rest) not in (1, 3) or not head:
        raise wrong(
            f"`tadc.{kind}` takes an index and an expression, with bounds in between or without",
            f"write `tadc.{kind}(k, x[k])` or `tadc.{kind}(k, first, last, x[k])`",
        )
    bounds: list[str | Expression] = []
    if len(rest) == 3:
        if any(size is not None for _, size in head) or len(head) > 1:
            raise wrong("bounds are those of one index", "write one reduction in the other")
        bounds = ["_(", *_bound("max", rest[0]), ")^(", *_bound("min", rest[1]), ")"]
    held = [] if where is None else [": ", *_conditions(_of_indices(where, kind))]
    parts = (f"{kind}{{", *head_parts(head), *held, "}", *bounds, " (", expression(rest[-1]), ")")
    # The bounds see what is bound outside alone.
    outside = frozenset[str]().union(*(part.free for part in bounds if isinstance(part, Expression)))
    made = Expression(parts, site=site, binds=[i.name for i, _ in head])
    made.free |= outside
    return made


def _of_indices(condition: Any, kind: str) -> Sequence[tuple[Expression, str, Expression]]:
    """The comparisons of the indices of a reduction. Raises UsageError (TAD0510) for one of values."""
    if not isinstance(condition, Condition):
        help = f"as in `tadc.{kind}(e, x[e], where=dst[e] == n)`"
        raise wrong(f"`where` of `tadc.{kind}` is a comparison of indices, not {condition!r}", help)
    relations = condition.relations
    for left, _, right in relations:
        if not (left.is_form and right.is_form):
            help = f"choose the summand by value: `tadc.{kind}(k, tadc.where(x[k] > 0, x[k], 0))`"
            raise wrong(f"`where` of `tadc.{kind}` compares indices, not values", help)
    return relations


def _bound(tightest: str, side: Any) -> list[str | Expression]:
    if not isinstance(side, Sequence) or isinstance(side, str):
        return [expression(side)]
    given = cast(Sequence[Any], side)
    if len(given) == 1:
        return [expression(given[0])]
    parts: list[str | Expression] = [f"{tightest} ["]
    for position, item in enumerate(given):
        parts += ["; "] * (position > 0) + [expression(item)]
    return [*parts, "]"]


def head_parts(head: Sequence[tuple[Expression, Expression | None]]) -> list[str | Expression]:
    """The text of indices with their sizes: `i: 3, j`."""
    parts: list[str | Expression] = []
    for position, (index, size) in enumerate(head):
        parts += [", "] * (position > 0) + [index]
        parts += [": ", size] if size is not None else []
    return parts


@public
def where(condition: Condition, then: Any, otherwise: Any) -> Expression:
    """One of two expressions: by comparisons of indices, of values, or both joined by `&`.

    Where indices alone are compared, a branch that is not taken is not evaluated, and need not be in range.
    Values are compared by `select`: what is not taken adds nothing to derivatives.

    >>> import tadc
    >>> i, x = tadc.index("i"), tadc.argument("x", "f64", "N")
    >>> tadc.define("d", [i], tadc.where(i >= 1, x[i] - x[i - 1], 0))([1, 4, 9])
    array([0., 3., 5.])
    """
    return applied(_where, _checked(condition, "where"), then, otherwise, chooses=True)


def _where(found: Condition, then: Any, otherwise: Any) -> Expression:
    site = here()
    first, second = expression(then), expression(otherwise)
    by_index = [r for r in found.relations if r[0].is_form and r[2].is_form]
    by_value = [r for r in found.relations if not (r[0].is_form and r[2].is_form)]
    for relation in reversed(by_value):
        first = _chosen(relation, first, second, site)
    if not by_index:
        return first
    chosen = ("if {", *_conditions(by_index), "} then (", first, ") else (", second, ")")
    return Expression(chosen, CHOICE, site=site)


def _conditions(relations: Sequence[tuple[Expression, str, Expression]]) -> list[str | Expression]:
    """The text of comparisons that all hold."""
    parts: list[str | Expression] = []
    for left, sign, right in relations:
        parts += [" and "] * bool(parts) + [left, f" {sign} ", right]
    return parts


@public
def select(condition: Condition, then: Any, otherwise: Any) -> Expression:
    """One of two expressions, of which both are evaluated, by one comparison of values or indices.

    >>> import tadc
    >>> i, x = tadc.index("i"), tadc.argument("x", "f64", "N")
    >>> tadc.select(x[i] > 0, x[i], 0)
    <tadc.Expression select(x[i] > 0, x[i], 0)>
    """
    found = _checked(condition, "select")
    if len(found.relations) > 1:
        raise wrong("`tadc.select` takes one comparison", "`tadc.where` takes several")
    return applied(_select, found, then, otherwise, chooses=True)


def _select(found: Condition, then: Any, otherwise: Any) -> Expression:
    return _chosen(found.relations[0], expression(then), expression(otherwise), here())


def _chosen(
    relation: tuple[Expression, str, Expression], then: Expression, otherwise: Expression, site: Site
) -> Expression:
    left, sign, right = relation
    if sign.startswith(NOT):
        sign, then, otherwise = sign.removeprefix(NOT), otherwise, then
    return Expression(("select(", left, f" {sign} ", right, ", ", then, ", ", otherwise, ")"), site=site)


def _checked(condition: Any, what: str) -> Condition:
    if isinstance(condition, Condition):
        return condition
    raise wrong(f"`tadc.{what}` chooses by a comparison, not by {condition!r}", f"`tadc.{what}(i > 0, …, …)`")


complete("a Python form", globals(), SPELLED_REDUCTIONS)
