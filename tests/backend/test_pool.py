"""The pool of threads: ranges, helpers, callers at the same moment, forks; also as other systems have it."""

from __future__ import annotations

import ctypes
import os
import platform
import re
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from functools import cache

import numpy as np
import pytest

import tadc
from tadc.backend.cpu import thread_pool as pool
from tadc.backend.cpu.jit import load
from tadc.backend.cpu.kept_code import own_code
from tadc.backend.cpu.linking import Library
from tadc.backend.cpu.processors import Processor
from tadc.backend.object_code import object_code

pytestmark = pytest.mark.skipif(not pool.is_supported(), reason="one thread on this system")

Body = Callable[[int, int], None]
BODY = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
LARGE = 1 << 40
"""Operations of a map that is worth any number of threads."""

PATIENCE = 30.0
"""Seconds until a thread that does not come is given up."""


@pytest.fixture(autouse=True)
def threads_as_before() -> Iterator[None]:
    """Other tests see the number of threads that they would see without these."""
    before = tadc.get_num_threads()
    yield
    tadc.set_num_threads(before)


@cache
def pool_of(system: str) -> Library:
    """A pool as that system has it; its text differs from that of the process, which others may use."""
    text = pool.pool_text(system).replace(
        "@set_mask = internal constant i32 3", f"@set_mask = internal constant i32 {signal.SIG_SETMASK:d}"
    )
    return pool.start(f"{text}; of tests\n")


@pytest.fixture(params=[name for name in pool.SYSTEMS if name in (sys.platform, "darwin")])
def system(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Calls go to a pool that sleeps as on this system: what macOS has, every system has that is tested."""
    monkeypatch.setattr(pool, "_pool", pool_of(request.param))
    return request.param


on_each_system = pytest.mark.usefixtures("system")


def parallel(
    body: Body, elements: int, multiple: int = 1, operations: int = LARGE, address: int | None = None
) -> None:
    """`tadc_parallel` of this process, or of the pool at `address`; raises what a body raises."""
    function = ctypes.CFUNCTYPE(None, BODY, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)(
        pool.address_of_pool() if address is None else address
    )
    raised: list[BaseException] = []

    def call(_: object, begin: int, end: int) -> None:
        try:
            body(begin, end)
        except BaseException as error:
            raised.append(error)

    function(BODY(call), None, elements, multiple, operations)
    if raised:
        raise raised[0]


def ranges(elements: int, multiple: int = 1, operations: int = LARGE) -> list[tuple[int, int]]:
    """The ranges that a body is called with, in order."""
    found: list[tuple[int, int]] = []
    parallel(lambda begin, end: found.append((begin, end)), elements, multiple, operations)
    return sorted(found)


@on_each_system
@pytest.mark.parametrize("threads", [1, 2, 3, 7])
@pytest.mark.parametrize("multiple", [1, 8, 64])
@pytest.mark.parametrize("elements", [1, 2, 63, 64, 65, 100, 1000, 4097])
def test_ranges_make_up_the_whole(threads: int, multiple: int, elements: int) -> None:
    tadc.set_num_threads(threads)
    found = ranges(elements, multiple)
    assert [begin for begin, _ in found] == [0, *(end for _, end in found[:-1])]
    assert found[-1][1] == elements
    assert all(begin < end for begin, end in found)
    if elements >= multiple:
        assert all(begin % multiple == 0 for begin, _ in found)
    assert (len(found) > 1) == (threads > 1 and elements > 1 and elements != multiple)
    steps = [-(-(end - begin) // multiple) for begin, end in found]
    assert elements < multiple or max(steps) - min(steps) <= 1


@on_each_system
@pytest.mark.parametrize("elements", [0, -3])
def test_no_elements(elements: int) -> None:
    """A loop over an empty range is the caller's business."""
    tadc.set_num_threads(2)
    assert ranges(elements) == [(0, elements)]


@on_each_system
@pytest.mark.parametrize("operations", [-LARGE, 0, 1000, 30_000])
def test_few_operations_stay_whole(operations: int) -> None:
    tadc.set_num_threads(2)
    assert ranges(1000, operations=operations) == [(0, 1000)]


def meeting(threads: int) -> set[int]:
    """Call the pool with bodies that wait for each other; the threads that came."""
    barrier = threading.Barrier(threads)
    came: set[int] = set()

    def body(begin: int, end: int) -> None:
        if threading.get_ident() not in came:
            came.add(threading.get_ident())
            barrier.wait(PATIENCE)

    parallel(body, 4 * threads)
    return came


@on_each_system
@pytest.mark.parametrize("threads", [2, 3, 5])
def test_threads_work_at_the_same_time(threads: int) -> None:
    tadc.set_num_threads(threads)
    for _ in range(5):
        came = meeting(threads)
        assert len(came) == threads
        assert threading.get_ident() in came


@on_each_system
def test_no_more_threads_than_asked_for() -> None:
    """Helpers that were started for an earlier call stay away."""
    tadc.set_num_threads(4)
    meeting(4)
    tadc.set_num_threads(2)
    came: set[int] = set()
    gate = threading.Event()

    def body(begin: int, end: int) -> None:
        came.add(threading.get_ident())
        gate.wait(0.05)

    parallel(body, 1000)
    assert len(came) <= 2
    tadc.set_num_threads(1)
    assert ranges(1000) == [(0, 1000)]


@on_each_system
def test_a_second_caller_does_not_wait() -> None:
    """It runs alone, on its own thread, while the first one is still at work."""
    tadc.set_num_threads(2)
    inside, leave = threading.Event(), threading.Event()

    def first(begin: int, end: int) -> None:
        inside.set()
        assert leave.wait(PATIENCE)

    caller = threading.Thread(target=parallel, args=(first, 100))
    caller.start()
    try:
        assert inside.wait(PATIENCE)
        came: list[tuple[int, int, int]] = []
        parallel(lambda begin, end: came.append((begin, end, threading.get_ident())), 100)
        assert came == [(0, 100, threading.get_ident())]
    finally:
        leave.set()
        caller.join()
    assert len(meeting(2)) == 2


@on_each_system
def test_the_child_of_a_fork_starts_helpers_of_its_own() -> None:
    tadc.set_num_threads(3)
    meeting(3)
    child = os.fork()
    if child == 0:
        os._exit(0 if len(meeting(3)) == 3 and len(meeting(3)) == 3 else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert len(meeting(3)) == 3


@on_each_system
def test_helpers_that_sleep_are_woken() -> None:
    """They sleep after some 100 microseconds; a wake that is lost would end in `PATIENCE`."""
    tadc.set_num_threads(3)
    for n in range(300):
        time.sleep(n % 4 * 1e-4)
        assert len(meeting(3)) == 3


@on_each_system
def test_a_call_within_a_body_runs_alone() -> None:
    tadc.set_num_threads(2)
    found: list[list[tuple[int, int]]] = []
    parallel(lambda begin, end: found.append(ranges(50)), 2)
    assert found == [[(0, 50)]] * 2


@cache
def control_word() -> tuple[Callable[[], int], Callable[[int], None]]:
    """How this thread rounds and treats denormals: the word of its processor, and how to change it."""
    code = own_code(pool.MACHINES[platform.machine()])
    library = load(
        object_code(
            f"""{code}
define i64 @get() {{
  %word = call i64 @rounding_here()
  ret i64 %word
}}
define void @set(i64 %word) {{
  call void @round_here(i64 %word)
  ret void
}}
"""
        ),
        ["get", "set"],
    )
    get, put = (
        ctypes.CFUNCTYPE(ctypes.c_int64)(library["get"]),
        ctypes.CFUNCTYPE(None, ctypes.c_int64)(library["set"]),
    )

    def write(word: int) -> None:
        assert library
        put(word)

    return get, write


@on_each_system
def test_helpers_compute_as_the_caller_does() -> None:
    """Denormals are zero for all threads of a call, or for none."""
    get, put = control_word()
    tadc.set_num_threads(2)
    before = get()
    flush = 0x8040 if platform.machine() == "x86_64" else 1 << 24
    for word in (before | flush, before):
        words: dict[int, int] = {}
        meet = threading.Barrier(2)

        def body(begin: int, end: int, words: dict[int, int] = words, meet: threading.Barrier = meet) -> None:
            if threading.get_ident() not in words:
                words[threading.get_ident()] = get() & flush
                meet.wait(PATIENCE)

        put(word)
        try:
            parallel(body, 8)
        finally:
            put(before)
        assert list(words.values()) == [word & flush] * 2


@cache
def small_pool() -> int:
    """The address of a pool with one helper: another text than that of the process, which has many."""
    return pool.start(f"{pool.pool_text()}; with one helper\n")[pool.PARALLEL]


on_linux = pytest.mark.skipif(sys.platform != "linux", reason="the system chooses processors")


def affinity_of_helper(then: set[int] | None = None) -> set[int]:
    """The processors that the one helper may use when a call begins; `then` is what it may use afterwards."""
    tadc.set_num_threads(2)
    caller = threading.get_ident()
    meet = threading.Barrier(2)
    found: list[set[int]] = []
    came: set[int] = set()

    def body(begin: int, end: int) -> None:
        if threading.get_ident() in came:
            return
        came.add(threading.get_ident())
        if threading.get_ident() != caller:
            found.append(os.sched_getaffinity(0))
            if then is not None:
                os.sched_setaffinity(0, then)
        meet.wait(PATIENCE)

    parallel(body, 8, address=small_pool())
    return found[0]


@on_linux
def test_a_helper_leaves_the_processor_of_its_caller() -> None:
    """It may be woken there, though another one rests: virtual machines with Linux do it."""
    processors = os.sched_getaffinity(0)
    if len(processors) < 2:
        pytest.skip("this process has one processor")
    crowded = {min(processors)}
    try:
        for _ in range(100):  # the scheduler may move the caller first
            os.sched_setaffinity(0, crowded)
            affinity_of_helper(then=crowded)
            os.sched_setaffinity(0, processors)
            if affinity_of_helper() == processors - crowded:
                break
        else:
            pytest.fail("it stays where its caller is")
    finally:
        os.sched_setaffinity(0, processors)
        affinity_of_helper(then=processors)


@on_linux
def test_a_helper_stays_where_there_is_no_other_processor() -> None:
    processors = os.sched_getaffinity(0)
    one = {max(processors)}
    try:
        os.sched_setaffinity(0, one)
        affinity_of_helper(then=one)
        assert affinity_of_helper() == one
    finally:
        os.sched_setaffinity(0, processors)
        affinity_of_helper(then=processors)


def test_without_a_pool_a_kernel_runs_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a system that the pool is not written for."""
    monkeypatch.setattr(pool, "_pool", None)
    monkeypatch.setattr(pool, "is_supported", lambda: False)
    f = tadc.function("x: f64[N]; f[i] = 2*x[i]")
    x = np.arange(100_000.0)
    np.testing.assert_array_equal(f(x), 2 * x)
    tadc.set_num_threads(2)
    assert ranges(1000) == [(0, 1000)]


@pytest.mark.parametrize("triple", ["arm64-apple-macosx12.0.0", "x86_64-apple-macosx12.0.0"])
def test_the_pool_of_macos_is_assembled(triple: str) -> None:
    machine = triple.split("-")[0]
    code = object_code(pool.pool_text("darwin", machine), 0, Processor(triple, "", {}, (16, 32)))
    assert code[:4] == b"\xcf\xfa\xed\xfe"  # MH_MAGIC_64
    threads = "create detach key_create setspecific getspecific sigmask"
    threads += " mutex_init mutex_lock mutex_unlock cond_init cond_wait cond_broadcast"
    names = {*(f"pthread_{name}" for name in threads.split()), "sched_yield"}
    assert {name.decode() for name in re.findall(rb"_((?:pthread|sched)_\w+)", code)} == names
