"""Functions for C, called from here: values, gradients, sizes, scratch, threads, what objects ask for."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tadc
from tadc.backend.cpu import elf
from tadc.backend.cpu.jit import load
from tadc.backend.cpu.thread_pool import is_supported
from tadc.compiler.compile_options import Options
from tadc.native.statuses import BAD_SIZE, NO_SCRATCH, OK
from tadc.native.unit import NativeUnit, derivatives_of, native_unit
from tests.guards.pages import Fenced

EXAMPLES = Path(__file__).parents[2] / "examples"
LIBC = {"memset", "memcpy", "memmove", "bzero"}
POOL = {"gettid", "sched_getaffinity", "sched_setaffinity", "sched_getcpu", "sched_yield", "syscall"} | {
    f"pthread_{name}"
    for name in ("atfork", "create", "detach", "getspecific", "key_create", "setspecific", "sigmask")
}
MATRICES = """a: f64[N, K]
b: f64[K, M]
c[i, j] = tanh(sum{k} (a[i, k] * b[k, j]))
s[i] = max{j} (c[i, j])
"""
TABLES = "x: f32[40]\nlet c[k: 40, n: 40] = cos(0.1 * k * n)\ny[k] = sum{n} (c[k, n] * x[n])"
STEPS = "a: f64[N, M]\nscan{i} f[i, j] = tanh(a[i, j]) + if {i > 0} then (0.5 * f[i - 1, j]) else (0)"


def unit_of(f: tadc.Function, threads: str = "none", **how: Any) -> NativeUnit:
    """A function, its gradients, and both."""
    return native_unit(f, derivatives_of(f, f.inputs, values=True), Options(**how), "k", threads)


#: Code that threads of its own run, which go on until the process ends.
KEPT: list[Any] = []


class Library:
    """A unit in this process."""

    def __init__(self, unit: NativeUnit, externals: Mapping[str, int] | None = None) -> None:
        self.unit = unit
        self.code = load(unit.object(), unit.symbols, externals)
        if unit.threads == "pool":
            KEPT.append(self.code)
        self.parts = {part.name: part.interface for part in unit.parts}

    def function(self, name: str, result: Any) -> Any:
        return ctypes.CFUNCTYPE(result)(self.code[name])

    def scratch(self, name: str, *sizes: int) -> int:
        return self.function(f"{name}_scratch", ctypes.c_int64)(*map(ctypes.c_int64, sizes))

    def status(self, name: str, pointers: Sequence[int], *sizes: int) -> int:
        given = [*map(ctypes.c_void_p, pointers), *map(ctypes.c_int64, sizes)]
        return self.function(name, ctypes.c_int)(*given)

    def call(self, name: str, arrays: Mapping[str, Any], sizes: Mapping[str, int], at_end: bool) -> list[Any]:
        """The outputs, all memory between pages that cannot be accessed."""
        interface = self.parts[name]
        tensors = [Fenced(p.at(sizes), at_end=at_end) for p in (*interface.inputs, *interface.outputs)]
        for fenced, parameter in zip(tensors, interface.inputs, strict=False):
            fenced.array[...] = arrays[parameter.name]
        numbers = [sizes[n] for n in interface.sizes]
        room = self.scratch(name, *numbers)
        block = Fenced(tadc.backend.runtime.parameters.Parameter("b", "f64", (room // 8,)), at_end=at_end)
        assert self.status(name, [*(t.address for t in tensors), block.address], *numbers) == OK.number
        assert all(fenced.is_alone() for fenced in tensors)
        if room:
            assert self.status(name, [*(t.address for t in tensors), 0], *numbers) == NO_SCRATCH.number
        return [fenced.array for fenced in tensors[len(interface.inputs) :]]


def check(f: tadc.Function, sizes: Mapping[str, int], rtol: float = 1e-12) -> None:
    """The functions of a unit give what calls from Python give; these are tested against JAX elsewhere."""
    library = Library(unit_of(f))
    rng = np.random.default_rng(0)
    for name, g in {"k": f, "k_vjp": tadc.vjp(f), "k_value_and_vjp": tadc.value_and_vjp(f)}.items():
        arrays = {
            a.name: rng.uniform(0.1, 1, [n if isinstance(n, int) else n.evaluate(sizes) for n in a.shape])
            for a in g.program.arguments
        }
        arrays = {a.name: arrays[a.name].astype(f"f{a.type[1:]}".replace("f32", "f4").replace("f64", "f8"))
                  for a in g.program.arguments}  # fmt: skip
        wanted = g(**arrays)
        wanted = wanted if isinstance(wanted, tuple) else [wanted]
        for at_end in (False, True):
            for one, other in zip(library.call(name, arrays, sizes, at_end), wanted, strict=True):
                np.testing.assert_allclose(one, other, rtol=rtol, atol=1e-12 if rtol < 1e-9 else 1e-5)


@pytest.mark.parametrize(
    ("source", "sizes"),
    [
        ((EXAMPLES / "stencil.tad").read_text(), {"N": 7, "M": 5}),
        (MATRICES, {"N": 3, "K": 17, "M": 9}),
        ((EXAMPLES / "paper.tad").read_text(), {}),
        (MATRICES, {"N": 0, "K": 4, "M": 9}),
    ],
    ids=["stencil", "matrices", "paper", "empty"],
)
def test_units_give_what_python_gives(source: str, sizes: dict[str, int]) -> None:
    check(tadc.function(source), sizes)


def test_tables_that_are_kept() -> None:
    """The first call computes them, whichever it is; several at once are right too."""
    f = tadc.function(TABLES)
    check(f, {}, 1e-4)
    library = Library(unit_of(f))
    k = np.arange(40)
    x = np.linspace(0, 1, 40, dtype=np.float32)

    def called(_: int) -> Any:
        return library.call("k", {"x": x}, {}, True)[0]

    with ThreadPoolExecutor(8) as threads:
        for y in threads.map(called, range(32)):
            np.testing.assert_allclose(y, np.cos(0.1 * np.outer(k, k)) @ x, rtol=1e-4, atol=1e-4)


def test_several_threads_at_once() -> None:
    f = tadc.function(MATRICES)
    library = Library(unit_of(f))
    rng = np.random.default_rng(1)
    sizes = {"N": 20, "K": 30, "M": 40}
    cases = [{"a": rng.normal(size=(20, 30)), "b": rng.normal(size=(30, 40))} for _ in range(40)]
    with ThreadPoolExecutor(8) as threads:
        for case, found in zip(
            cases, threads.map(lambda c: library.call("k", c, sizes, False), cases), strict=True
        ):
            c = np.tanh(case["a"] @ case["b"])
            np.testing.assert_allclose(found[0], c, rtol=1e-12)
            np.testing.assert_allclose(found[1], c.max(1), rtol=1e-12)


def test_sizes_that_are_refused() -> None:
    library = Library(
        unit_of(tadc.function("x: f64[N]; w: f64[K]; y[i: N - K + 1] = sum{k} (w[k] * x[i + k])"))
    )
    for sizes in [(-1, 0), (3, 5), (0, -(2**62)), (2**62, 1), (2**63 - 1, 2**63 - 1)]:
        assert library.scratch("k", *sizes) == -1
        # Pointers to nothing: they are not followed.
        assert library.status("k", [8] * 4, *sizes) == BAD_SIZE.number
        assert library.status("k_vjp", [8] * 6, *sizes) == BAD_SIZE.number


def test_scratch_that_no_machine_has() -> None:
    """Bytes that would not fit in a number are none that wrap around."""
    f = tadc.function("x: f64[N]; let a[i: N, j: N] = exp(x[i] * x[j]); "
                      "s[i] = sum{j} (a[i, j]) / sum{j} (a[j, i])", materialize="always")  # fmt: skip
    library = Library(native_unit(f, [], Options(), "k"))
    assert library.scratch("k", 100) >= 8 * 100**2
    assert library.scratch("k", 2**39) == -1
    assert library.scratch("k", 2**32) == -1
    assert library.status("k", [8, 8, 8], 2**32) == BAD_SIZE.number


def undefined(code: bytes, symbols: Sequence[str]) -> set[str]:
    """What an object asks of others."""
    asked: set[str] = set()

    def resolve(name: str) -> int:
        asked.add(name)
        return 0

    elf.place(code, symbols, resolve)
    return asked


@pytest.mark.skipif(not is_supported(), reason="the reader of objects is of Linux on x86-64")
@pytest.mark.parametrize("source", [MATRICES, STEPS, TABLES], ids=["matrices", "steps", "tables"])
@pytest.mark.parametrize("threads", ["none", "host", "pool"])
def test_objects_ask_for_nothing_but_libc(threads: str, source: str) -> None:
    unit = unit_of(tadc.function(source), threads)
    asked = undefined(unit.object(), unit.symbols)
    allowed = {"none": LIBC, "host": LIBC | {"tadc_parallel", "sched_yield"}, "pool": LIBC | POOL}[threads]
    assert asked <= allowed
    if threads == "pool":
        # Where no loop is worth threads, nothing calls the pool, and a library is without.
        by_host = unit_of(tadc.function(source), "host")
        assert ("pthread_create" in asked) == (
            "tadc_parallel" in undefined(by_host.object(), by_host.symbols)
        )


LARGE = "a: f64[N, N]; y[i] = sum{j} (exp(a[i, j]))"


def test_threads_of_the_host() -> None:
    f = tadc.function(LARGE)
    seen: list[tuple[int, int]] = []
    body_of = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
    kind = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, *[ctypes.c_int64] * 3)

    def parallel(body: int, args: int, elements: int, multiple: int, operations: int) -> None:
        """Halves, on two threads."""
        half = elements // 2 // multiple * multiple
        ranges = [(0, half), (half, elements)]
        seen.extend(ranges)
        running = [threading.Thread(target=body_of(body), args=(args, *each)) for each in ranges]
        for thread in running:
            thread.start()
        for thread in running:
            thread.join()

    host = kind(parallel)
    address = ctypes.cast(host, ctypes.c_void_p).value
    assert address is not None
    library = Library(unit_of(f, "host"), {"tadc_parallel": address})
    a = np.random.default_rng(0).normal(size=(64, 64))
    (y,) = library.call("k", {"a": a}, {"N": 64}, True)
    np.testing.assert_allclose(y, np.exp(a).sum(1), rtol=1e-13)
    assert len(seen) >= 2


@pytest.mark.skipif(not is_supported(), reason="there is no pool for this system")
def test_threads_of_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    """As many as are asked for, but no more than a limit, and none before."""
    monkeypatch.setattr("tadc.native.unit.MOST", 4)
    # This one is in a part of libc that linkers add to each program.
    after_fork = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_void_p] * 3)(lambda *functions: 0)
    address = ctypes.cast(after_fork, ctypes.c_void_p).value
    assert address is not None
    library = Library(
        native_unit(tadc.function(LARGE), [], Options(), "k", "pool"), {"pthread_atfork": address}
    )
    a = np.random.default_rng(0).normal(size=(1000, 1000))

    def count() -> int:
        return len(list(Path("/proc/self/task").iterdir()))

    before = count()
    for threads, started in ((None, 0), (0, 0), (-3, 0), (1, 0), (3, 2), (3, 2), (2**63 - 1, 3)):
        if threads is not None:
            library.function("k_threads", None)(ctypes.c_int64(threads))
        (y,) = library.call("k", {"a": a}, {"N": 1000}, False)
        np.testing.assert_allclose(y, np.exp(a).sum(1), rtol=1e-13)
        assert count() - before == started
