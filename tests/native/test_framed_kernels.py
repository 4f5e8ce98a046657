"""Kernels within functions that frameworks call: from disk, with memory that they share."""

from __future__ import annotations

import ctypes
import gc
import weakref
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import tadc
from tadc.api.execute import unit_of
from tadc.backend.cpu import scratch_memory
from tadc.backend.disk_cache import DiskCache
from tadc.backend.runtime import inspector
from tadc.backend.runtime.call_checks import INDEX, CallCheck
from tadc.backend.runtime.interface import Interface
from tadc.backend.runtime.workspace import ALIGNMENT
from tadc.compiler.compile_options import Options
from tadc.frontend.program import Program
from tadc.native import framed_kernels
from tadc.native.entry import Entry
from tadc.native.framed_kernels import framed_kernel

pytestmark = pytest.mark.as_shipped

Array = NDArray[Any]

take = ctypes.CFUNCTYPE(ctypes.c_size_t, ctypes.c_int64)(scratch_memory.addresses()[scratch_memory.TAKE])
give = ctypes.CFUNCTYPE(None, ctypes.c_size_t)(scratch_memory.addresses()[scratch_memory.GIVE])


def frame(interface: Interface, entry: Entry) -> tuple[str, str]:
    call = f'%done = call i64 @"{entry.symbol}"(ptr %data, ptr %dims)'
    return "framed", f"define i64 @framed(ptr %data, ptr %dims) {{\n  {call}\n  ret i64 %done\n}}\n"


def test_from_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(framed_kernels, "configured", lambda: DiskCache(str(tmp_path), 1 << 20))
    for _ in range(2):
        made = framed_kernel(tadc.function("x: f64[N]; y[i] = 7*x[i]"), "a framework", frame)
        x, y = (ctypes.c_double * 2)(1, 2), (ctypes.c_double * 2)()
        data = (ctypes.c_void_p * 2)(ctypes.addressof(x), ctypes.addressof(y))
        run = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p)(made.address)
        assert run(data, (ctypes.c_int64 * 1)(2)) == 0
        assert [*y] == [7, 14]
        assert made.interface.sizes == ("N",)
        monkeypatch.setattr(framed_kernels, "unit_of", None)  # nothing is compiled the second time


@pytest.mark.parametrize("size", [0, 1, 100, scratch_memory.LEAST, 3 << 20, scratch_memory.MOST + 1])
def test_blocks_are_apart_and_start_with_a_line(size: int) -> None:
    blocks = sorted(take(size) for _ in range(5))
    for one, other in zip(blocks, [*blocks[1:], blocks[-1] + size], strict=True):
        assert one % ALIGNMENT == 0
        assert one + size <= other
        ctypes.memset(one, 255, size)
    for block in blocks:
        give(block)


def test_a_block_is_kept() -> None:
    first = take(3 << 20)
    give(first)
    assert take(2 << 20) == first
    other = take(2 << 20)
    assert other != first
    give(first)
    give(other)
    assert take(1 << 20) == other
    give(other)


def test_no_memory() -> None:
    assert take(1 << 60) == 0


def test_threads_do_not_share_a_block() -> None:
    def work(number: int) -> bool:
        same = True
        for n in range(60):
            size = scratch_memory.LEAST + 4096 * (n % 7)
            block = take(size)
            ctypes.memset(block, number, size)
            same &= ctypes.string_at(block, size) == bytes([number]) * size
            give(block)
        return same

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, range(1, 9)))


SUMS = "dst: index[E] in N; x: f64[E]; u: f64[N]\ny[n: N] = u[n] + sum{e: dst[e] = n} (x[e])"


class Sums:
    """The kernel of `SUMS` in a frame, and what the inspector sorted for it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, f: tadc.Function | None = None) -> None:
        kind = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 2, *[ctypes.c_int64] * 2, *[ctypes.c_void_p] * 2)
        symbols, self.sorted = inspector.symbols(), 0
        sort = kind(symbols["tadc_sort"])

        def counting(*arguments: int) -> None:
            self.sorted += 1
            sort(*arguments)

        self.kept = kind(counting)
        address = ctypes.cast(self.kept, ctypes.c_void_p).value
        monkeypatch.setattr(inspector, "symbols", lambda: symbols | {"tadc_sort": address})
        made = framed_kernel(f or tadc.function(SUMS), "a framework", frame)
        self.made = made
        self.run = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p)(made.address)

    def __call__(self, dst: Array, x: Array, size: int) -> Array | int:
        """The sums, or a code; they are those of NumPy."""
        u, y = np.arange(size) / 7, np.full(size, np.nan)
        data = (ctypes.c_void_p * 4)(*(array.ctypes.data for array in (dst, x, u, y)))
        code = self.run(data, (ctypes.c_int64 * 3)(len(dst), len(x), size))
        if code:
            return code
        np.testing.assert_allclose(y, u + np.bincount(dst, x, size), rtol=1e-12)
        return y


def test_index_arrays_are_looked_at_when_they_change(monkeypatch: pytest.MonkeyPatch) -> None:
    sums, random = Sums(monkeypatch), np.random.default_rng(0)
    dst, x = random.integers(0, 9, 50, np.int32), random.normal(size=50)
    for array, size, count in ((dst, 9, 1), (dst, 9, 1), (dst.copy(), 9, 1), (dst, 10, 2), (dst[:40], 10, 3)):
        sums(array, x[: len(array)], size)
        assert sums.sorted == count
    dst[7] = (dst[7] + 1) % 9
    sums(dst[:40], x[:40], 10)
    dst[7] = 10
    for _ in range(2):
        assert sums(dst[:40], x[:40], 10) == sums.made.interface.number(CallCheck(INDEX, 0))
    assert sums.sorted == 4
    sums(np.zeros(0, np.int32), x[:0], 10)
    sums(np.zeros(0, np.int32), x[:0], 0)


def test_threads_call_with_index_arrays_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    sums, random = Sums(monkeypatch), np.random.default_rng(0)
    arrays = [random.integers(0, 9, 500 + 100 * (n % 2), np.int32) for n in range(4)]
    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(lambda n: sums(arrays[n % 4], np.ones(len(arrays[n % 4])), 9), range(100)):
            assert not isinstance(found, int)


def test_long_fibres_are_for_another_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is compiled at the first call with these; calls without run the first again."""
    cuts: list[bool] = []

    def unit(program: Program, options: Options) -> Any:
        cuts.append(options.long_fibres)
        return unit_of(program, options)

    monkeypatch.setattr(framed_kernels, "unit_of", unit)
    sums, x = Sums(monkeypatch), np.random.default_rng(0).normal(size=40_000)
    even, star = (np.arange(40_000) % 9).astype(np.int32), np.full(40_000, 3, np.int32)
    sums(even, x, 9)
    assert cuts == [False]
    found = sums(star, x, 9)
    assert cuts == [False, True]
    sums(even, x, 9)
    np.testing.assert_array_equal(sums(star, x, 9), found)
    assert cuts == [False, True]


def test_what_is_kept_is_freed(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the kernels, or when they are told to; the function itself is not kept."""
    addresses, dropped = scratch_memory.addresses(), list[int]()
    drop = ctypes.CFUNCTYPE(None, ctypes.c_size_t)(addresses[scratch_memory.DROP])

    def counting(block: int) -> None:
        dropped.append(block)
        drop(block)

    own = ctypes.CFUNCTYPE(None, ctypes.c_size_t)(counting)
    given = addresses | {scratch_memory.DROP: ctypes.cast(own, ctypes.c_void_p).value or 0}
    monkeypatch.setattr(scratch_memory, "addresses", lambda: given)
    f = tadc.function(SUMS)
    of = weakref.ref(f)
    sums, x, star = Sums(monkeypatch, f), np.ones(40_000), np.full(40_000, 3, np.int32)
    del f
    gc.collect()
    assert of() is None
    for _ in range(2):
        dropped.clear()
        sums(star, x, 9)
        sums.made.forget()
        assert sum(map(bool, dropped)) == 2  # that of the kernel which cuts long fibres too
    sums(star[:10], x[:10], 9)
    dropped.clear()
    del sums
    gc.collect()
    assert sum(map(bool, dropped)) == 1
