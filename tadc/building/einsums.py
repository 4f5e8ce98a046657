"""Sums of products in Einstein's notation, as NumPy's `einsum` writes them."""

from __future__ import annotations

from collections import Counter
from string import ascii_lowercase
from typing import Any, NoReturn

from tadc.api.function import Function
from tadc.building.expressions import Expression, Index
from tadc.building.forms import sum as sum_over
from tadc.building.programs import define
from tadc.building.tensors import argument
from tadc.caller.boundary import UsageError, public
from tadc.frontend.diagnostics import Diagnostic, Label
from tadc.frontend.naming import first_free
from tadc.frontend.source import Source, Span


@public
def einsum(subscripts: str, dtype: Any = "f64") -> Function:
    """The function that `numpy.einsum` computes: one kernel for arrays of all sizes, with its gradients.

    Arguments are `a`, `b`, …; each letter is an index, and one that is not behind `->` is summed over. Without
    `->` the result has the letters that stand once, in the order of the alphabet. A letter has one size:
    unlike NumPy's a dimension of size 1 is not repeated.

    >>> import tadc
    >>> f = tadc.einsum("ij,jk->ik")
    >>> f([[1, 2]], [[3], [4]])
    array([[11.]])
    >>> tadc.vjp(f)
    <tadc.Function (a: f64[N_i, N_j], b: f64[N_j, N_k], dresult: f64[N_i, N_k]) -> (da: f64[N_i, N_j], db: f64[N_j, N_k])>

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
    for position, c in enumerate(subscripts):
        is_arrow = arrow and len(left) <= position < len(left) + 2
        if (
            not is_arrow
            and not (c.isascii() and c.isalpha())
            and c != " "
            and not (c == "," and position < len(left))
        ):
            help = (
                "give each dimension a letter of its own"
                if c == "."
                else "subscripts are letters, `,` and one `->`"
            )
            message = (
                "there is no ellipsis: the number of dimensions is fixed" if c == "." else f"unexpected `{c}`"
            )
            _stop(subscripts, position, message, help)
    operands = [operand.replace(" ", "") for operand in left.split(",")]
    counts = Counter("".join(operands))
    if len(operands) > len(ascii_lowercase):
        _stop(subscripts, 0, f"more than {len(ascii_lowercase)} operands", "multiply some of them first")
    if not arrow:
        return operands, "".join(sorted(c for c, n in counts.items() if n == 1))
    result = right.replace(" ", "")
    for position, c in enumerate(subscripts[len(left) + 2 :], len(left) + 2):
        if c != " " and c not in counts:
            _stop(subscripts, position, f"no operand has the index `{c}`", "a result has indices of operands")
        if c != " " and subscripts.index(c, len(left)) < position:
            _stop(
                subscripts,
                position,
                f"`{c}` stands twice in the result",
                "a diagonal is read, not written: `ii->i`",
            )
    return operands, result


def _stop(subscripts: str, position: int, message: str, help: str) -> NoReturn:
    source = Source(subscripts, "<einsum>")
    found = Diagnostic("TAD0510", message, Label(Span(position, position + 1)), helps=[help], source=source)
    raise UsageError([found])
