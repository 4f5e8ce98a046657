"""Programs of f32 and f64: a value is as wide where it has been moved as where it was written."""

from __future__ import annotations

import numpy as np
import pytest

import tadc
from tadc.backend.cpu import processors
from tadc.frontend.terms import Terms
from tadc.lattice.affine import Affine
from tests.passes.test_operation_counts import check, fused_form

#: `sum{k}_0^i (exp(0.1*k))`, of numbers alone, so of the type of what is around it.
LITERALS = "sum{k}_0^(i) (exp(0.1*k))"
SUMS = np.cumsum(np.exp(0.1 * np.arange(40)))


def test_terms_of_two_types_are_two() -> None:
    """Reads of tensors of one name and two types, and what is computed of them."""
    terms = Terms()
    narrow, wide = (terms.read("x", [Affine.var("i")], type) for type in ("f32", "f64"))
    assert [terms.apply("exp", [read]).type for read in (narrow, wide, narrow)] == ["f32", "f64", "f32"]


@pytest.mark.parametrize(
    "text",
    [
        "x: f32[7]; let h[i: 7, j: 7] = max{k: 7} (x[i] + x[j]); f[i] = sum{j} (h[i, j])",
        "x: f32[7]; let h[i] = x[i]**2; f[i] = sum{j: 7} (h[j]) * (if {i >= 2} then (x[i]) else (0))",
    ],
)
def test_structure_leaves_types(text: str) -> None:
    """The program that counts where a Jacobian is not 0 has tensors of the same names, all of f64."""
    jacobian = tadc.jacobian(tadc.function(text))
    x = np.linspace(0, 1, 7, dtype=np.float32)
    expected = jacobian(x=x)
    other = tadc.jacobian(tadc.function(text))
    assert "sparse" in str(other.structure) or "dense" in str(other.structure)
    np.testing.assert_array_equal(other(x=x), expected)


@pytest.mark.parametrize("order", [1, -1])
def test_literals_are_as_wide_as_what_is_around_them(order: int) -> None:
    """Two outputs of two types with one sum, which has to have both."""
    lines = [f"f[i: 40] = x[i] * {LITERALS}", f"g[i: 40] = y[i] * {LITERALS}"][::order]
    function = tadc.function("\n".join(["x: f32[40]; y: f64[40]", *lines]))
    found = dict(zip(function.outputs, function(np.ones(40, np.float32), np.ones(40)), strict=True))
    np.testing.assert_allclose(found["f"], SUMS, rtol=1e-6)
    np.testing.assert_allclose(found["g"], SUMS, rtol=1e-14)


def test_literals_that_are_compared() -> None:
    """With what is wider than the result."""
    text = f"x: f32; y: f64[40]\nf[i: 40, j: 40] = select(y[j] < {LITERALS}, x, 2*x)"
    found = tadc.function(text)(np.float32(1), SUMS * (1 - 1e-12))
    np.testing.assert_array_equal(found, np.where(np.arange(40) <= np.arange(40)[:, None], 1, 2))


def test_counts_where_a_rounded_tensor_is_a_value(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of maps that are one, which nothing else reads it of."""
    monkeypatch.setattr(
        processors, "host_vectors", lambda: (64, 29)
    )  # whether they are one is a matter of cost
    f = tadc.function("x: f32[40]; y: f64[40]\nlet h[i]: f32 = y[i]**2\nf[i] = h[i]*x[i]\ng[i] = h[i]*y[i]")
    program, together = fused_form(f.program, "value")
    assert len(together.maps) == 1
    check(program, together)
