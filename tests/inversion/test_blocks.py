"""Well-conditioned components of blocks and triangles, random and by hand, against dense solutions."""

import warnings

import numpy as np
import pytest

import tadc
from tests.inversion.blocks import random_component
from tests.inversion.checking import compare


@pytest.mark.parametrize("seed", range(4))
def test_random_components(seed: int) -> None:
    """No warning either: no pivot is near 0."""
    component = random_component(seed)
    assert np.linalg.cond(component.jacobian) < 30
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        compare(tadc.inverse(tadc.function(component.text)), component.arguments, component.jacobian)


BELOW = "sum{q}_0^(i - 1)"
#: Programs of x and d, whose first element is 0 or tiny, and their class.
PROGRAMS = {
    "a base with a pivot near 0": ("y[i: 9] = d[i]*x[i] + sum{k} (x[k])", "diagonal plus rank 1"),
    "a band and a sum": (
        "y[i: 9] = d[i]*x[i] + (if {i > 0} then (.3*x[i - 1]) else (0))"
        "+ (if {i < 8} then (.2*x[i + 1]) else (0)) + sum{k} (x[k])",
        "banded, 1 below and 1 above plus rank 1",
    ),
    "a ring whose band has no inverse": (
        "y[i: 9] = d[i]*x[i] + 2*x[(i + 1) % 9]",
        "cyclic banded, 1 below and 1 above",
    ),
}


@pytest.mark.parametrize("first", [0, 1e-14])
@pytest.mark.parametrize("name", PROGRAMS)
def test_parts_without_an_inverse(name: str, first: float) -> None:
    """The whole has one, a part that is solved with may have none."""
    text, kind = PROGRAMS[name]
    f = tadc.function(f"x: f64[9]; d: f64[9]; {text}")
    x, d = np.random.default_rng(0).uniform(0.5, 1, (2, 9))
    d[0] = first
    inverse = tadc.inverse(f, "x")
    assert inverse.plan.kinds == {kind: 1}
    compare(inverse, [x, d], np.asarray(tadc.jacobian(f, wrt="x")(x, d)))


def test_a_pivot_of_a_triangle_says_where() -> None:
    """Where tensors take turns, so do their pivots."""
    f = tadc.function(
        f"x: f64[7]; y: f64[7]; a[i: 7] = x[i]**2 + {BELOW} (y[q]); b[i: 7] = y[i]**2 + {BELOW} (x[q])"
    )
    inverse = tadc.inverse(f)
    assert inverse.plan.kinds == {"lower triangular": 1}
    at = np.arange(1.0, 8), np.array([1.0, 2, 0, 3, 4, 5, 6])
    with pytest.raises(tadc.ArgumentError) as error:
        inverse.jinv(at, at)
    assert "the pivot of `y` at element [2] is 0" in error.value.diagnostics[0].notes[0]
