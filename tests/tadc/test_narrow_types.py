"""f16 and bf16: computed in f32, rounded where a tensor is stored; against JAX in f32 on the same numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.typing import NDArray

import tadc
from tadc.commands.gradient_check import gradient_errors
from tadc.frontend.diagnostics import ArgumentError, CompileError
from tadc.passes.numpy_types import numpy_type

Array = NDArray[Any]
TYPES = ("f16", "bf16")
DIGITS = {"f16": 11, "bf16": 8}


def softmax(x: Any) -> Any:
    return jax.nn.softmax(x, axis=1)


def stored(a: Any, b: Any) -> Any:
    return jnp.sum(jnp.exp(a) * b, 1)


PROGRAMS: dict[str, tuple[str, Callable[..., Any], tuple[tuple[int, ...], ...]]] = {
    "stencil": (
        "x: T[N]; w: T[5]; y[i] = sum{k} (w[k] * x[i + k])",
        lambda x, w: jnp.correlate(x, w, "valid"),
        ((77,), (5,)),
    ),
    "matmul": (
        "a: T[N, K]; b: T[K, M]; c[i, j] = sum{k} (a[i, k] * b[k, j])",
        lambda a, b: a @ b,
        ((19, 33), (33, 21)),
    ),
    "softmax": (
        "x: T[N, M]; let m[i] = max{j} (x[i, j]); let e[i, j] = exp(x[i, j] - m[i])\n"
        "let s[i] = sum{j} (e[i, j]); y[i, j] = e[i, j] / s[i]",
        softmax,
        ((7, 53),),
    ),
    "scan": (
        "x: T[N]; y: T[N]\n"
        "let scan{t} h[t: N]: f32 = (if {t >= 1} then (h[t - 1] * 0.5) else (0)) + x[t]; y[t] = h[t]",
        lambda x: jax.lax.scan(lambda h, v: (h * 0.5 + v,) * 2, jnp.float32(0), x)[1],
        ((45,),),
    ),
    "wide": (
        "x: T[N]; v: f64[N]; y: T[N]; y[i] = x[i] * v[i]",
        lambda x, v: x * v,
        ((40,), (40,)),
    ),
}  # fmt: skip


def numbers(name: str, types: list[str], shapes: tuple[tuple[int, ...], ...]) -> list[Array]:
    draw = np.random.default_rng(7)
    return [
        draw.normal(size=s).astype(np.float32).astype(numpy_type(t if t != "T" else name))
        for t, s in zip(types, shapes, strict=True)
    ]


def close(found: Any, expected: Any, name: str, ulps: float = 1.01) -> None:
    """Equal up to roundings of the narrow type, as far as the numbers in the array are large."""
    assert np.asarray(found).dtype == numpy_type(name)
    found, expected = np.asarray(found, np.float64), np.asarray(expected, np.float64)
    unit = 2.0 ** (1 - DIGITS[name])
    scale = np.abs(expected).max() * 2**-10
    np.testing.assert_array_less(
        np.abs(found - expected), ulps * unit * (np.abs(expected) + scale) / 2 + 1e-30
    )


@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("program", PROGRAMS)
def test_values_and_gradients_are_those_of_f32_rounded(name: str, program: str) -> None:
    text, reference, shapes = PROGRAMS[program]
    f = tadc.function(text.replace("T[", f"{name}["))
    types = [a.type for a in f.program.arguments]
    arrays = numbers(name, types, shapes)
    wide = [jnp.asarray(a.astype(np.float32)) for a in arrays]
    expected, back = jax.vjp(reference, *wide)
    result = f(*arrays)
    close(result, expected, name)
    (cotangent,) = numbers(name, [name], (expected.shape,))
    gradients = tadc.vjp(f)(*arrays, cotangent)
    for type, gradient, wanted in zip(
        types, gradients if len(arrays) > 1 else [gradients], back(jnp.asarray(cotangent.astype(np.float32))),
        strict=True,
    ):  # fmt: skip
        if type == name:
            close(gradient, wanted, name, ulps=1.1)
        else:
            assert gradient.dtype == numpy_type(type)
            np.testing.assert_allclose(gradient, wanted, 1e-5, 1e-6)


@pytest.mark.parametrize("name", TYPES)
def test_a_tensor_in_between_is_rounded_wherever_it_is_read(name: str) -> None:
    """Fused or stored, and in derivatives: reads see what a tensor of that type holds."""
    text = (
        f"x: {name}[N]; let h[i]: {name} = exp(x[i]); y: f32[N]; y[i] = h[i] * 3; s: f32; s = sum{{i}} (h[i])"
    )
    f = tadc.function(text)
    (x,) = numbers(name, [name], ((1000,),))
    held = np.exp(x.astype(np.float32)).astype(numpy_type(name)).astype(np.float32)
    for compiled in (f, tadc.compile(f, "cpu:x86-64-v3"), tadc.compile(f, "cpu:x86-64")):
        y, s = compiled(x)
        agree = np.mean(y == held * np.float32(3))
        assert agree > 0.99  # `exp` may differ in its last bit, which moves a rounding once in thousands
        np.testing.assert_allclose(s, held.astype(np.float64).sum(), 1e-4)


@pytest.mark.parametrize("target", ["cpu:x86-64", "cpu:x86-64-v3", "emulated"])
@pytest.mark.parametrize("name", TYPES)
def test_code_for_all_processors_rounds_alike(name: str, target: str) -> None:
    text = f"x: {name}[N]; w: f64[N]; y[i] = x[N - 1 - i] * 1.5; z: {name}[N]; z[i] = w[i]"
    f = tadc.function(text)
    x = np.arange(0, 1 << 16, 37, dtype=np.uint16).view(numpy_type(name))
    with np.errstate(invalid="ignore"):
        w = x.astype(np.float64) * 1.001
    for found, expected in zip(tadc.compile(f, target)(x, w), f(x, w), strict=True):
        np.testing.assert_array_equal(found.astype(np.float32), expected.astype(np.float32))


def test_types_that_are_not_stated() -> None:
    """Outputs are stored as what they are made of; what is in between is as wide as what is computed."""
    f = tadc.function(
        "x: f16[N]; w: bf16[N]; a: f32[N]; let e[i] = exp(x[i]); let s = sum{i} (e[i]); y[i] = e[i] / s\n"
        "v[i] = 2 * w[i]; z[i] = x[i] * w[i]; u[i] = x[i] * a[i]; c[i] = select(w[i] < 0, x[i], 0)"
    )
    types = f.program.types()
    assert {name: types[name] for name in "esyvzuc"} == {
        "e": "f32", "s": "f32", "y": "f16", "v": "bf16", "z": "f32", "u": "f32", "c": "f16",
    }  # fmt: skip
    assert tadc.function(str(f)).program.types() == types


def test_bf16_of_numpy_needs_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    numpy_type.cache_clear()
    monkeypatch.setitem(__import__("sys").modules, "ml_dtypes", None)
    with pytest.raises(CompileError, match=r"pip install 'tadc-compiler\[bf16\]'") as caught:
        tadc.function("x: bf16[N]; y[i] = x[i]")(np.ones(3))
    assert [d.code for d in caught.value.diagnostics] == ["TAD0802"]


def test_what_does_not_fit_is_said() -> None:
    f = tadc.function("x: bf16[N]; y[i] = x[i]")
    with pytest.raises(ArgumentError, match=r"without loss(.|\n)*`x.astype\(ml_dtypes.bfloat16\)`"):
        f(np.ones(3, np.float32))
    with pytest.raises(ArgumentError, match=r"too large for f16(.|\n)*65504"):
        tadc.function("x: f16[N]; y[i] = x[i]")([1, 70000])


@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize(
    "text",
    [
        "x: T[N]; y[i: N - 2] = x[i] * x[i + 2]",
        "src: index[E] in N; x: T[N]; y[e] = x[src[e]]**2",
    ],
)
def test_sparse_jacobians_for_scipy_are_of_f32(name: str, text: str) -> None:
    """SciPy has no matrices of 16 bits."""
    f = tadc.function(text.replace("T[", f"{name}["))
    (x,) = numbers(name, [name], ((5,),))
    given = (np.array([0, 3, 3], np.int32), x) if "src" in text else (x,)
    dense, found = tadc.jacobian(f, wrt="x")(*given), tadc.jacobian(f, wrt="x").toscipy(*given)
    assert found.dtype == np.float32
    close(found.toarray().astype(numpy_type(name)), dense, name)


def test_types_of_16_bits_are_names_where_no_type_is_expected() -> None:
    f = tadc.function("f16: f64[N]; g: f16[N]; bf16[i: N] = f16[i] * g[i]; h = sum{i} (bf16[i])")
    found = f(f16=np.array([1.0, 2.0]), g=np.array([3.0, 4.0], np.float16))
    assert (list(found.bf16), found.h) == ([3.0, 8.0], 11.0)


@pytest.mark.parametrize("name", ["f16", "bf16"])
def test_gradients_are_checked_by_differences_of_what_is_not_rounded(name: str) -> None:
    rows = gradient_errors(tadc.function(f"x: {name}[5]; y[i] = lgamma(x[i]) * sinc(x[i])").program)
    assert [row.passed for row in rows] == [True]
