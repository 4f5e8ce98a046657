"""Size symbols: one program for every value, derivatives included, against JAX at each value."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array

import tadc
from tests.backend.kernels import on_host
from tests.reference.autodiff import Function, pullback
from tests.reference.checking import assert_close

Sizes = Mapping[str, int]


@dataclass(frozen=True)
class SizedCase:
    """A program, the same in JAX for any sizes, and the sizes to try; `named` are passed by name."""

    name: str
    program: str
    reference: Callable[..., Array | dict[str, Array]]
    values: tuple[Sizes, ...]
    shapes: Callable[[Sizes], Mapping[str, tuple[int, ...]]]
    order: int
    named: tuple[str, ...]


@dataclass
class Cases:
    """The cases, in order."""

    found: list[SizedCase] = field(default_factory=list[SizedCase])

    def add(
        self,
        name: str,
        program: str,
        values: list[Sizes],
        shapes: Any,
        order: int = 2,
        named: tuple[str, ...] = (),
    ) -> Any:
        """Register the decorated function as a reference; it takes the sizes `s` and the arrays."""

        def register(reference: Any) -> Any:
            self.found.append(SizedCase(name, program, reference, tuple(values), shapes, order, named))
            return reference

        return register


CASES = Cases()
case = CASES.add


def sizes(**values: tuple[int, ...]) -> list[Sizes]:
    """`sizes(N=(1, 2), K=(3, 4))` are N = 1, K = 3 and N = 2, K = 4."""
    return [dict(zip(values, each, strict=True)) for each in zip(*values.values(), strict=True)]


@case(
    "element-wise",
    "x: f64[N]\ny: f64[N, M]\nf[i, j] = sin(x[i]) * y[i, j]**2",
    sizes(N=(0, 1, 3, 4), M=(2, 1, 0, 5)),
    lambda s: {"x": (s["N"],), "y": (s["N"], s["M"])},
    order=3,
)
def _(s: Sizes, x: Array, y: Array) -> Array:
    return jnp.sin(x)[:, None] * y**2


@case(
    "matmul",
    "a: f64[N, K]\nb: f64[K, M]\nf[i, j] = sum{k} (a[i, k] * b[k, j])",
    sizes(N=(2, 1, 0, 3), K=(3, 1, 2, 0), M=(4, 1, 2, 2)),
    lambda s: {"a": (s["N"], s["K"]), "b": (s["K"], s["M"])},
)
def _(s: Sizes, a: Array, b: Array) -> Array:
    return a @ b


@case(
    "the paper's example",
    """a: f64[N, K]
b: f64[M, K]
c: f64[N, N]
d: f64[N + K]
f[i, j] = exp(-sum{k} ((a[i, k] + b[j, k])**2 * c[i, i] + d[i + k]**3))""",
    sizes(N=(3, 1, 4), K=(5, 1, 0), M=(4, 2, 1)),
    lambda s: {"a": (s["N"], s["K"]), "b": (s["M"], s["K"]), "c": (s["N"],) * 2, "d": (s["N"] + s["K"],)},
)
def _(s: Sizes, a: Array, b: Array, c: Array, d: Array) -> Array:
    i, k = np.indices((s["N"], s["K"]))
    inner = (a[:, None] + b[None]) ** 2 * jnp.diag(c)[:, None, None] + d[i + k][:, None] ** 3
    return jnp.exp(-inner.sum(-1))


@case(
    "sizes that dimensions tell together",
    "f[i: N] = x[i]**2 * sum{k} (y[k] * x[N])\ng = M * y[0]\nx: f64[N + M]\ny: f64[2*M - N + 4]",
    sizes(N=(3, 1, 4), M=(2, 3, 6)),
    lambda s: {"x": (s["N"] + s["M"],), "y": (2 * s["M"] - s["N"] + 4,)},
)
def _(s: Sizes, x: Array, y: Array) -> dict[str, Array]:
    return {"f": x[: s["N"]] ** 2 * (y * x[s["N"]]).sum(), "g": s["M"] * y[0]}


@case(
    "convolution, valid",
    "x: f64[N]\nw: f64[K]\ny[i: N - K + 1] = sum{k} (x[i + k] * w[k]**2)",
    sizes(N=(7, 3, 1, 4, 0), K=(3, 3, 1, 5, 1)),
    lambda s: {"x": (s["N"],), "w": (s["K"],)},
    order=3,
)
def _(s: Sizes, x: Array, w: Array) -> dict[str, Array]:
    i, k = np.indices((s["N"] - s["K"] + 1, s["K"]))
    return {"y": (x[i + k] * w[k] ** 2).sum(-1)}


@case(
    "reversal and triangular sum",
    "x: f64[N]\nf[i: N] = x[N - 1 - i] * sum{k}_0^i (x[k]**2)",
    sizes(N=(0, 1, 2, 5)),
    lambda s: {"x": (s["N"],)},
    order=3,
)
def _(s: Sizes, x: Array) -> Array:
    return x[::-1] * jnp.cumsum(x**2)


@case(
    "stride 2, half as long",
    "x: f64[N]\ny[i: N // 2] = x[2*i]**2 + x[2*i] * x[2*i + 1]",
    sizes(N=(0, 1, 2, 5, 8)),
    lambda s: {"x": (s["N"],)},
    order=3,
)
def _(s: Sizes, x: Array) -> dict[str, Array]:
    i = np.arange(s["N"] // 2)
    return {"y": x[2 * i] ** 2 + x[2 * i] * x[2 * i + 1]}


@case(
    "upsampling",
    "x: f64[N]\ny[i: 3*N] = x[i // 3]**2 * x[(i + 1) // 4]",
    sizes(N=(0, 1, 2, 5)),
    lambda s: {"x": (s["N"],)},
    order=2,
)
def _(s: Sizes, x: Array) -> dict[str, Array]:
    i = np.arange(3 * s["N"])
    return {"y": x[i // 3] ** 2 * x[(i + 1) // 4]}


@case(
    "guarded stencil",
    """u: f64[N, M]
f[i, j] = if {i > 0 and i < N - 1} then (u[i - 1, j] * u[i + 1, j]) else (u[i, j]**2)""",
    sizes(N=(0, 1, 2, 4), M=(3, 1, 2, 2)),
    lambda s: {"u": (s["N"], s["M"])},
)
def _(s: Sizes, u: Array) -> Array:
    inner = jnp.zeros_like(u).at[1:-1].set(u[:-2] * u[2:]) if s["N"] > 2 else u**2
    edge = (np.arange(s["N"]) == 0) | (np.arange(s["N"]) == s["N"] - 1)
    return jnp.where(edge[:, None], u**2, inner)


@case(
    "a size by name, and as a number",
    "x: f64[M]\nsize N\nf[i: N] = N * x[i + 2]**3 / M",
    sizes(M=(2, 5, 9), N=(0, 3, 4)),
    lambda s: {"x": (s["M"],)},
    named=("N",),
    order=3,
)
def _(s: Sizes, x: Array) -> Array:
    return s["N"] * x[2 : 2 + s["N"]] ** 3 / s["M"]


@case(
    "let, scalar output, several reads",
    """x: f64[N]
let r[i: N, j: N] = x[i] - x[j]
e = sum{i: N, j: N} (exp(-r[i, j]**2))""",
    sizes(N=(0, 1, 4)),
    lambda s: {"x": (s["N"],)},
    order=2,
)
def _(s: Sizes, x: Array) -> dict[str, Array]:
    return {"e": jnp.exp(-((x[:, None] - x[None]) ** 2)).sum()}


@case(
    "diagonals",
    "x: f64[N, N]\nf[i] = x[i, i]**2 * x[i, N - 1 - i]",
    sizes(N=(0, 1, 2, 5)),
    lambda s: {"x": (s["N"], s["N"])},
    order=3,
)
def _(s: Sizes, x: Array) -> Array:
    i = np.arange(s["N"])
    return x[i, i] ** 2 * x[i, s["N"] - 1 - i]


@case(
    "x[N*i + j], compiled per value of N",
    "x: f64[P]\nw: f64[N]\nf[i: 3, j: N] = x[N*i + j]**2 * w[j]",
    sizes(N=(1, 2, 4, 4), P=(3, 6, 12, 15)),
    lambda s: {"x": (s["P"],), "w": (s["N"],)},
)
def _(s: Sizes, x: Array, w: Array) -> Array:
    i, j = np.indices((3, s["N"]))
    return x[s["N"] * i + j] ** 2 * w[j]


@case(
    "overlapping x[S*i + j], a stride by name",
    "x: f64[P]\nsize S\nf[i: 3, j: 4] = x[S*i + j]**3",
    sizes(S=(0, 1, 3, 5), P=(4, 6, 10, 20)),
    lambda s: {"x": (s["P"],)},
    named=("S",),
)
def _(s: Sizes, x: Array) -> Array:
    i, j = np.indices((3, 4))
    return x[s["S"] * i + j] ** 3


@case(
    "maximum over a window",
    "x: f64[N]\ny[i: N - 2] = max{k}_0^2 (x[i + k]) + logsumexp{k}_0^2 (x[i + k])",
    sizes(N=(2, 3, 7)),
    lambda s: {"x": (s["N"],)},
)
def _(s: Sizes, x: Array) -> dict[str, Array]:
    i, k = np.indices((s["N"] - 2, 3))
    if not i.size:
        return {"y": jnp.zeros(0)}
    return {"y": x[i + k].max(-1) + jax.nn.logsumexp(x[i + k], axis=-1)}


def derivatives(function: tadc.Function, order: int) -> list[tadc.Function]:
    """The function and its derivatives by every input."""
    found = [function]
    for _ in range(order):
        found.append(tadc.vjp(found[-1]))
    return found


def call(function: tadc.Function, arrays: Mapping[str, Any], named: Sizes) -> dict[str, Any]:
    """The outputs by name."""
    result = function(**{name: arrays[name] for name in function.inputs}, **named)
    return dict(zip(function.outputs, [result] if len(function.outputs) == 1 else result, strict=True))


ORDERS = [(c, min(c.order, 2)) for c in CASES.found] + [
    pytest.param(c, c.order, marks=pytest.mark.slow) for c in CASES.found if c.order > 2
]


@pytest.mark.parametrize(("case", "order"), ORDERS, ids=lambda value: getattr(value, "name", None))
def test_one_program_for_all_sizes(case: SizedCase, order: int) -> None:
    """Value and derivatives, and what they print read back, at every value of the sizes."""
    functions = derivatives(tadc.function(case.program), order)
    per_value = functions[0].per_value is not None
    again = [] if per_value else [tadc.function(str(f)) for f in functions]
    for values in case.values:
        rng = np.random.default_rng(zlib.crc32(case.name.encode()))
        arrays = {n: rng.uniform(-1, 1, shape) for n, shape in case.shapes(values).items()}
        named = {name: values[name] for name in case.named}
        references = _references(case, values, functions)
        for level, (function, reference) in enumerate(zip(functions, references, strict=True)):
            expected = reference({n: jnp.asarray(a) for n, a in arrays.items()})
            found = call(function, arrays, named)
            reread = call(again[level], arrays, named) if again else found
            for name, want in expected.items():
                place = f"{name} of order {level} at {dict(values)}"
                assert_close(np.asarray(found[name]), np.asarray(want), 1e-9, lambda place=place: place)
                np.testing.assert_allclose(reread[name], found[name], rtol=1e-12, atol=1e-12, err_msg=place)
            if level < order:
                for output, cotangent in functions[level + 1].cotangents.items():
                    arrays[cotangent] = rng.uniform(-1, 1, expected[output].shape)


def _references(case: SizedCase, values: Sizes, functions: list[tadc.Function]) -> Iterator[Function]:
    names = tuple(functions[0].inputs)

    def primal(tensors: Any) -> dict[str, Array]:
        result = case.reference(values, **{name: tensors[name] for name in names})
        return result if isinstance(result, dict) else {"f": result}

    reference: Function = primal
    yield reference
    for function in functions[1:]:
        reference = pullback(reference, function.cotangents, function.gradients)
        yield reference


def test_one_kernel() -> None:
    """A call with other sizes runs the code that was compiled for the first."""
    f = tadc.vjp(tadc.function("x: f64[N, K]\nf[i] = sum{k} (x[i, k]**2)"))
    for shape in ((3, 4), (1, 1), (0, 7), (100, 3)):
        x, df = np.random.default_rng(0).uniform(size=shape), np.ones(shape[0])
        np.testing.assert_array_equal(f(x, df), 2 * x)
    assert f.compiled() is f.compiled()
    assert on_host(f.compiled().kernel).sizes is not None


def test_one_kernel_for_each_value() -> None:
    """A size that multiplies an index is compiled for, once a value."""
    f = tadc.function("x: f64[P]\nsize N\nf[i: 2, j: N] = x[N*i + j]")
    x = np.arange(12.0)
    np.testing.assert_array_equal(f(x, N=3), x[:6].reshape(2, 3))
    np.testing.assert_array_equal(f(x[:8], N=3), x[:6].reshape(2, 3))
    assert f.at({"N": 3}) is f.at({"N": 3})
    assert on_host(f.at({"N": 3}).compiled().kernel).sizes is not None


@pytest.mark.parametrize("order", [0, 1, 2])
def test_specialised(order: int) -> None:
    """A kernel for given sizes gives the same; it may take a sum in vectors."""
    f = derivatives(
        tadc.function("x: f64[N]\nw: f64[K]\ny[i: N - K + 1] = sum{k} (x[i + k] * w[k]**2)"), order
    )[order]
    rng = np.random.default_rng(1)
    shapes = {"x": 9, "w": 4, "dy": 6, "ddx": 9, "ddw": 4}
    arrays = {name: rng.uniform(-1, 1, shapes[name]) for name in f.inputs}
    expected = f(**arrays)
    for values in ({"N": 9}, {"K": 4}, {"N": 9, "K": 4}):
        for found, want in zip(tadc.compile(f, sizes=values)(**arrays), expected, strict=True):
            np.testing.assert_allclose(found, want, rtol=1e-13, atol=1e-14)
