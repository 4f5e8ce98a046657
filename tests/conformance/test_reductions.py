"""Products, maxima, minima and logarithms of sums of exponentials."""

from __future__ import annotations

from collections.abc import Callable
from math import inf, nan

import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array
from jax.nn import logsumexp

import tadc
from tests.reference.cases import Case, Catalogue, Tensor

#: Each kind in JAX, over the last axis or over everything.
REFERENCES: dict[str, Callable[..., Array]] = {
    "max": jnp.max,
    "min": jnp.min,
    "prod": jnp.prod,
    "logsumexp": logsumexp,
}
KINDS = list(REFERENCES)
CATALOGUE = Catalogue()


def add(kind: str, reduce: Callable[..., Array]) -> None:
    """The cases of one kind."""
    case = CATALOGUE.add

    @case(f"{kind} of rows", f"x: f64[3, 4]\nf[i] = {kind}{{k}} (x[i, k])", x=(3, 4))
    def _(x: Array) -> Array:
        return reduce(x, axis=1)

    @case(
        f"{kind} of all",
        f"x: f64[3, 4]\nf = {kind}{{i, j}} (x[i, j]**2 * sin(x[i, j]))",
        order=2,
        slow_order=3,
        x=(3, 4),
    )
    def _(x: Array) -> Array:
        return reduce(x**2 * jnp.sin(x))

    @case(
        f"{kind} of a product of two",
        f"a: f64[3, 4]\nb: f64[4]\nf[i: 3] = exp({kind}{{k}} (a[i, k] * b[k] - 0.5)) * b[i]",
        order=2,
        slow_order=3,
        compiled=False,
        a=(3, 4),
        b=(4,),
    )
    def _(a: Array, b: Array) -> Array:
        return jnp.exp(reduce(a * b - 0.5, axis=1)) * b[:3]

    @case(
        f"{kind} over a triangle",
        f"x: f64[4, 4]\nf[i] = {kind}{{k}}_0^(i) (x[i, k] * x[k, i] + x[k, 0])",
        order=2,
        slow_order=3,
        x=(4, 4),
    )
    def _(x: Array) -> Array:
        return jnp.stack([reduce(x[i, : i + 1] * x[: i + 1, i] + x[: i + 1, 0]) for i in range(4)])

    @case(
        f"{kind} over a window with stride",
        f"x: f64[9]\nf[i: 3] = {kind}{{k: 3}} (x[2*i + k + 1])",
        x=(9,),
    )
    def _(x: Array) -> Array:
        i, k = np.indices((3, 3))
        return reduce(x[2 * i + k + 1], axis=1)

    @case(
        f"{kind} over two sets of bounds",
        f"x: f64[4, 5]\nf[i: 3] = {kind}{{j}}_0^(i) ({kind}{{k}}_(j)^(i + 2) (x[j, k]))",
        order=2,
        slow_order=3,
        x=(4, 5),
    )
    def _(x: Array) -> Array:
        points = [[(j, k) for j in range(i + 1) for k in range(j, i + 3)] for i in range(3)]
        return jnp.stack([reduce(jnp.stack([x[p] for p in row])) for row in points])

    @case(
        f"{kind} in a sum and a sum in it",
        f"x: f64[3, 4]\ny: f64[4]\nf = sum{{i}} ({kind}{{k}} (sum{{l}} (x[i, l] * y[k]) + x[i, k])**2)",
        order=2,
        slow_order=3,
        x=(3, 4),
        y=(4,),
    )
    def _(x: Array, y: Array) -> Array:
        return (reduce(x.sum(axis=1)[:, None] * y + x, axis=1) ** 2).sum()

    @case(
        f"{kind} in a guard, a guard in it",
        f"""
        x: f64[4]
        f[i: 5] = if {{i >= 2}} then ({kind}{{k}}_0^(i - 2) (x[k] * x[i - 1])) else (x[i])
        g[i: 4] = {kind}{{k: 5}} (if {{k <= i and k < 4}} then (x[k] + x[i]) else (x[i] / (k + 2)))
        """,
        order=2,
        slow_order=3,
        x=(4,),
    )
    def _(x: Array) -> dict[str, Array]:
        f = [x[0], x[1], *(reduce(x[: i - 1] * x[i - 1]) for i in range(2, 5))]
        g = [[x[k] + x[i] if k <= i else x[i] / (k + 2) for k in range(5)] for i in range(4)]
        return {"f": jnp.stack(f), "g": jnp.stack([reduce(jnp.stack(row)) for row in g])}

    @case(
        f"{kind} between definitions",
        f"x: f64[3, 4]\nlet m[i] = {kind}{{k}} (x[i, k])\nf[i, k] = (x[i, k] - m[i])**2 * m[0]",
        x=(3, 4),
    )
    def _(x: Array) -> Array:
        m = reduce(x, axis=1)
        return (x - m[:, None]) ** 2 * m[0]

    @case(
        f"{kind} f32",
        f"x: f32[3, 4]\nf[i] = {kind}{{k}} (sin(x[i, k]))",
        tolerance=1e-4,
        x=Tensor((3, 4), "float32"),
    )
    def _(x: Array) -> Array:
        return reduce(jnp.sin(x), axis=1)

    @case(f"{kind} of none of an argument", f"x: f64[3]\nf[i] = x[i] * {kind}{{k: 4}} (k + 1)", x=(3,))
    def _(x: Array) -> Array:
        return x * reduce(jnp.arange(1.0, 5.0))


for name, function in REFERENCES.items():
    add(name, function)


@CATALOGUE.add(
    "attention",
    """
    q: f64[3, 2]
    k: f64[4, 2]
    v: f64[4, 3]
    let s[i, j] = sum{d} (q[i, d] * k[j, d])
    f[i, c] = sum{j} (exp(s[i, j] - logsumexp{l} (s[i, l])) * v[j, c])
    """,
    order=2,
    slow_order=3,
    q=(3, 2),
    k=(4, 2),
    v=(4, 3),
)
def _(q: Array, k: Array, v: Array) -> Array:
    s = q @ k.T
    return jnp.exp(s - logsumexp(s, axis=1, keepdims=True)) @ v


@CATALOGUE.add("third order", "x: f64[3]\nf = prod{k} (x[k]) * logsumexp{k} (2 * x[k])", x=(3,))
def _(x: Array) -> Array:
    return jnp.prod(x) * logsumexp(2 * x)


@pytest.mark.parametrize("row", CATALOGUE.cases, ids=lambda row: row.name)
def test_reductions(row: Case) -> None:
    """Value and gradients at every order of the row."""
    row.check()


def value(kind: str, elements: list[float], dtype: str = "f64") -> float:
    """The reduction of a vector."""
    f = tadc.function(f"x: {dtype}[{len(elements)}]\nf = {kind}{{k}} (x[k])")
    return float(f(x=np.array(elements, {"f64": np.float64, "f32": np.float32}[dtype])))


def gradient(kind: str, elements: list[float], df: float = 1.0, **names: str) -> np.ndarray:
    """Its gradient, the same printed and read back."""
    g = tadc.vjp(tadc.function(f"x: f64[{len(elements)}]\nf = {kind}{{k}} (x[k])"))
    arrays = {"x": np.array(elements), "df": np.array(df)}
    found = np.asarray(g(**arrays))
    again = np.asarray(tadc.function(str(g))(**arrays))
    np.testing.assert_array_equal(found, again, str(g))
    return found


@pytest.mark.parametrize(
    ("kind", "empty"), [("sum", 0), ("prod", 1), ("max", -inf), ("min", inf), ("logsumexp", -inf)]
)
def test_over_nothing(kind: str, empty: float) -> None:
    """A size of 0, bounds that cross and bounds that cross for some indices only."""
    assert value(kind, []) == empty
    f = tadc.function(f"x: f64[3]\nf = {kind}{{k}}_2^1 (x[k])\ng[i: 3] = {kind}{{k}}_1^(i) (x[k])")
    found = f(x=np.array([5.0, 2.0, 2.0]))
    assert float(found.f) == empty
    assert found.g[0] == empty
    assert found.g[1] == 2
    gradients = tadc.vjp(f)(x=np.array([5.0, 2.0, 2.0]), df=np.array(1.0), dg=np.array([1.0, 1.0, 0.0]))
    np.testing.assert_array_equal(gradients, [0, 1, 0])


@pytest.mark.parametrize(
    ("kind", "elements", "expected"),
    [
        ("max", [1, nan, 3], nan),
        ("max", [nan, 1, 3], nan),
        ("max", [1, 3, nan], nan),
        ("max", [-inf, -inf], -inf),
        ("max", [-inf, 2, inf], inf),
        ("min", [1, nan, 3], nan),
        ("min", [nan, inf], nan),
        ("min", [inf, inf], inf),
        ("min", [-inf, 2, inf], -inf),
        ("prod", [2, 0, inf], nan),
        ("prod", [-inf, 2], -inf),
        ("prod", [nan, 0], nan),
        ("logsumexp", [-inf, -inf], -inf),
        ("logsumexp", [-inf, 2], 2),
        ("logsumexp", [inf, 2], inf),
        ("logsumexp", [inf, inf], inf),
        ("logsumexp", [inf, -inf], inf),
        ("logsumexp", [nan, -inf], nan),
        ("logsumexp", [1, inf, nan], nan),
        ("logsumexp", [1e4, 1e4], 1e4 + np.log(2)),
        ("logsumexp", [-1e4, -1e4], -1e4 + np.log(2)),
        ("logsumexp", [-1e300, 1e300], 1e300),
    ],
)
def test_values_that_are_not_ordinary(kind: str, elements: list[float], expected: float) -> None:
    """NaN and infinities in either type; no overflow."""
    np.testing.assert_allclose(value(kind, elements), expected, rtol=1e-15)
    if max(map(abs, elements)) != 1e300:
        np.testing.assert_allclose(value(kind, elements, "f32"), np.float32(expected), rtol=1e-6)


@pytest.mark.parametrize(
    ("kind", "elements", "expected"),
    [
        ("max", [1, 3, 3, 2], [0, 0.5, 0.5, 0]),
        ("max", [3, 3, 3, 3], [0.25, 0.25, 0.25, 0.25]),
        ("max", [-inf, -inf], [0.5, 0.5]),
        ("max", [0.0, -0.0, -1], [0.5, 0.5, 0]),
        ("max", [inf, 1, inf], [0.5, 0, 0.5]),
        ("min", [1, 3, 1, 1], [1 / 3, 0, 1 / 3, 1 / 3]),
        ("min", [7], [1]),
        ("prod", [2, 3, 5], [15, 10, 6]),
        ("prod", [2, 0, 5], [0, 10, 0]),
        ("prod", [0, 0, 5], [0, 0, 0]),
        ("logsumexp", [4, 4, -inf], [0.5, 0.5, 0]),
        ("logsumexp", [-inf, -inf], [0, 0]),
        ("logsumexp", [1e4, 0, -1e4], [1, 0, 0]),
    ],
)
def test_gradients_that_are_not_ordinary(kind: str, elements: list[float], expected: list[float]) -> None:
    """Ties split evenly, products with zeros, weights of a softmax."""
    np.testing.assert_allclose(gradient(kind, elements), expected, rtol=1e-15)
    np.testing.assert_allclose(gradient(kind, elements, -2), -2 * np.array(expected), rtol=1e-15)


def test_ties_of_several_indices_split_over_all_points() -> None:
    """An index more or less changes no share."""
    g = tadc.vjp(tadc.function("x: f64[2, 3]\nf = max{i, j} (x[i, j])"))
    x = np.array([[2.0, 2, 0], [1, 2, 0]])
    third = 1 / 3
    for gradient in (g, tadc.function(str(g))):
        found = gradient(x=x, df=np.array(1.0))
        np.testing.assert_allclose(found, [[third, third, 0], [0, third, 0]], rtol=1e-15)


@pytest.mark.parametrize("kind", ["max", "min"])
def test_a_printed_reduction_over_several_indices_is_one(kind: str) -> None:
    """Derived from its text, too: ties do not split index by index."""
    text = f"x: f64[2, 3]\nf = {kind}{{i, j}} (if {{i <= j}} then (x[i, j]) else (x[0, 0]))"
    f = tadc.function(text)
    again = tadc.function(str(f))
    assert f"{kind}{{i: 2, j: 3}}" in str(f)
    x = np.array([[2.0, 2, 2], [1, 2, 2]])
    found, expected = (tadc.vjp(h)(x=x, df=np.array(1.0)) for h in (again, f))
    np.testing.assert_array_equal(found, expected)


def test_second_derivatives_of_products_with_zeros() -> None:
    """The Hessian of a product of four with one and two zeros, entry by entry."""
    f = tadc.function("x: f64[4]\nf = prod{k} (x[k])")
    first = tadc.vjp(f)
    second = tadc.vjp(first, wrt="x")
    seed = second.cotangents[first.outputs[0]]
    for x in ([2.0, 0.0, 3.0, 5.0], [0.0, 0.0, 3.0, 5.0]):
        for row in range(4):
            direction = np.eye(4)[row]
            found = second(**{"x": np.array(x), "df": np.array(1.0), seed: direction})
            others = [
                0.0 if k == row else float(np.prod([x[i] for i in range(4) if i not in (k, row)]))
                for k in range(4)
            ]
            np.testing.assert_allclose(found, others, rtol=1e-15)


@pytest.mark.parametrize("kind", KINDS)
def test_types_join(kind: str) -> None:
    """A reduction has the type of its body, a gradient that of its argument."""
    f = tadc.function(f"x: f32[3]\ny: f64[3]\nf = {kind}{{k}} (x[k])\ng = {kind}{{k}} (x[k] * y[k])")
    x, y = np.array([0.5, 1.5, 2.5], np.float32), np.array([1.0, 3.0, 2.0])
    found = f(x=x, y=y)
    assert (found.f.dtype, found.g.dtype) == (np.float32, np.float64)
    back = tadc.vjp(f)(x=x, y=y, df=np.float32(1), dg=np.float64(1))
    assert (back.dx.dtype, back.dy.dtype) == (np.float32, np.float64)


@pytest.mark.parametrize("kind", KINDS)
def test_a_derivative_in_several_variables(kind: str) -> None:
    """The elements of max and min that are computed are still equal to the result."""
    f = tadc.function(f"x: f64[50]\ny: f64[50]\nf = {kind}{{k}} (exp(x[k] * y[k]) * x[k] + sin(y[k]) / 3)")
    rng = np.random.default_rng(1)
    x, y = rng.uniform(-1, 1, (2, 50))
    back = tadc.vjp(f)(x=x, y=y, df=np.array(1.0))
    for name in "xy":
        for k in range(0, 50, 7):
            step = 1e-6 * np.eye(50)[k]
            sides = [f(**({"x": x, "y": y} | {name: {"x": x, "y": y}[name] + s * step})) for s in (1, -1)]
            want = float(sides[0] - sides[1]) / 2e-6
            np.testing.assert_allclose(getattr(back, "d" + name)[k], want, rtol=1e-4, atol=1e-8)
    if kind in ("max", "min"):
        assert np.count_nonzero(back.dx) == 1


@pytest.mark.parametrize("target", ["cpu", "cpu:x86-64-v3"])
def test_products_that_a_summand_adds_up_join_the_sum_one_by_one(target: str) -> None:
    """Each is rounded once with its addition; a difference of two is 0 where they are equal."""
    text = (
        "a: f32[10, 40]\nb: f32[10]\nc: f32[10, 40]\n"
        "f[i] = sum{k: 9} (a[k, i] * b[k] + c[k, i] * a[k + 1, i])\n"
        "g[i] = sum{k} (a[k, i] * c[k, i] - c[k, i] * a[k, i])"
    )
    rng = np.random.default_rng(5)
    a, b, c = (rng.uniform(-1, 1, shape).astype(np.float32) for shape in ((10, 40), 10, (10, 40)))
    found = tadc.compile(tadc.function(text), target=target)(a, b, c)
    want = np.zeros(40, np.float32)
    for k in range(9):
        for x, y in ((a[k], b[k]), (c[k], a[k + 1])):
            want = (np.float64(x) * np.float64(y) + want).astype(np.float32)
    np.testing.assert_array_equal(found.f, want)
    np.testing.assert_array_equal(found.g, np.zeros(40))
