"""Phases by several threads: each part once, no phase before the one before it is done, whoever comes."""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Callable, Iterator
from functools import cache

import pytest

import tadc
from tadc.backend.cpu import thread_pool as pool
from tadc.backend.cpu.jit import load
from tadc.backend.cpu.linking import Library
from tadc.backend.cpu.processors import host
from tadc.backend.object_code import object_code
from tadc.backend.splitting import PARALLEL, turns_text

pytestmark = pytest.mark.skipif(not pool.is_supported(), reason="one thread on this system")

BODY = ctypes.CFUNCTYPE(None, ctypes.c_void_p, *[ctypes.c_int64] * 4)
PARALLEL_TYPE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, *[ctypes.c_int64] * 3)
RANGE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
LARGE = 1 << 40
"""Operations of which any number of parts are worth it."""

Part = tuple[int, int, int, int]
Turns = Callable[[Callable[[int, int, int, int], None], int, int], None]


@pytest.fixture(autouse=True)
def threads_as_before() -> Iterator[None]:
    before = tadc.get_num_threads()
    yield
    tadc.set_num_threads(before)


@cache
def _library(address: int) -> Library:
    text = f"""
define void @go(ptr %body, ptr %args, i64 %phases, i64 %most, i64 %operations) {{
  call void @tadc_turns(ptr %body, ptr %args, i64 %phases, i64 %most, i64 %operations)
  ret void
}}
declare void @{PARALLEL}(ptr, ptr, i64, i64, i64)
{turns_text(host().pause)}"""
    return load(object_code(text), ["go"], {PARALLEL: address} if address else {})


def turns(
    body: Callable[[int, int, int, int], None], phases: int, operations: int, address: int = 0, most: int = 64
) -> None:
    """Run a body over phases, by the pool of this process or one at `address`; raises what a body raises."""
    go = ctypes.CFUNCTYPE(None, BODY, ctypes.c_void_p, *[ctypes.c_int64] * 3)(_library(address)["go"])
    raised: list[BaseException] = []

    def call(_: object, *part: int) -> None:
        try:
            body(*part)
        except BaseException as error:
            raised.append(error)

    go(BODY(call), None, phases, most, operations)
    if raised:
        raise raised[0]


def in_order(phases: int, operations: int = LARGE, address: int = 0, wait: float = 0) -> list[Part]:
    """The parts that a body is called for; it is tested that those of a phase wait for the last one."""
    lock, found = threading.Lock(), list[Part]()
    open_phases, finished = list[int](), dict[int, int]()

    def body(first: int, last: int, part: int, parts: int) -> None:
        with lock:
            assert all(phase == first for phase in open_phases)
            assert first == 0 or finished[first - 1] == parts
            open_phases.append(first)
            found.append((first, last, part, parts))
        time.sleep(wait)
        with lock:
            open_phases.remove(first)
            finished[first] = finished.get(first, 0) + 1

    turns(body, phases, operations, address)
    return found


@pytest.mark.parametrize("threads", [2, 3, 7])
@pytest.mark.parametrize("phases", [1, 2, 50])
def test_each_part_once_and_phases_in_order(threads: int, phases: int) -> None:
    tadc.set_num_threads(threads)
    found = in_order(phases)
    parts = found[0][3]
    assert parts > 1
    wanted = [(phase, phase + 1, part, parts) for phase in range(phases) for part in range(parts)]
    assert sorted(found) == wanted


@pytest.mark.parametrize("operations", [-LARGE, 0, 100_000])
def test_few_operations_are_one_part(operations: int) -> None:
    """Of all phases at once: the steps of small ones are a loop inside."""
    tadc.set_num_threads(2)
    assert in_order(50, operations) == [(0, 50, 0, 1)]


@pytest.mark.parametrize("most", [0, 1, 2, 3])
def test_no_more_parts_than_there_may_be(most: int) -> None:
    tadc.set_num_threads(2)
    found: list[Part] = []
    turns(lambda *part: found.append(part), 5, LARGE, most=most)
    assert {parts for *_, parts in found} == {max(1, most)}


@pytest.mark.parametrize("phases", [0, -1])
def test_no_phases(phases: int) -> None:
    tadc.set_num_threads(2)
    assert all(last <= first for first, last, _, _ in in_order(phases))


def test_one_thread_runs_all_phases_at_once() -> None:
    tadc.set_num_threads(1)
    assert in_order(50) == [(0, 50, 0, 1)]


def test_several_threads_take_part() -> None:
    tadc.set_num_threads(2)
    came: set[int] = set()

    def body(first: int, last: int, part: int, parts: int) -> None:
        came.add(threading.get_ident())
        time.sleep(0.001)

    turns(body, 100, LARGE)
    assert len(came) == 2


def test_one_that_is_late_is_not_waited_for() -> None:
    """A thread that stops in a phase holds up that phase alone: others take its parts of the rest."""
    tadc.set_num_threads(2)
    caller, slept = threading.get_ident(), list[int]()
    by = dict[int, int]()

    def body(first: int, last: int, part: int, parts: int) -> None:
        by[threading.get_ident()] = by.get(threading.get_ident(), 0) + 1
        if threading.get_ident() != caller and not slept:
            slept.append(first)
            time.sleep(0.2)

    begin = time.perf_counter()
    turns(body, 2000, LARGE)
    assert time.perf_counter() - begin < 20
    assert by[caller] > 1


def test_many_more_threads_than_processors() -> None:
    """Those that wait give their processors to those that do not."""
    tadc.set_num_threads(16)
    begin = time.perf_counter()
    assert len(in_order(200)) == 200 * in_order(1)[0][3]
    assert time.perf_counter() - begin < 30


@pytest.mark.parametrize("size", [1, 7, 64, 100])
def test_a_pool_that_runs_ranges_one_after_the_other(size: int) -> None:
    """The first one does everything."""

    def parallel(body: int, args: int, elements: int, multiple: int, operations: int) -> None:
        for begin in range(0, elements, size):
            RANGE(body)(args, begin, min(begin + size, elements))

    call = PARALLEL_TYPE(parallel)
    address = ctypes.cast(call, ctypes.c_void_p).value
    assert address is not None
    found = in_order(5, address=address)
    if size >= 64:
        assert found == [(0, 5, 0, 1)]
    else:
        parts = 64 // size
        assert found == [(phase, phase + 1, part, parts) for phase in range(5) for part in range(parts)]
