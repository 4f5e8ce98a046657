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
from tadc.backend.runtime.dlpack import make_capsule

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
    assert "`f.jax`" in str(problem.value)


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


def test_a_tensor_with_a_tangent() -> None:
    torch = pytest.importorskip("torch")
    f, x = tadc.function(TEXT), torch.arange(3.0, dtype=torch.float64)
    forward = torch.autograd.forward_ad
    with forward.dual_level():
        with pytest.raises(tadc.ArgumentError, match="requires a gradient or has a tangent"):
            f(forward.make_dual(x, x), x)
        assert f(x, x).f.tolist() == [0, 1, 4]
        assert forward.unpack_dual(f.torch(forward.make_dual(x, x), x).f).tangent.tolist() == [0, 1, 4]


def test_pytorch_sees_what_is_written() -> None:
    torch = pytest.importorskip("torch")
    out, x = torch.ones(3, dtype=torch.float64), torch.ones(3, dtype=torch.float64, requires_grad=True)
    loss = (out * x).sum()
    tadc.function("x: f64[N]; y[i] = 2*x[i]")(X, out=out)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()
    with torch.inference_mode():
        out = torch.ones(3, dtype=torch.float64)
        assert tadc.function("x: f64[N]; y[i] = 2*x[i]")(X, out=out).tolist() == (2 * X).tolist()


class Broken:
    """What says that it is an array and fails at all that it is asked."""

    shape = (3,)

    def __dlpack__(self, **_asked: Any) -> Any:
        raise KeyError("nothing here")

    def __dlpack_device__(self) -> Any:
        raise SystemError

    def __array_namespace__(self) -> Any:
        raise NotImplementedError


@pytest.mark.parametrize("value", [Broken(), jax.random.key(0)], ids=["broken", "key"])
def test_an_array_that_fails(f: tadc.Function, value: Any) -> None:
    with pytest.raises(tadc.ArgumentError, match="TAD0504"):
        f(value, X)
    with pytest.raises(tadc.ArgumentError, match="TAD0505"):
        f(X, X, out={"f": value})


def test_a_deleted_array_of_jax_is_named(f: tadc.Function) -> None:
    x = jnp.arange(3.0)
    x.delete()
    with pytest.raises(tadc.ArgumentError, match="`x` cannot be read as an array"):
        f(x, X)


class Lent:
    """An object with DLPack alone, over NumPy's memory; `how` is what it gives of what is asked."""

    def __init__(self, array: Any, device: tuple[int, int] = (1, 0)) -> None:
        self.array, self.device = array, device
        self.asked: list[dict[str, Any]] = []

    def __dlpack__(self, **how: Any) -> Any:
        self.asked.append(how)
        return self.array.__dlpack__(**how)

    def __dlpack_device__(self) -> Any:
        return self.device


class LentBefore(Lent):
    """As it was before version 1: no keyword but the stream, and no flags."""

    def __dlpack__(self, stream: Any = None) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        return self.array.__dlpack__()


class LentCopy(Lent):
    """What it gives is a copy, whatever is asked; the flag says so."""

    def __dlpack__(self, **how: Any) -> Any:
        return self.array.__dlpack__(**{**how, "copy": True})


class LentOddly(Lent):
    """Elements that do not start at a multiple of their size."""

    def __dlpack__(self, **how: Any) -> Any:
        at = self.array.ctypes.data
        return make_capsule(
            self.array, at, (3,), np.dtype(np.float64), (1, 0), is_versioned="max_version" in how
        )


@pytest.mark.parametrize("kind", [Lent, LentBefore, LentCopy])
@pytest.mark.parametrize("array", [X, np.arange(9.0)[5:2:-1], np.arange(6.0)[::2], X.astype("f4")])
def test_dlpack_alone_gives_arrays_of_numpy(f: tadc.Function, kind: type[Lent], array: Any) -> None:
    r = f(kind(array), X)
    assert type(r.f) is np.ndarray
    np.testing.assert_array_equal(r.f, array * X)


def test_strides_offsets_and_empty_arrays_of_dlpack() -> None:
    n = tadc.function("x: f64[N, M]; f[i, j] = 2*x[i, j]; s: f64; s = 1")
    m = np.arange(24.0).reshape(4, 6)
    for array in (m.T, m[::-1, 1::2], m[:0], m[:, :0], np.broadcast_to(m[0], (3, 6))):
        for kind in (Lent, LentBefore):
            if not (kind is LentBefore and not array.flags.writeable):  # it cannot be said to be read-only
                np.testing.assert_array_equal(n(kind(array)).f, 2 * array)
    double = tadc.function("a: f64; b = 2*a")
    assert float(double(Lent(np.array(3.0)))) == 6
    out = np.zeros(())
    assert double(1.5, out=LentBefore(out)) is not None
    assert out == 3


def test_dlpack_that_is_not_aligned(f: tadc.Function) -> None:
    whole = np.zeros(33, np.uint8)
    odd = whole[1:25]
    odd[:] = np.arange(1.0, 4).view(np.uint8)
    assert odd.ctypes.data % 8
    np.testing.assert_array_equal(f(LentOddly(odd), np.ones(3)).f, [1, 2, 3])
    f(X, X, out={"f": LentOddly(odd)})
    np.testing.assert_array_equal(odd.copy().view(float), X * X)


@pytest.mark.parametrize("kind", [Lent, LentBefore])
def test_dlpack_is_written_to(f: tadc.Function, kind: type[Lent]) -> None:
    out, wide = kind(np.zeros(3)), np.zeros(6)
    found = f(X, X, out={"f": out})
    assert found.f is out
    np.testing.assert_array_equal(out.array, X * X)
    f(X, X, out=(kind(wide[::2]), None))
    np.testing.assert_array_equal(wide[::2], X * X)
    assert not wide[1::2].any()


def test_a_newer_capsule_is_asked_for_and_no_copy() -> None:
    out = Lent(np.zeros(3))
    tadc.function("x: f64[3]; f[i] = x[i]")(X, out=out)
    assert out.asked == [{"max_version": (1, 1), "copy": False}]


def test_what_dlpack_says_is_read_only_is_not_written_to(f: tadc.Function) -> None:
    fixed = np.zeros(3)
    fixed.flags.writeable = False
    np.testing.assert_array_equal(f(Lent(fixed), X).f, 0 * X)
    for out in (Lent(fixed), LentCopy(np.zeros(3))):
        with pytest.raises(tadc.ArgumentError, match="`out` for `f` is read-only"):
            f(X, X, out={"f": out})
    assert not fixed.any()


def test_a_device_that_no_kernel_runs_on(f: tadc.Function) -> None:
    class Far(Lent):
        def __dlpack__(self, **how: Any) -> Any:
            raise BufferError

    for device, name in (((8, 0), "Metal"), ((12, 1), "number 12 of DLPack")):
        with pytest.raises(
            tadc.ArgumentError, match=rf"`w` cannot be read: it is on a device without kernels \({name}\)"
        ):
            f(X, Far(X, device))
    with pytest.raises(tadc.ArgumentError, match="not a NumPy array"):
        f(X, X, out={"f": Far(np.zeros(3), (8, 0))})
    assert f(Lent(X, (3, 0)), X).f.tolist() == [0, 1, 4]  # memory of the host that CUDA has pinned


def test_memory_lives_as_long_as_it_is_read() -> None:
    """A capsule that is dropped gives its memory back, once."""
    given = np.ones(1000)
    count = sys.getrefcount(given)
    f = tadc.function("x: f64[N]; s = sum{i} (x[i])")
    for _ in range(50):
        for kind in (Lent, LentBefore, LentCopy):
            assert f(kind(given)) == 1000
    into = np.zeros(3)
    before = sys.getrefcount(into)
    copied = tadc.function("x: f64[3]; f[i] = x[i]")
    for _ in range(50):
        copied(X, out=Lent(into))
        copied(X, out=LentBefore(into))
    assert sys.getrefcount(given) <= count + 1
    assert sys.getrefcount(into) <= before + 1


class TestStrict:
    """The array API and nothing else: `array_api_strict`."""

    strict: Any

    @pytest.fixture(autouse=True)
    def library(self) -> None:
        self.strict = pytest.importorskip("array_api_strict")

    def test_what_goes_in_comes_out(self, f: tadc.Function) -> None:
        x = self.strict.asarray(X)
        r = f(x, X)
        assert r.f.__array_namespace__() is self.strict
        assert r.s.shape == ()
        assert self.strict.all(r.f == x * x)
        assert (
            f(x[::-1], self.strict.asarray([1.0, 2, 3], dtype=self.strict.float32)).f.dtype
            == self.strict.float64
        )
        empty = tadc.function("x: f64[N]; f[i] = x[i]")(self.strict.zeros((0,)))
        assert empty.shape == (0,)
        back = tadc.vjp(f)(x, X, df=self.strict.ones(3), ds=1)
        assert type(back.dx) is type(x)

    def test_results_share_the_memory_of_a_kernel(self) -> None:
        n = tadc.function("x: f64[N]; f[i] = 2*x[i]")
        assert np.from_dlpack(n(self.strict.ones(1000))).base is not None
        out = self.strict.zeros(5)
        assert n(self.strict.ones(5), out=out) is out
        assert self.strict.all(out == 2)

    def test_its_devices_are_those_of_results(self, f: tadc.Function) -> None:
        for name in ("CPU_DEVICE", "device1", "device2"):
            device = self.strict.Device(name)
            assert f(X, self.strict.asarray(X, device=device)).f.device == device

    @pytest.mark.parametrize("version", ["2022.12", "2024.12"])
    def test_versions_of_the_standard(self, f: tadc.Function, version: str) -> None:
        with self.strict.ArrayAPIStrictFlags(api_version=version):
            out = self.strict.zeros(3)
            assert type(f(self.strict.asarray(X), X).f) is type(out)
            f(X, X, out={"f": out})
            assert self.strict.all(out == self.strict.asarray(X * X))


def test_a_class_of_ones_own_above_a_library(
    f: tadc.Function, torch: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which library a tensor is of say the classes above its own too."""

    class Own(Tensor):
        pass

    assert Own.__module__ != "torch"
    assert type(f(Own(X), X).f) is Tensor


def test_results_of_jax_are_on_the_device_of_its_arrays(f: tadc.Function) -> None:
    x = jax.device_put(jnp.arange(3.0), jax.devices()[-1])
    assert f(x, X).f.device == x.device
