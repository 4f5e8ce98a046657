"""Texts of formulas: polynomials and quotients of polynomials.

Coefficients are near minimax fits over an interval, the lowest degree first, rounded to the format; comments
give the relative error that remains.
"""

from __future__ import annotations

from collections.abc import Sequence

#: Coefficients above and below the line; below it the first, which is 1, is left out.
Quotient = tuple[Sequence[float], Sequence[float]]


def polynomial(of: str, coefficients: Sequence[float]) -> str:
    """The sum of c_k of**k, by Horner's rule."""
    *lower, text = map(repr, coefficients)
    for coefficient in reversed(lower):
        text = f"{coefficient} + {of} * ({text})"
    return text


def quotient(of: str, parts: Quotient) -> str:
    """A quotient of two polynomials."""
    above, below = parts
    return f"({polynomial(of, above)}) / ({polynomial(of, (1.0, *below))})"
