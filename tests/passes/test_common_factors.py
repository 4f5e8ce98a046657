"""Common factors of terms."""

from __future__ import annotations

from tadc.frontend.terms import Terms
from tadc.passes.rewrites.common_factors import CommonFactors
from tadc.passes.terms.algebra import Algebra


def test_products_with_zero() -> None:
    """They keep it: 0 times what may be infinite is not 0."""
    terms = Terms()
    x, y, z = (terms.read(name, [], "f64") for name in "xyz")
    zero = terms.const(0)
    parts = [terms.apply("mul", (terms.apply("mul", (zero, x)), other)) for other in (y, z)]
    total = terms.apply("add", parts)
    inner = terms.apply("add", [terms.apply("mul", (zero, other)) for other in (y, z)])
    assert CommonFactors(Algebra(terms)).rewritten(total) in (terms.apply("mul", (x, inner)), total)
