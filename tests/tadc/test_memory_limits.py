"""Tensors in between that there is no room for are computed again; what cannot be is named."""

from __future__ import annotations

import pickle
import re
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tadc
from tadc.backend.runtime import free_memory
from tests.backend.kernels import on_host

COUNT = 1500
#: Bytes of a tensor of pairs.
PAIRS = 8 * COUNT**2

ATTENTION = """q: f64[N, 64]; k: f64[N, 64]; v: f64[N, 64]
let s[i, j] = exp(0.1*sum{d} (q[i, d]*k[j, d]))
let z[i] = sum{j} (s[i, j])
f[i, d] = sum{j} (s[i, j]*v[j, d]) / z[i]"""

LARGEST = """x: f64[N]
let u[i: N, j: N] = sin(x[i])*cos(3*x[j])
f[i] = max{j} (u[i, j])"""


def attention(q: jax.Array, k: jax.Array, v: jax.Array) -> jax.Array:
    return jax.nn.softmax(0.1 * q @ k.T, axis=1) @ v


@pytest.fixture
def little_memory(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Lets calls have so many bytes."""

    def have(free: int) -> None:
        monkeypatch.setattr(free_memory, "_unused_memory", lambda: free)
        monkeypatch.setattr(free_memory, "available_memory", lambda: free)

    return have


def largest(kernel: object) -> int:
    """The bytes of the largest tensor in between of a kernel for given sizes."""
    return max(t.tensor.bytes for t in on_host(kernel).temporaries)


def stored(f: tadc.Function) -> int:
    """The bytes of the largest tensor in between of a call like the last one, where there is room."""
    plan = on_host(f.compiled().kernel)._last  # pyright: ignore[reportPrivateUsage]
    assert plan is not None
    return plan.largest


def given(f: tadc.Function) -> list[Any]:
    random = np.random.default_rng(0)
    shapes = {"q": (COUNT, 64), "k": (COUNT, 64), "v": (COUNT, 64), "df": (COUNT, 64), "x": (COUNT,)}
    return [random.normal(size=shapes[name]) for name in f.inputs]


@pytest.mark.parametrize("known", [False, True])
def test_what_has_no_room_is_computed_again(known: bool, little_memory: Callable[[int], None]) -> None:
    """A product of matrices is stored where it can be, and read twice; its gradients read it more often."""
    f = tadc.function(ATTENTION, sizes={"N": COUNT} if known else None)
    g = tadc.value_and_vjp(f)
    arrays = given(g)
    first = g(*arrays)
    assert stored(g) == PAIRS
    little_memory(PAIRS)
    found = g(*arrays)
    fitted = on_host(g.compiled().kernel).fitting.at({} if known else {"N": COUNT}, PAIRS)
    assert fitted is not None
    assert fitted.bytes < PAIRS
    assert largest(fitted.kernel) < PAIRS / 10
    value, pull = jax.vjp(attention, *map(jnp.asarray, arrays[:3]))
    expected = (value, *pull(jnp.asarray(arrays[3])))
    for result, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(result, other, rtol=1e-9, atol=1e-9 * np.abs(other).max())
    # Where there is room again, pairs are stored: the same bits as before.
    little_memory(1 << 40)
    for result, other in zip(g(*arrays), first, strict=True):
        np.testing.assert_array_equal(result, other)


@pytest.mark.parametrize("materialize", ["auto", "always", "never"])
def test_limits_hold_for_sizes_of_a_call(materialize: str) -> None:
    f = tadc.function(ATTENTION, materialize=materialize, memory_limit="4M")
    arrays = given(f)
    found = f(*arrays)
    assert stored(f) <= 4 << 20
    np.testing.assert_allclose(found, attention(*map(jnp.asarray, arrays)), rtol=1e-9)


def test_versions_that_do_not_help_are_not_made_again() -> None:
    """What a derivative compares is stored under any limit, and no size is compiled for in vain."""
    g = tadc.vjp(tadc.function(LARGEST), memory_limit="1K")
    for count in (20, 30, 40):
        x = np.linspace(-1, 1.3, count)
        best = np.argmax(np.sin(x)[:, None] * np.cos(3 * x)[None], axis=1)
        expected = np.cos(x) * np.cos(3 * x)[best]
        np.add.at(expected, best, -3 * np.sin(x) * np.sin(3 * x)[best])
        np.testing.assert_allclose(g(x, np.ones(count)), expected, atol=1e-12)
    versions = on_host(g.compiled().kernel).versions
    assert versions is not None
    assert len(versions._made) == 1  # pyright: ignore[reportPrivateUsage]


def test_the_error_names_what_is_stored_and_why(little_memory: Callable[[int], None]) -> None:
    g = tadc.value_and_vjp(tadc.function(LARGEST, "largest.tad"))
    little_memory(PAIRS)
    with pytest.raises(tadc.ArgumentError) as error:
        g(*(np.ones(COUNT) for _ in g.inputs))
    text = str(error.value)
    assert "error[TAD0506]: the call needs " in text
    assert "--> largest.tad:2:" in text
    assert "`u` is stored for this: a derivative compares its elements" in text
    assert "with all computed again that can be, it needs 17." in text
    assert f"`u: f64[{COUNT}, {COUNT}]` takes 17.2 MiB" in text
    # What is recommended was tried, and works.
    (name,) = re.findall("ask for fewer results at a time: `(.)` alone", text)
    assert name == "f"
    tadc.function(LARGEST)(np.ones(COUNT))


def test_cotangents_are_named(little_memory: Callable[[int], None]) -> None:
    text = "x: f64[N]\nlet scan{t} h[t: N, i: 64] = sin(x[t] + if {t > 0} then (h[t - 1, i]*i) else (0))\n"
    g = tadc.vjp(tadc.function(text + "f = sum{t, i} (h[t, i]*h[N - 1 - t, i])"))
    little_memory(1 << 20)
    with pytest.raises(tadc.ArgumentError) as error:
        g(np.ones(40000), 1.0)
    found = str(error.value)
    assert ":2:1" in found
    assert "stored for this: it reads itself" in found
    assert "the cotangent of `h`, takes 32.5 KiB" in found


def test_results_that_do_not_fit(little_memory: Callable[[int], None]) -> None:
    little_memory(1 << 24)
    with pytest.raises(tadc.ArgumentError, match=r"the results alone take 30\.5 MiB: compute a part"):
        tadc.function("x: f64[N]; f[i, j: 2000] = x[i]")(np.ones(2000))


def limits(f: tadc.Function) -> tuple[str, int | None]:
    return f.options.materialize, f.options.memory_limit


def test_derivatives_store_what_their_function_does() -> None:
    f = tadc.function("x: f64[N]; s = sum{i} (x[i]**3)", materialize="never", memory_limit="1K")
    derived = (tadc.vjp(f), tadc.jvp(f), tadc.grad(f), tadc.jacobian(f), tadc.hvp(f), tadc.hessian(f))
    for g in (f, *derived, f.at({"N": 3}), pickle.loads(pickle.dumps(f)), tadc.jacobian(f).compressed()):
        assert limits(g) == ("never", 1024)
    assert limits(pickle.loads(pickle.dumps(tadc.grad(f)))) == ("never", 1024)
    assert limits(tadc.grad(f, materialize="auto")) == ("auto", 1024)
    assert limits(tadc.grad(f, memory_limit=5)) == ("never", 5)
    again = tadc.hvp(f).storing("always", 7)
    assert limits(again) == ("always", 7)
    assert again.origin is not None
    assert limits(again.origin.base) == ("always", 7)
    np.testing.assert_allclose(again(np.arange(3.0), np.ones(3)), 6 * np.arange(3.0))


def test_compile_and_load_take_limits(tmp_path: Any) -> None:
    path = tmp_path / "a.tad"
    path.write_text(ATTENTION)
    sizes = {"N": 200}
    f = tadc.load(path, sizes=sizes, memory_limit="64K")
    plain = tadc.compile(tadc.load(path, sizes=sizes))
    assert largest(plain.kernel) == 8 * 200**2
    assert largest(tadc.compile(f).kernel) <= 64 << 10
    bounded = tadc.compile(tadc.load(path, sizes=sizes), memory_limit="64K")
    assert largest(bounded.kernel) <= 64 << 10
    g = tadc.value_and_vjp(tadc.load(path, sizes=sizes))
    assert largest(tadc.compile(g, memory_limit="64K", materialize="always").kernel) <= 64 << 10
