"""What calls take, give and refuse."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tadc
import tadc.jax
from tadc.jax import xla_kernels as kernels

pytestmark = pytest.mark.as_shipped

CONV = tadc.function("x: f64[N]; w: f64[M]; y[i: N - M + 1] = sum{k} (w[k]*x[i + k]); s = sum{k} (w[k]**2)")


def conv(x: Any, w: Any) -> Any:
    return np.correlate(np.asarray(x, np.float64), np.asarray(w, np.float64))


@pytest.mark.parametrize(
    ("x", "w"),
    [
        ([1, 2, 3], [1.0, 2.0]),
        (np.arange(4), np.ones(2, np.float32)),
        (jnp.arange(5), np.ones(2)),
        (jnp.arange(5, dtype=jnp.float32), [True, False]),
        (np.arange(12.0)[::3], jnp.ones(3)),
    ],
)
def test_what_converts(x: Any, w: Any) -> None:
    result = CONV.jax(x, w=w)
    assert result._fields == ("y", "s")
    assert isinstance(result.y, jax.Array)
    assert result.y.dtype == result.s.dtype == jnp.float64
    np.testing.assert_array_equal(result.y, conv(x, w))
    np.testing.assert_array_equal(
        jax.jit(CONV.jax)(x, w).y if isinstance(x, jax.Array) else result.y, result.y
    )


def test_weak_types_and_f32() -> None:
    f = tadc.function("a: f32; x: f32[N]; y[i] = a*x[i]").jax
    assert f(2.5, jnp.ones(2, jnp.float32)).dtype == jnp.float32
    assert f(3, jnp.arange(3, dtype=jnp.int32)).tolist() == [0, 3, 6]
    assert f(3, [0.5, 1]).tolist() == [1.5, 3]
    assert jax.grad(lambda a: f(a, jnp.ones(3, jnp.float32)).sum())(2.0) == 3
    with pytest.raises(tadc.ArgumentError, match="`x` has elements of type float64"):
        f(2.5, jnp.ones(2))


def test_a_gradient_goes_through_conversions() -> None:
    f = tadc.function("x: f64[N]; y[i] = x[i]**2").jax
    found = jax.grad(lambda x: f(x).sum())(jnp.arange(3, dtype=jnp.float32))
    assert found.dtype == jnp.float32
    assert found.tolist() == [0, 2, 4]


X, W = jnp.arange(6.0), jnp.ones(2)
REFUSED: list[tuple[str, Callable[[Any], Any], str]] = [
    ("TAD0501", lambda f: f(X), "argument `w` is missing"),
    ("TAD0502", lambda f: f(X, W, W), "3 positional arguments"),
    ("TAD0502", lambda f: f(X, v=W), "there is no argument `v`"),
    ("TAD0503", lambda f: f(jnp.ones((2, 3)), W), "`x` has 2 dimensions"),
    ("TAD0504", lambda f: f(X, jnp.ones(2, complex)), "complex128"),
    ("TAD0504", lambda f: f(X, [1j, 2]), "complex128"),
    ("TAD0504", lambda f: f("x", W), "not an array of numbers"),
    ("TAD0504", lambda f: f(X, {"w": W}), "a mapping, not an array"),
    ("TAD0507", lambda f: f(jnp.ones(1), jnp.ones(3)), "N"),
]


@pytest.mark.parametrize(("code", "call", "said"), REFUSED)
@pytest.mark.parametrize("traced", [False, True])
def test_what_is_refused(code: str, call: Callable[[Any], Any], said: str, traced: bool) -> None:
    f: Any = CONV.jax
    if traced:
        f = lambda *args, **kwargs: jax.eval_shape(lambda: CONV.jax(*args, **kwargs))  # noqa: E731
    with pytest.raises(tadc.ArgumentError) as caught:
        call(f)
    assert code in [d.code for d in caught.value.diagnostics]
    assert said in str(caught.value)


def test_wrong_shapes_in_jit() -> None:
    f = tadc.function("a: f64[N, K]; b: f64[K, 3]; c[i: N, j: 3] = sum{k} (a[i, k]*b[k, j])")
    with pytest.raises(tadc.ArgumentError, match="expected 4"):
        jax.jit(f.jax).trace(jnp.ones((2, 4)), jnp.ones((5, 3)))
    with pytest.raises(tadc.ArgumentError, match=r"expected \(K, 3\)"):
        jax.vmap(f.jax, (None, 0))(jnp.ones((2, 4)), jnp.ones((7, 4, 2)))


def test_without_64_bits() -> None:
    code = "import jax, tadc; f = tadc.function('x: f64[N]; y[i] = x[i]'); f.jax([1.0])"
    environment = {"JAX_ENABLE_X64": "0", "JAX_PLATFORMS": "cpu", "PATH": "", "TADC_CACHE": "0"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert "error[TAD0504]: `x` is f64, and the 64 bits of JAX are switched off" in done.stderr
    assert "jax_enable_x64" in done.stderr


def test_without_jax(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jax", None)
    with pytest.raises(tadc.UsageError, match=r"tadc-compiler\[jax\]"):
        tadc.function("x: f64; y = x").jax
    monkeypatch.undo()
    monkeypatch.setattr(jax, "__version_info__", (0, 4, 38))
    with pytest.raises(tadc.UsageError, match=r"needs JAX 0\.5\.0"):
        tadc.jax.wrap(tadc.function("x: f64; y = x"))


def test_names_of_python() -> None:
    f = tadc.function("self: f64[N]; fun: f64; lambda_[i] = fun*self[i]**2").jax
    assert f(fun=2.0, self=jnp.arange(3.0)).tolist() == [0, 2, 8]
    assert f.lower(fun=2.0, self=jnp.arange(3.0)).out_info.shape == (3,)


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda f: pickle.loads(pickle.dumps(f))])
def test_copies(copied: Callable[[Any], Any]) -> None:
    CONV.jax(X, W)
    assert copied(CONV.jax)(X, W).y.tolist() == CONV.jax(X, W).y.tolist()


def test_wrap() -> None:
    assert tadc.jax.wrap(CONV) is CONV.jax
    with pytest.raises(tadc.UsageError, match=r"tadc\.function"):
        tadc.jax.wrap("x: f64; y = x")  # pyright: ignore[reportArgumentType]


def test_one_kernel_for_all_sizes() -> None:
    before = len(kernels.KERNELS)
    text = f"x: f64[N]; y[i] = 3*x[i] + {before}.125"  # of no test before, nor of this one repeated
    f = tadc.function(text)
    for size in (0, 1, 2, 17, 1000):
        np.testing.assert_array_equal(f.jax(np.arange(size)), 3 * np.arange(size) + before + 0.125)
    assert len(kernels.KERNELS) == before + 1
    tadc.function(text).jax(jnp.ones(3))
    assert len(kernels.KERNELS) == before + 1  # the same text


def test_shard_map_and_meshes() -> None:
    environment = {"PATH": "", "TADC_CACHE": "0", "JAX_PLATFORMS": "cpu"}
    environment["XLA_FLAGS"] = "--xla_force_host_platform_device_count=2"
    done = subprocess.run([sys.executable, "-c", MESH], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


MESH = """
import jax, numpy as np, tadc, functools
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
mesh = Mesh(np.array(jax.devices()), ("a",))
f = tadc.function("x: f32[N, K]; w: f32[K]; y[i] = sum{k} (w[k]*x[i, k])**2").jax
x, w = np.arange(24, dtype="f4").reshape(8, 3), np.ones(3, "f4")
placed = jax.device_put(x, NamedSharding(mesh, P("a")))
np.testing.assert_array_equal(jax.jit(f)(placed, w), (x @ w)**2)
gradient = 2 * (x @ w) @ x
np.testing.assert_array_equal(jax.grad(lambda w: f(placed, w).sum())(w), gradient)
if hasattr(jax, "shard_map"):
    shard_map, unchecked = jax.shard_map, {"check_vma": False}
else:
    from jax.experimental.shard_map import shard_map
    unchecked = {"check_rep": False}
shard = functools.partial(shard_map, mesh=mesh, in_specs=(P("a"), P()), out_specs=P("a"))
for run in (shard(f), shard(f, **unchecked)):
    np.testing.assert_array_equal(jax.jit(run)(x, w), (x @ w)**2)
    np.testing.assert_array_equal(jax.jit(jax.grad(lambda w: run(x, w).sum()))(w), gradient)
    np.testing.assert_array_equal(jax.jvp(lambda w: run(x, w), (w,), (w,))[1], 2 * (x @ w)**2)
run = shard(lambda x, w: jax.vmap(f, (0, None))(x[:, None], w)[:, 0])
np.testing.assert_array_equal(jax.grad(lambda w: jax.jit(run)(x, w).sum())(w), gradient)
second = jax.hessian(lambda w: shard(f)(x, w).sum())(w)
np.testing.assert_array_equal(second, 2 * x.T @ x)
joined = lambda x, w: jax.lax.psum(f(x, w).sum(), "a")
total = shard_map(joined, mesh=mesh, in_specs=(P("a"), P()), out_specs=P())
np.testing.assert_array_equal(jax.grad(lambda w: total(x, w))(w), gradient)
"""


def test_sizes_by_name() -> None:
    f = tadc.function("x: f64; size N; y[i: N] = x*i").jax
    assert f(2.0, N=3).tolist() == [0, 2, 4]
    assert jax.jit(lambda x: f(x, N=4))(2.0).tolist() == [0, 2, 4, 6]
    assert jax.vmap(lambda x: f(x, N=2))(jnp.arange(3.0)).tolist() == [[0, 0], [0, 1], [0, 2]]
    assert jax.grad(lambda x: f(x, N=5).sum())(2.0) == 10
    assert f(2.0, N=jnp.int32(2)).tolist() == [0, 2]
    with pytest.raises(tadc.ArgumentError, match="size `N` is missing"):
        f(2.0)
    for wrong in ([3], 3.0, "3", -1):
        with pytest.raises(tadc.ArgumentError, match="TAD0508"):
            f(2.0, N=wrong)
    with pytest.raises(tadc.ArgumentError, match="size `N` must be an integer"):
        jax.jit(lambda x, n: f(x, N=n))(2.0, 3)


def test_a_function_that_is_compiled_for_each_value() -> None:
    f = tadc.function("x: f64[N, M]; s = sum{i: N, k: N*M} (if {k = M*i} then (x[i, 0]**2) else (0))")
    assert f.per_value is not None
    x = jnp.arange(6.0).reshape(3, 2)
    assert f.jax(x) == 4 + 16
    np.testing.assert_array_equal(jax.jit(jax.grad(f.jax))(x), [[0, 0], [4, 0], [8, 0]])
    np.testing.assert_array_equal(jax.vmap(f.jax)(jnp.stack([x, x + 1])), [20, 35])


def test_donated_buffers() -> None:
    f = tadc.function("x: f64[N]; y[i] = 2*x[i] + x[N - 1 - i]").jax
    donating = jax.jit(f, donate_argnums=0)
    for _ in range(3):
        np.testing.assert_array_equal(donating(jnp.arange(64.0)), np.arange(64.0) + 63)


def test_another_platform_is_refused() -> None:
    f = tadc.function("x: f64[N]; y[i] = 2*x[i]").jax
    with pytest.raises(tadc.UsageError, match="on the CPU"):
        tadc.jax.export(jax.jit(f), platforms=["cuda"])(jnp.ones(3))


def test_functions_of_equal_results_are_wrapped_by_threads() -> None:
    interval, count = sys.getswitchinterval(), 4
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(count) as pool:
            for n in range(10):
                text = f"x: f32[N]; y{n}[i] = x[i]; z{n}[i] = x[i]"
                fs = [tadc.function(text) for _ in range(count)]
                assert len(set(pool.map(lambda f: f.jax._result, fs))) == 1
    finally:
        sys.setswitchinterval(interval)


def test_threads() -> None:
    f = tadc.function("x: f64[N]; let u[i: N, j: N] = sin(x[i] - x[j]); y[i] = sum{j} (u[i, j]*u[j, i])")
    gradient = jax.jit(jax.grad(lambda x: f.jax(x).sum()))
    given = [jnp.linspace(0, 1, 20 + n % 5) + n for n in range(40)]
    expected = [gradient(x) for x in given]
    with ThreadPoolExecutor(8) as pool:
        for _ in range(5):
            for one, other in zip(pool.map(gradient, given), expected, strict=True):
                np.testing.assert_array_equal(one, other)
    # Independent calls of one program, which XLA may run at the same time.
    many = jax.jit(lambda xs: [f.jax(x) for x in xs])
    for one, x in zip(many(given), given, strict=True):
        np.testing.assert_allclose(one, f(np.asarray(x)), rtol=1e-12)


def resident() -> int:
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * 4096


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("calls", [20_000, pytest.param(1_000_000, marks=pytest.mark.slow)])
def test_calls_leak_nothing(calls: int) -> None:
    f = tadc.function("x: f64[N]; let u[i] = sin(x[i]); y[i: N] = sum{j} (u[i]*u[j])").jax
    x = jnp.ones(256)
    for _ in range(2000):
        f(x)
    before = resident()
    for _ in range(calls):
        f(x)
    # A result alone takes 2 KB: one leaked in ten would be more.
    assert resident() - before < max(2 << 20, calls * 200)


@pytest.mark.parametrize("name", ["f16", "bf16"])
def test_floats_of_16_bits(name: str) -> None:
    """In `jit`, `grad` and `vmap`, and handed over by a call of the function itself."""
    kind = {"f16": jnp.float16, "bf16": jnp.bfloat16}[name]
    f = tadc.function(f"x: {name}[N]; w: {name}[N]; y[i] = exp(x[i]) * w[i]; s = sum{{i}} (x[i] * w[i])")
    x, w = (jax.random.normal(jax.random.key(n), (33,)).astype(kind) for n in (0, 1))
    y, s = jax.jit(f.jax)(x, w)
    wide = [a.astype(jnp.float32) for a in (x, w)]
    expected = jnp.exp(wide[0]) * wide[1]
    unit = float(jnp.finfo(kind).eps)
    np.testing.assert_allclose(y.astype(jnp.float32), expected, rtol=unit)
    np.testing.assert_allclose(s.astype(jnp.float32), jnp.vdot(*wide), rtol=unit)
    found = jax.grad(lambda x, w: f.jax(x, w)[0].astype(jnp.float32).sum(), (0, 1))(x, w)
    for gradient, reference in zip(found, (expected, jnp.exp(wide[0])), strict=True):
        assert gradient.dtype == kind
        np.testing.assert_allclose(gradient.astype(jnp.float32), reference, rtol=2 * unit)
    batched = jax.vmap(f.jax, (0, None))(jnp.stack([x, x]), w)[0]
    np.testing.assert_array_equal(batched.astype(jnp.float32), jnp.stack([y, y]).astype(jnp.float32))
    np.testing.assert_array_equal(f(x, w)[0].astype(jnp.float32), y.astype(jnp.float32))


def test_the_types_of_traced_arrays_are_those_of_parameters() -> None:
    f = tadc.function("x: T[N]; w: T[N]; y[i] = x[i] * w[i]")
    for kind in (jnp.float32, jnp.bfloat16, jnp.float16):
        x = jnp.ones(5, kind)
        assert jax.jit(f.jax)(x, x).dtype == kind
        assert jax.grad(lambda x: f.jax(x, x).astype(jnp.float32).sum())(x).dtype == kind
        assert f.jax(x, [1, 2, 3, 4, 5]).dtype == kind
