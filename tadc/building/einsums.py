"""Sums of products in Einstein's notation, as NumPy's `einsum` writes them."""

from __future__ import annotations

from collections import Counter
from string import ascii_lowercase
from typing import Any, NoReturn

from tadc.api.function import Function
from tadc.building.built_programs import define
from tadc.building.python_expressions import Expression, Index
from tadc.building.python_forms import sum as sum_over
from tadc.building.tensors import argument
from tadc.caller.boundary import UsageError, public
from tadc.frontend.diagnostics import Diagnostic, Label
from tadc.frontend.naming import first_free
from tadc.frontend.source import Source, Span


@public
def einsum(subscripts: str, dtype: Any = "f64") -> Function:
    """The function that `numpy.einsum` computes: one kernel for arrays of all sizes, with its gradients.

    Arguments are `a`, `b`, …; each letter is an index, and one that is not behind `->` is summed over.
    Without `->` the result has the letters that stand once, in the order of the alphabet. A letter has one
    size: unlike NumPy's a dimension of size 1 is not repeated.

    >>> import tadc
    >>> f = tadc.einsum("ij,jk->ik")
    >>> f([[1, 2]], [[3], [4]])
    array([[11.]])
    >>> tadc.vjp(f, "a").outputs
    ('da',)

    Raises UsageError (TAD0510) that shows the place for subscripts that say nothing.
    """
    operands, result = _read(subscripts)
    names = ascii_lowercase[: len(operands)]
    letters = dict.fromkeys("".join(operands))
    # An index has another name than an argument.
    indices = {c: Index(c if c not in names else first_free(f"i_{c}", names)) for c in letters}
    product: Any = None
    for name, operand in zip(names, operands, strict=True):
        tensor = argument(name, dtype, [f"N_{c}" for c in operand])
        element: Expression = tensor[tuple(indices[c] for c in operand)]
        product = element if product is None else product * element
    summed = [indices[c] for c in letters if c not in result]
    body = sum_over(summed, product) if summed else product
    return define("result", [indices[c] for c in result], body)


def _read(subscripts: Any) -> tuple[list[str], str]:
    """The letters of each operand, and those of the result. Raises UsageError."""
    if not isinstance(subscripts, str):
        raise UsageError([Diagnostic("TAD0510", f'subscripts are text, as "ij,jk->ik", not {subscripts!r}')])
    left, arrow, right = subscripts.partition("->")
    _check_letters(left, subscripts, 0, ", ")
    _check_letters(right, subscripts, len(left) + len(arrow), " ")
    operands = left.replace(" ", "").split(",")
    if len(operands) > len(ascii_lowercase):
        _stop(subscripts, 0, f"more than {len(ascii_lowercase)} operands", "multiply some of them first")
    counts = Counter("".join(operands))
    if not arrow:
        return operands, "".join(sorted(c for c, n in counts.items() if n == 1))
    for position, c in enumerate(right):
        place = len(left) + len(arrow) + position
        if c != " " and c not in counts:
            _stop(subscripts, place, f"no operand has the index `{c}`", "a result has indices of operands")
        if c != " " and c in right[:position]:
            help = "a diagonal is read, not written: `ii->i`"
            _stop(subscripts, place, f"`{c}` stands twice in the result", help)
    return operands, right.replace(" ", "")


def _check_letters(part: str, subscripts: str, start: int, others: str) -> None:
    for position, c in enumerate(part, start):
        if c == ".":
            help = "the number of dimensions is fixed: give each a letter"
            _stop(subscripts, position, "there is no ellipsis", help)
        if not (c.isascii() and c.isalpha()) and c not in others:
            _stop(subscripts, position, f"unexpected `{c}`", "subscripts are letters, `,` and one `->`")


def _stop(subscripts: str, position: int, message: str, help: str) -> NoReturn:
    source = Source(subscripts, "<einsum>")
    found = Diagnostic("TAD0510", message, Label(Span(position, position + 1)), helps=[help], source=source)
    raise UsageError([found])
