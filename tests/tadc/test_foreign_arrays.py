"""Arrays of JAX, PyTorch and others on the CPU: what goes in comes out, in the same memory."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tadc

TEXT = "x: f64[3]; w: f64[3]; f[i] = x[i]*w[i]; s = sum{i} (x[i])"
X = np.arange(3.0)


@pytest.fixture(scope="module")
def f() -> tadc.Function:
    return tadc.function(TEXT)


class Strange:
    """An array of a library that has Python's array API, over NumPy's memory."""

    def __init__(self, array: Any) -> None:
        self.array = array
        self.shape, self.dtype = array.shape, array.dtype

    def __array_namespace__(self) -> type[Strange]:
        return Strange

    def __dlpack__(self, **how: Any) -> Any:
        return self.array.__dlpack__(**how)

    def __dlpack_device__(self) -> Any:
        return self.array.__dlpack_device__()

    @staticmethod
    def from_dlpack(array: Any) -> Strange:
        return Strange(np.from_dlpack(array))


class Tensor:
    """As much of a tensor of PyTorch as a call looks at."""

    is_cuda = False

    def __init__(self, array: Any, requires_grad: bool = False) -> None:
        self.array, self.requires_grad = array, requires_grad
        self.shape, self.dtype = array.shape, array.dtype

    def detach(self) -> Tensor:
        return Tensor(self.array)

    def numpy(self) -> Any:
        return self.array

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        if self.requires_grad:
            raise RuntimeError("Can't call numpy() on Tensor that requires grad.")
        return self.array


@pytest.fixture
def torch(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A stand-in for PyTorch; `recording` says whether gradients are recorded."""
    made: Any = ModuleType("torch")
    made.recording = True
    made.is_grad_enabled = lambda: made.recording
    made.from_numpy = Tensor
    monkeypatch.setattr(Tensor, "__module__", "torch")
    monkeypatch.setitem(sys.modules, "torch", made)
    return made


def test_jax_gives_jax(f: tadc.Function) -> None:
    x = jnp.arange(3.0)
    for r in (f(x, x), f(w=x, x=X), f(X, x), f([0, 1, 2], x), f(x[::-1][::-1], X.astype(np.float32))):
        assert isinstance(r.f, jax.Array)
        assert isinstance(r.s, jax.Array)
        assert r.f.dtype == np.float64
        assert r.s.shape == ()
        np.testing.assert_array_equal(r.f, X * X)
    assert isinstance(tadc.compile(f)(x, x).f, jax.Array)
    assert isinstance(tadc.compile(f, "emulated")(x, x).f, jax.Array)
    assert type(f(X, X).f) is np.ndarray


def test_jax_without_64_bits(f: tadc.Function) -> None:
    with jax.enable_x64(False):
        assert f(jnp.arange(3.0), X).f.dtype == np.float32


def test_results_of_jax_share_our_memory() -> None:
    """A large one starts where XLA wants it; nobody else gets its memory as long as it lives."""
    double = tadc.function("x: f64[N]; f[i] = 2*x[i]")
    x = jnp.ones(100_000)
    first = double(x)
    again = [double(x + 1) for _ in range(3)]
    assert len({a.unsafe_buffer_pointer() for a in (first, *again)}) == 4
    assert float(first[0]) == 2
    assert first.unsafe_buffer_pointer() % 64 == 0


@pytest.mark.parametrize("transform", [jax.jit, jax.grad, jax.vmap])
def test_traced_arrays(f: tadc.Function, transform: Any) -> None:
    x = jnp.ones((2, 3)) if transform is jax.vmap else jnp.ones(3)
    with pytest.raises(tadc.ArgumentError, match="traced array of JAX") as problem:
        transform(lambda x: f(x, X).s)(x)
    assert "`jax.pure_callback`" in str(problem.value)
    assert "`tadc.vjp`" in str(problem.value)


def test_jax_is_not_written_to(f: tadc.Function) -> None:
    with pytest.raises(tadc.ArgumentError, match="read-only"):
        f(X, X, out={"f": jnp.zeros(3)})


def test_any_library_with_the_array_api(f: tadc.Function) -> None:
    r = f(Strange(X), X)
    assert isinstance(r.f, Strange)
    assert isinstance(r.s, Strange)
    np.testing.assert_array_equal(r.f.array, X * X)
    assert isinstance(f(jnp.arange(3.0), Strange(X)).f, jax.Array)
    assert isinstance(f(w=jnp.arange(3.0), x=Strange(X)).f, Strange)
    out = Strange(np.zeros(3))
    found = f(X, X, out=(out, None))
    assert found.f is out
    np.testing.assert_array_equal(out.array, X * X)
    with pytest.raises(tadc.ArgumentError, match=r"`x` has shape \(4,\), expected \(3,\)"):
        f(Strange(np.ones(4)), X)


def test_sizes_of_foreign_arrays() -> None:
    n = tadc.function("x: f64[N]; M: f64; f[i] = M*x[i]")
    per_value = tadc.function("x: f64[N, M]; s = sum{i: N, k: N*M} (if {k = M*i} then (x[i, 0]) else (0))")
    assert n(jnp.ones(4), jnp.float64(3)).shape == (4,)
    assert float(per_value(jnp.ones((2, 2)))) == 2


def test_inverses_of_foreign_arrays() -> None:
    inv = tadc.inverse(tadc.function("x: f64[3]; a: f64; y[i] = 2*x[i]; b = a"))
    result, residual = inv.jinv((X, 1.0), (jnp.ones(3), 1.0), check=True)
    assert isinstance(result.x, jax.Array)
    assert result.x.tolist() == [0.5] * 3
    assert residual == 0
    assert isinstance(inv.jinvT({"x": jnp.ones(3), "a": 1.0}, (X, 1.0)).b, jax.Array)
    assert type(inv.jinvT((X, 1.0), (X, 1.0)).b) is np.ndarray


def test_a_tensor_that_requires_a_gradient(f: tadc.Function, torch: Any) -> None:
    x = Tensor(X, requires_grad=True)
    with pytest.raises(tadc.ArgumentError, match="requires a gradient") as problem:
        f(x, X)
    assert "call `f.torch`, which it differentiates, or pass `x.detach()`" in str(problem.value)
    torch.recording = False
    assert isinstance(f(x, X).f, Tensor)
    torch.recording = True
    r = f(x.detach(), X)
    assert isinstance(r.f, Tensor)
    np.testing.assert_array_equal(r.f.array, X * X)


def test_pytorch() -> None:
    torch = pytest.importorskip("torch")
    f = tadc.function(TEXT)
    x = torch.arange(3.0, dtype=torch.float64)
    wide = torch.arange(6.0, dtype=torch.float32)[::2] / 2
    for r in (f(x, x), f(X, w=x), f(wide, x)):
        assert isinstance(r.f, torch.Tensor)
        assert r.s.shape == ()
        assert r.f.dtype == torch.float64
        assert r.f.tolist() == [0, 1, 4]
    out = torch.empty(3, dtype=torch.float64)
    assert f(x, x, out={"f": out}).f is out
    assert out.tolist() == [0, 1, 4]
    x.requires_grad_()
    with pytest.raises(tadc.ArgumentError, match="requires a gradient"):
        f(x, x)
    with torch.no_grad():
        assert f(x, x).f.tolist() == [0, 1, 4]


def test_a_deleted_array_of_jax_is_named(f: tadc.Function) -> None:
    x = jnp.arange(3.0)
    x.delete()
    with pytest.raises(tadc.ArgumentError, match="`x` cannot be read as an array"):
        f(x, X)
