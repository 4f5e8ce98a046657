"""Memory that is used again, and only once nothing refers to it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tadc
from tadc.backend.runtime.reused_memory import KEPT, SMALL, Blocks

SIZE = 2 * SMALL


def test_a_free_block_is_used_again() -> None:
    blocks = Blocks(8 * SIZE)
    address = blocks.take(SIZE).ctypes.data
    assert blocks.take(SIZE - SIZE // 8).ctypes.data == address
    assert len(blocks.blocks) == 1


def test_of_free_blocks_the_one_used_last_is_taken() -> None:
    """It is still in a cache."""
    blocks = Blocks(8 * SIZE)
    held = [blocks.take(SIZE) for _ in range(3)]
    last = held[1].ctypes.data
    del held[1]
    blocks.take(SIZE)
    del held
    assert blocks.take(SIZE).ctypes.data == last


@pytest.mark.parametrize(
    "held",
    [
        lambda block: block,
        lambda block: np.ndarray((3,), np.float32, block, 64),
        lambda block: np.ndarray((8,), np.float64, block, 64)[2:3],
        lambda block: memoryview(block),
        lambda block: np.frombuffer(block, np.float32),
        lambda block: block.ctypes,
    ],
    ids=["itself", "array", "view", "memoryview", "buffer", "ctypes"],
)
def test_a_block_in_use_is_not(held: Callable[[Any], Any]) -> None:
    blocks = Blocks(8 * SIZE)
    first = held(blocks.take(SIZE))
    address = blocks.blocks[0].ctypes.data
    assert blocks.take(SIZE).ctypes.data != address
    del first
    both = [blocks.take(SIZE) for _ in range(2)]
    assert address in [block.ctypes.data for block in both]


def test_sizes_that_do_not_fit_get_a_block_of_their_own() -> None:
    blocks = Blocks(64 * SIZE)
    sizes = [SIZE, 2 * SIZE, SIZE, SIZE // 2]
    assert [blocks.take(size).nbytes >= size for size in sizes] == [True] * 4
    assert sorted(block.nbytes for block in blocks.blocks) == [SIZE // 2, SIZE, 2 * SIZE]


def test_no_more_is_kept_than_the_limit() -> None:
    blocks = Blocks(4 * SIZE)
    held = [blocks.take(SIZE) for _ in range(9)]
    assert sum(block.nbytes for block in blocks.blocks) == 4 * SIZE
    assert len({block.ctypes.data for block in held}) == 9
    blocks.take(3 * SIZE)
    assert sum(block.nbytes for block in blocks.blocks) == 4 * SIZE
    blocks.forget()
    assert blocks.blocks == []


def test_a_limit_of_zero_keeps_nothing() -> None:
    blocks = Blocks(0)
    blocks.take(SIZE)
    assert blocks.blocks == []


def test_results_of_calls_stay_what_they_are() -> None:
    """Of three results, the second is dropped: the next call may write there, and nowhere else."""
    double = tadc.compile(tadc.function("x: f64[65536]\ny[i] = 2*x[i]"))
    x = np.arange(65536.0)
    results = [double(x + n) for n in range(3)]
    kept = results[0][5:9], results[2].reshape(256, 256)
    del results
    for n in range(5):
        assert np.array_equal(double(x - n), 2 * (x - n))
    assert np.array_equal(kept[0], 2 * x[5:9])
    assert np.array_equal(kept[1].ravel(), 2 * (x + 2))
    assert sum(block.nbytes for block in KEPT.blocks) <= KEPT.limit


def test_python_threads_get_memory_of_their_own() -> None:
    """Each thread fills its blocks with its number, and finds them so."""
    blocks = Blocks(32 * SIZE)
    wrong: list[int] = []

    def work(number: int) -> None:
        for _ in range(200):
            block = blocks.take(SIZE)[:64]
            block.fill(number)
            if (block != number).any():
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
