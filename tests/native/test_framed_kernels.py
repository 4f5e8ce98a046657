"""Kernels within functions that frameworks call: from disk, with memory that they share."""

from __future__ import annotations

import ctypes
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import tadc
from tadc.backend.disk_cache import DiskCache
from tadc.backend.runtime.interface import Interface
from tadc.backend.runtime.workspace import ALIGNMENT
from tadc.native import framed_kernels, scratch_memory
from tadc.native.entry import Entry
from tadc.native.framed_kernels import framed_kernel

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
