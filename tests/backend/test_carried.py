"""Recurrences whose last elements stay in registers, against loops in Python."""

from unittest.mock import patch

import numpy as np
import pytest

import tadc
from tadc.backend.carried_elements import carry
from tadc.dialect.mlir import ir

CASES = {
    "1": "x[i] + (if {i > 0} then (a[i]*y[i - 1]) else (0))",
    "2": "x[i] + (if {i > 1} then (a[i]*y[i - 2]) else (0))",
    "1, 3": "x[i] + (if {i > 2} then (a[i]*y[i - 3] - y[i - 1]) else (1))",
    "2, 6": "x[i] + (if {i > 5} then (a[i]*y[i - 2] - .5*y[i - 6]) else (1))",
}


def expected(name: str, x: np.ndarray, a: np.ndarray) -> np.ndarray:
    y = np.zeros(len(x))
    for i in range(len(x)):
        if name == "1":
            y[i] = x[i] + (a[i] * y[i - 1] if i > 0 else 0)
        elif name == "2":
            y[i] = x[i] + (a[i] * y[i - 2] if i > 1 else 0)
        elif name == "1, 3":
            y[i] = x[i] + (a[i] * y[i - 3] - y[i - 1] if i > 2 else 1)
        else:
            y[i] = x[i] + (a[i] * y[i - 2] - 0.5 * y[i - 6] if i > 5 else 1)
    return y


@pytest.mark.parametrize("size", [1, 3, 7, 30])
@pytest.mark.parametrize("name", CASES)
def test_values(name: str, size: int) -> None:
    f = tadc.function(f"x: f64[{size}]; a: f64[{size}]; scan{{i}} y[i: {size}] = {CASES[name]}")
    given = dict(zip("xa", 0.5 * np.random.default_rng(0).standard_normal((2, size)), strict=True))
    (found,) = f.compiled_fused().kernel([given[argument] for argument in f.inputs])
    np.testing.assert_allclose(found, expected(name, **given), rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("size", [3, 4, 9])
def test_downwards(size: int) -> None:
    text = f"scan{{-i}} y[i: {size}] = if {{i < {size - 2}}} then (y[i + 2] - x[i]*y[i + 1]) else (x[i])"
    f = tadc.function(f"x: f64[{size}]; {text}")
    x = np.random.default_rng(1).standard_normal(size)
    wanted = x.copy()
    for i in range(size - 3, -1, -1):
        wanted[i] = wanted[i + 2] - x[i] * wanted[i + 1]
    np.testing.assert_allclose(f.compiled_fused().kernel([x])[0], wanted, rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("name", CASES)
def test_lanes_of_a_batch_are_carried(name: str) -> None:
    """Elements that are scattered, as lanes are rows, are gathered from no more than four steps back."""
    body = CASES[name].replace("x[i", "x[n, i").replace("a[i", "a[n, i").replace("y[i", "y[n, i")
    f = tadc.function(f"x: f64[19, 9]; a: f64[19, 9]; scan{{i}} y[n: 19, i: 9] = {body}")
    x, a = 0.5 * np.random.default_rng(0).standard_normal((2, 19, 9))
    wanted = [expected(name, *rows) for rows in zip(x, a, strict=True)]
    np.testing.assert_allclose(tadc.compile(f)(x=x, a=a), wanted, rtol=1e-13, atol=1e-14)
    # Steps that are written out leave no loop.
    with patch("tadc.passes.schedule.plans._row", return_value=0):
        text = f.lower().as_text("loops")
    own, all = (text.count(gather) for gather in ("vector.gather %y", "vector.gather"))
    assert own
    with ir.Context():
        module = ir.Module.parse(text)
        carry(module, in_windows=True)
        assert module.operation.verify()
        assert str(module).count("vector.gather") == (all if name == "2, 6" else all - own)


LOOP = """
func.func @k(%b: memref<9xf64>, %o: memref<9xf64>) {{
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %two = arith.constant 2 : index
  %end = arith.constant 9 : index
  %half = arith.constant 0.5 : f64
  scf.for %i = {begin} to %end step {step} {{
    %p = affine.apply affine_map<(d0) -> ({form})>(%i)
    %x = memref.load %b[%p] : memref<9xf64>
    %y = arith.mulf %x, %half : f64
    memref.store %y, %b[%i] : memref<9xf64>
  }}
  return
}}
"""


@pytest.mark.parametrize(
    ("begin", "step", "form", "carried"),
    [
        ("%zero", "%one", "d0 - 1", True),
        ("%zero", "%one", "d0 - 9", False),
        ("%zero", "%one", "d0 + 1", False),
        ("%zero", "%one", "-d0 + 8", False),
        ("%zero", "%one", "d0 floordiv 2", False),
        ("%one", "%one", "d0 - 1", False),
        ("%zero", "%two", "d0 - 2", False),
    ],
)
def test_other_loops_stay(begin: str, step: str, form: str, carried: bool) -> None:
    with ir.Context():
        module = ir.Module.parse(LOOP.format(begin=begin, step=step, form=form))
        carry(module)
        assert module.operation.verify()
        assert ("iter_args" in str(module)) == carried
