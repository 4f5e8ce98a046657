"""Kernels, several results and recurrences in Python, against NumPy and JAX."""

from __future__ import annotations

import inspect
import math
import operator
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tadc
from examples import particles
from tadc.building.python_forms import NAMED, SCALAR
from tadc.frontend.functions import FUNCTIONS, REDUCTIONS

i, j, k, p, q, c, t = tadc.indices("i j k p q c t")
u, v = tadc.indices("u,v")
N, M, K = tadc.sizes("N M K")
RNG = np.random.default_rng(3)


@tadc.kernel(i, j)
def layer(x: tadc.f64[N, K], w: tadc.f64[M, K], bias: tadc.f64[M]):
    """A layer."""
    return tadc.tanh(tadc.sum(k, w[j, k] * x[i, k]) + bias[j])


@tadc.kernel
def density(place: tadc.f64[N, 2], mass: tadc.f64[N], h: tadc.f64, p, q, c):
    distance = tadc.sqrt(1e-12 + tadc.sum({c: 2}, (place[p, c] - place[q, c]) ** 2))
    near = tadc.minimum(distance / h, 2)
    return tadc.sum(q, mass[q] * 7 / (4 * tadc.pi * h**2) * (1 - near / 2) ** 4 * (2 * near + 1))


@tadc.kernel(i, j)
def bilateral(image: tadc.f64[N, M], s: tadc.f64, r: tadc.f64):
    def window(what: tadc.Expression) -> tadc.Expression:
        inner = tadc.sum(v, [0, 2 - j], [4, M + 1 - j], what)
        return tadc.sum(u, [0, 2 - i], [4, N + 1 - i], inner)

    pixel = image[i + u - 2, j + v - 2]
    weight = tadc.exp(-((u - 2) ** 2 + (v - 2) ** 2) / s**2 - ((pixel - image[i, j]) / r) ** 2)
    return window(weight * pixel) / window(weight)


def _layer(x, w, bias):
    return jnp.tanh(x @ w.T + bias)


def _density(place, mass, h):
    apart = place[:, None] - place[None]
    near = jnp.minimum(jnp.sqrt(1e-12 + (apart**2).sum(-1)) / h, 2)
    return (mass * 7 / (4 * jnp.pi * h**2) * (1 - near / 2) ** 4 * (2 * near + 1)).sum(1)


def _bilateral(image, s, r):
    def pixel(y, x):
        total = weights = 0.0
        for a in range(max(0, y - 2), min(image.shape[0], y + 3)):
            for b in range(max(0, x - 2), min(image.shape[1], x + 3)):
                apart = (a - y) ** 2 + (b - x) ** 2
                weight = jnp.exp(-apart / s**2 - ((image[a, b] - image[y, x]) / r) ** 2)
                total, weights = total + weight * image[a, b], weights + weight
        return total / weights

    rows, columns = image.shape
    return jnp.array([[pixel(y, x) for x in range(columns)] for y in range(rows)])


@pytest.mark.parametrize(
    ("f", "reference", "arrays"),
    [
        (layer, _layer, [RNG.normal(size=s) for s in ((5, 3), (4, 3), (4,))]),
        (density, _density, [RNG.uniform(size=(7, 2)), RNG.uniform(size=7), np.array(0.4)]),
        (bilateral, _bilateral, [RNG.uniform(size=(2, 3)), np.array(1.5), np.array(0.5)]),
    ],
    ids=["layer", "density", "bilateral"],
)
def test_values_and_gradients(f, reference, arrays) -> None:
    value, pull = jax.vjp(reference, *arrays)
    np.testing.assert_allclose(f(*arrays), value, rtol=1e-12)
    cotangent = RNG.normal(size=value.shape)
    found = tadc.vjp(f)(*arrays, **{f"d{f.__name__}": cotangent})
    for mine, theirs in zip(found, pull(cotangent), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-9, atol=1e-12)


def test_a_kernel_is_the_function_that_it_decorates() -> None:
    assert isinstance(layer, tadc.Function)
    assert (getattr(layer, "__name__"), layer.__doc__, layer.__module__) == ("layer", "A layer.", __name__)
    assert list(inspect.signature(layer).parameters) == ["x", "w", "bias", "out", "stream"]
    assert density.inputs == ("place", "mass", "h")


def test_a_type_as_a_parameter() -> None:
    class T(tadc.ElementType): ...

    @tadc.kernel(i)
    def scaled(x: T[N], s: T):
        return s * tadc.let("held", [i], 2 * x[i], dtype=T)[i]

    stated = tadc.function("x: T[N]; s: T; let held[i]: T = 2 * x[i]; scaled[i] = s * held[i]")
    assert str(scaled.at(dtype="f32")) == str(stated.at(dtype="f32"))
    assert scaled(np.ones(3, np.float32), 3).dtype == np.float32
    assert (getattr(scaled, "__name__"), scaled(np.ones(3), 3).tolist()) == ("scaled", [6, 6, 6])

    class Elements(tadc.ElementType): ...

    for annotation in (Elements, Elements[3], tadc.ElementType):
        with pytest.raises(tadc.UsageError, match="no element type"):
            tadc.kernel(_annotated(annotation))


def _annotated(annotation: object) -> Any:
    def f(x: annotation):  # pyright: ignore[reportInvalidTypeForm]
        return x

    return f


def test_annotations_are_read_where_a_kernel_is_defined() -> None:
    L = tadc.size("L")

    @tadc.kernel({i: L - 1})
    def d(x: tadc.f32[L]):
        return x[i + 1] - x[i]

    assert np.array_equal(d(np.array([1, 4, 9], np.float32)), [3, 5])

    with pytest.raises(tadc.UsageError, match="cannot be read"):

        @tadc.kernel(i)
        def wrong(x: tadc.f32[unknown]):  # noqa: F821  # pyright: ignore[reportUndefinedVariable]
            return x[i]

    with pytest.raises(tadc.UsageError, match="is annotated by"):

        @tadc.kernel(i)
        def worse(x: int):
            return x


def test_a_kernel_may_return_a_number() -> None:
    for number in (2, 2.0, np.float32(2), np.int64(2)):

        def two(x: tadc.f64[N]) -> Any:
            return number

        assert tadc.kernel(two)([1.0]) == 2


def test_several_results_are_in_their_order() -> None:
    x = tadc.argument("x", "f64", N)
    y = tadc.let("y", [i], tadc.exp(x[i]))
    total = tadc.let("total", [], tadc.sum(i, y[i]))
    mean = tadc.let("mean", [], total / N)
    f = tadc.program(mean, y)  # `total` is no result, and `mean` does not read `y` but by it
    assert f.outputs == ("y", "mean")
    assert tadc.program(mean).outputs == ("mean",)
    assert tadc.program(mean, total).outputs == ("total", "mean")
    other = tadc.define("other", [i], 2 * x[i])
    assert tadc.program(other, y).outputs == ("other", "y")
    assert tadc.program(y, other, arguments=[x]).outputs == ("y", "other")


def test_a_recurrence() -> None:
    x = tadc.argument("x", "f64", N)
    f = tadc.define("f", [t], lambda f: tadc.where(t == 0, x[t], 0.5 * f[t - 1] + x[t]), order=t)
    values = RNG.normal(size=9)
    expected = [values[0]]
    for value in values[1:]:
        expected.append(0.5 * expected[-1] + value)
    np.testing.assert_allclose(f(values), expected)


def test_conditions_of_indices_and_values() -> None:
    x = tadc.argument("x", "f64", N)
    f = tadc.define("f", [i], tadc.where((i >= 1) & (x[i] > 0) & (i % 2 == 0), x[i - 1], -1))
    g = tadc.define("g", [i], tadc.where(~(i >= 1), 5, tadc.where(x[i] != 2, 7, 8)))
    values = np.array([3.0, -2, 2, 2, -1])
    assert f(values).tolist() == [-1, -1, -2, -1, -1]
    assert g(values).tolist() == [5, 7, 8, 8, 7]


def test_a_negated_comparison_holds_of_what_is_no_number() -> None:
    """As in Python: `not x > 0` of a NaN, of which neither `x > 0` nor `x <= 0` holds."""
    x = tadc.argument("x", "f64", N)
    values = np.array([math.nan, -1.0, 0.0, 2.0])
    for compared in (operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne):
        condition, expected = compared(x[i], 0), compared(values, 0)
        for choose in (tadc.where, tadc.select):
            f = tadc.define("f", [i], choose(~condition, 1, 0))
            assert f(values).tolist() == (~expected).tolist()
            assert tadc.define("f", [i], choose(~~condition, 1, 0))(values).tolist() == expected.tolist()
        g = tadc.define("g", [i], tadc.where((i > 0) & ~condition & (x[i] < 1), x[i], 5))
        chosen = (np.arange(4) > 0) & ~expected & (values < 1)
        np.testing.assert_array_equal(g(values), np.where(chosen, values, 5))
    assert str(~(x[i] > 0)) == "not x[i] > 0"
    assert str(~(i > 0)) == "i <= 0"


def test_a_body_that_defines_others() -> None:
    x = tadc.argument("x", "f64", N)

    def body(y: Any) -> Any:
        h = tadc.let("h", [i], 2 * x[i])
        return tadc.where(i == 0, h[0], y[i - 1] + h[i])

    assert tadc.define("y", [i], body, order=i)([1, 2, 3]).tolist() == [2, 6, 12]


def test_numbers_of_numpy_on_both_sides() -> None:
    x = tadc.argument("x", "f64", N)
    two, half = np.int64(2), np.float32(0.5)
    assert str(two * i + np.int32(1)) == "2 * i + 1"
    assert str(half * x[two * i] ** two) == "0.5 * x[2 * i]**2"
    assert str(half < x[i]) == "0.5 < x[i]"
    assert str(x[i] - half / x[i] // two % 3) == "x[i] - 0.5 / x[i] // 2 % 3"


def test_operators_keep_their_order() -> None:
    a, b = tadc.argument("a"), tadc.argument("b")
    text = str(tadc.define("f", [], (a - (b - a)) / (a / (b * -a)) - a ** -(b**2) % abs(a + 1)))
    values = [1.3, 2.9]
    f = tadc.function(text)
    x, y = values
    assert np.isclose(f(*values), (x - (y - x)) / (x / (y * -x)) - x ** -(y**2) % abs(x + 1), equal_nan=True)


def test_every_function_of_the_language_has_a_name() -> None:
    assert len(SCALAR) == len(FUNCTIONS)
    for f in FUNCTIONS.values():
        named = {"max": "maximum", "min": "minimum"}.get(f.name, f.name)
        assert str(getattr(tadc, named)(*[1.5] * f.arity)).startswith(f"{f.name}(")
    assert all(callable(getattr(tadc, name)) for name in REDUCTIONS)
    assert not NAMED.keys() & {*REDUCTIONS}


def test_importing_tadc_imports_no_programs() -> None:
    code = "import sys, tadc; print([m for m in sys.modules if m.startswith('tadc.building')])"
    root = Path(__file__).parents[2]
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=root)
    assert found.stdout == "[]\n"


def test_the_kernel_on_disk_is_that_of_the_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TADC_CACHE", "1")
    monkeypatch.setenv("TADC_CACHE_DIR", str(tmp_path / "cache"))
    x = tadc.argument("x", "f64", N)
    first = tadc.define("f", [i], 3 * x[i])
    assert not first.is_known
    assert first([1, 2]).tolist() == [3, 6]
    again = tadc.define("f", [i], 3 * x[i])
    assert again.is_known
    assert again([1, 2]).tolist() == [3, 6]


def test_the_example(capsys: pytest.CaptureFixture[str]) -> None:
    particles.main()
    energies = [float(word) for word in re.findall(r"energy (\S+)\n", capsys.readouterr().out)]
    assert len(energies) == 3
    assert 1 < energies[2] < energies[1] < energies[0] / 50  # of a uniform density it is 1
