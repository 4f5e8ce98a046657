"""Calls that machine code looks at: what they take is what Python's checks take, and they give the same."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tadc
from tadc.backend.runtime import direct_calls
from tadc.backend.runtime.host_kernel import HostKernel
from tadc.frontend.diagnostics import ArgumentError
from tests.backend.kernels import on_host

pytestmark = pytest.mark.skipif(not direct_calls.is_supported(), reason="no direct calls here")

TEXT = """a: TYPE; x: TYPE[N]; w: TYPE[N, 3]
y[i] = a*x[i] + sum{k} (w[i, k])
z[i, k] = w[i, k] - x[i]
"""


def kernel_of(text: str) -> HostKernel:
    return on_host(tadc.function(text).compiled().kernel)


def unaligned(array: Any) -> Any:
    memory = np.zeros(array.nbytes + 1, np.uint8)
    found = memory[1:].view(array.dtype).reshape(array.shape)
    found[...] = array
    return found


def read_only(array: Any) -> Any:
    found = array.copy()
    found.flags.writeable = False
    return found


class Subclass(np.ndarray):
    """An array whose class may mean anything."""


LOOKS: dict[str, Callable[[Any], Any]] = {
    "as it is": lambda a: a,
    "read-only": read_only,
    "unaligned": unaligned,
    "list": lambda a: a.tolist(),
    "other order": lambda a: np.asfortranarray(a),
    "strided": lambda a: np.repeat(a, 2, axis=-1)[..., ::2] if a.ndim else a,
    "backwards": lambda a: a[::-1].copy()[::-1] if a.ndim else a,
    "other bytes": lambda a: a.astype(a.dtype.newbyteorder()),
    "f32": lambda a: a.astype(np.float32),
    "f64": lambda a: a.astype(np.float64),
    "int": lambda a: a.astype(np.int64),
    "longer": lambda a: np.concatenate([a, a]) if a.ndim else a,
    "of another rank": lambda a: a[None],
    "transposed": lambda a: a.T,
    "subclass": lambda a: a.view(Subclass),
    "nothing": lambda a: None,
    "text": lambda a: "x",
}

NUMBERS: tuple[Any, ...] = (
    2.5,
    np.float32(2.5),
    np.float64(2.5),
    np.float64(1e300),
    1e300,
    -1e300,
    3.4028234663852886e38,
    float("inf"),
    float("nan"),
    True,
    3,
    2**70,
    np.int32(3),
    2.5 + 1j,
    np.array(2.5),
    np.array(2.5, np.float32),
    np.array([2.5]),
)


def result(call: Callable[[], Any]) -> Any:
    """What a call gives, or what it says is wrong."""
    try:
        with np.errstate(invalid="ignore", over="ignore"):
            return [(a.dtype, a.shape, a.tobytes()) for a in call()]
    except ArgumentError as error:
        return [(d.code, d.message) for d in error.diagnostics]


def arguments(dtype: Any) -> list[Any]:
    rng = np.random.default_rng(0)
    return [dtype(0.5), rng.normal(size=5).astype(dtype), rng.normal(size=(5, 3)).astype(dtype)]


@pytest.mark.parametrize("kind", ["f32", "f64"])
@pytest.mark.parametrize("size", ["N", "5"])
def test_arguments(kind: str, size: str) -> None:
    """Each argument in turn as what fits, converts or does not."""
    kernel = kernel_of(TEXT.replace("TYPE", kind).replace("N", size))
    given = arguments(np.float32 if kind == "f32" else np.float64)
    changes = [(n, change(given[n])) for n in (1, 2) for change in LOOKS.values()]
    for n, value in [*changes, *[(0, number) for number in NUMBERS]]:
        args = [*given[:n], value, *given[n + 1 :]]
        kernel(given)
        found = result(lambda args=args: kernel(args))
        kernel(given)
        named: dict[str, Any] = dict(zip(("a", "x", "w"), args, strict=True))
        assert result(lambda named=named: kernel((), named)) == found
        assert result(lambda args=args: kernel.anew(args, {})) == found


@pytest.mark.parametrize("kind", ["f32", "f64"])
def test_out(kind: str) -> None:
    """Each array of `out=` in turn as what fits and what does not; what it holds then, too."""
    kernel = kernel_of(TEXT.replace("TYPE", kind))
    given = arguments(np.float32 if kind == "f32" else np.float64)
    fresh = [np.zeros_like(a) for a in kernel(given)]

    def run(call: Callable[..., Any], n: int, change: Callable[[Any], Any], form: Any) -> Any:
        out = [a.copy() for a in fresh]
        out[n] = change(out[n])
        found = result(lambda: call(given, {}, form(out)))
        return found, [np.array(a).tobytes() for a in out if a is not None]

    for form in (tuple, list, lambda out: dict(zip(("y", "z"), out, strict=True)), lambda out: out[:1]):
        for n in (0, 1):
            for change in LOOKS.values():
                kernel(given)
                assert run(kernel, n, change, form) == run(kernel.anew, n, change, form)


def test_out_that_shares_memory() -> None:
    """All ways in which an output can lie over an input or another output, and beside it."""
    f = "x: f64[4]; y[i: 4] = 2*x[3 - i]; z[i: 2] = x[2*i]"
    kernel = kernel_of(f)
    kernel([np.zeros(4)])
    for at in range(9):
        for beside in range(9):
            found: list[Any] = []
            for call in (kernel, kernel.anew):
                memory = np.arange(16.0)
                x, y, z = memory[4:8], memory[at : at + 4], memory[beside : beside + 2]
                found.append((result(lambda c=call, x=x, y=y, z=z: c([x], {}, (y, z))), memory.tobytes()))
            assert found[0] == found[1]


def test_empty_arrays_share_nothing() -> None:
    kernel = kernel_of("x: f64[N]; y[i] = 2*x[i]")
    memory = np.zeros(4)
    kernel([memory[2:2]])
    assert kernel.again([memory[2:2]], {}, memory[2:2]) is not None


FITS: dict[str, Callable[[Any, Any], Any]] = {
    "tuple": lambda y, z: (y, z),
    "list": lambda y, z: [y, z],
    "dict": lambda y, z: {"z": z, "y": y},
    "none": lambda y, z: None,
}


@pytest.mark.parametrize("form", FITS)
@pytest.mark.parametrize("kind", ["f32", "f64"])
@pytest.mark.parametrize("a", [2.5, np.float64(2.5), np.array(2.5)])
def test_calls_that_fit_go_no_other_way(form: str, kind: str, a: Any) -> None:
    """Python checks nothing of them: this is what calls with `out=` owe their speed to."""
    kernel = kernel_of(TEXT.replace("TYPE", kind))
    dtype = np.dtype(np.float32 if kind == "f32" else np.float64)
    first = a if type(a) is float else a.astype(dtype)
    given = [first, *arguments(dtype.type)[1:]]
    y, z = kernel(given)
    for args, kwargs in ((given, {}), (given[:1], {"w": given[2], "x": read_only(given[1])})):
        found = kernel.again(args, kwargs, FITS[form](y, z))
        assert found is not None
        assert (found[0] is y) == (form != "none")


def test_sizes_by_name() -> None:
    """They go the direct way where they are those of the call before, and are checked where not."""
    kernel = kernel_of("size M; x: f64[N]; y[i: M] = i*sum{j} (x[j])")
    x = np.ones(3)
    kernel([x], {"M": 4})
    for names in ({"M": 4}, {"M": 4, "N": 3}):
        assert kernel.again([x], names) is not None
    assert len(kernel([x], {"M": 5})[0]) == 5
    wrong = ({}, {"M": 4.0}, {"M": True}, {"M": 4, "N": 4}, {"M": 4, "K": 1}, {"M": 4, "x": x}, {"N": 3})
    for names in wrong:
        kernel([x], {"M": 1})
        assert result(lambda names=names: kernel([x], names)) == result(
            lambda names=names: kernel.anew([x], names)
        )


@pytest.mark.parametrize("count", [7, 8, 23, 24, 120, 200])
def test_many_arguments(count: int) -> None:
    """As many as are passed in one way, and one more; more than any way passes."""
    names = [f"x{n}" for n in range(count)]
    kernel = kernel_of("; ".join([f"{name}: f64" for name in names]) + f"\ns = {' + '.join(names)}")
    values = np.random.default_rng(0).normal(size=count)
    for _ in range(3):
        np.testing.assert_allclose(kernel([*values])[0], values.sum(), rtol=1e-12)
    assert (kernel.again([*values], {}) is None) == (count > 127)


def test_temporaries_start_with_lines() -> None:
    """Many calls: the memory that they get begins anywhere."""
    f = tadc.function(
        "x: f64[N]\nlet m = sum{i} (exp(x[i]))\nlet t[i] = exp(x[i])/m\ny[i] = t[i] - sum{j} (t[j]**2)"
    )
    x = np.random.default_rng(0).normal(size=9)
    t = np.exp(x) / np.exp(x).sum()
    held: list[Any] = []
    for n in range(60):
        held.append(np.empty(8 * n + 1, np.uint8))
        np.testing.assert_allclose(f(x), t - (t**2).sum(), rtol=1e-12)


def test_references() -> None:
    """A call leaves none to its arguments, and none is lost."""
    f = tadc.function("x: f64[3]; y[i] = 2*x[i]")
    x, y = np.ones(3), np.zeros(3)
    f(x)
    before = [sys.getrefcount(o) for o in (x, y, 1.0, None)]
    for _ in range(1000):
        f(x, out=y)
        f(x)
    assert [sys.getrefcount(o) for o in (x, y, 1.0, None)][:2] == before[:2]


def test_another_thread_runs_meanwhile() -> None:
    """The interpreter lock is free while the code runs."""
    f = tadc.function("size N; s = sum{i: N, j: N} (sin(0.1*i*j))")
    f(N=10)
    kernel = on_host(f.compiled().kernel)
    ticks = 0
    done = threading.Event()

    def run() -> None:
        f(N=3001)
        assert kernel.again((), {"N": 3001}) is not None
        done.set()

    thread = threading.Thread(target=run)
    thread.start()
    while not done.wait(0.0005):
        ticks += 1
    thread.join()
    assert ticks > 3


def test_where_objects_are_not_laid_out_as_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(direct_calls, "LAYOUT_IS_KNOWN", False)
    kernel = kernel_of("x: f64[3]; y[i] = 2*x[i]")
    out = np.zeros(3)
    for _ in range(2):
        assert kernel([np.ones(3)], out=out)[0] is out
    assert kernel.again([np.ones(3)], {}) is None
    np.testing.assert_array_equal(out, 2)


def test_as_many_objects_in_other_places() -> None:
    """An array too few as argument and one too many in `out=` are no call like the one before."""
    f = tadc.compile(tadc.function("x: f64[4]; w: f64[4]; y[i] = x[i]*w[i]"))
    x, w, o = np.ones(4), np.full(4, 3.0), np.zeros(4)
    f(x, w)
    with pytest.raises(tadc.ArgumentError):
        f(x, out=(w, o))
    g = tadc.compile(tadc.function("x: f64[4]; y[i] = 2*x[i]; z[i] = 3*x[i]"))
    g(x)
    with pytest.raises(tadc.ArgumentError):
        g(x, w, out=[o])
    assert w.tolist() == [3.0] * 4
