"""Functions of Dask arrays in other processes: the same bits, whatever happens to these."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import dask.array
import dask.config
import numpy as np
import pytest
from dask.base import compute

import tadc
from tadc.frontend.extents import shape_at
from tests.blocks.test_blocks import PRODUCT, SLIDING, SOFTMAX, several

distributed = pytest.importorskip("distributed")

pytestmark = pytest.mark.sweep

#: Dask's own types are of no use here.
da: Any = dask.array

#: Nothing takes longer, in seconds.
LIMIT = 120


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    """Two processes of one thread each."""
    with workers() as found:
        yield found


@pytest.fixture
def own_client() -> Iterator[Any]:
    """Two processes that no other test has."""
    with workers() as found:
        yield found


@contextmanager
def workers() -> Iterator[Any]:
    with dask.config.set({"distributed.scheduler.allowed-failures": 5}):
        cluster = distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
        )
        with cluster, distributed.Client(cluster, timeout=LIMIT) as client:
            client.wait_for_workers(2, timeout=LIMIT)
            yield client


def results(client: Any, arrays: Any) -> tuple[Any, ...]:
    """What workers compute, in so much time at most."""
    futures = client.compute(list(arrays) if isinstance(arrays, tuple) else [arrays])
    return tuple(future.result(timeout=LIMIT) for future in futures)


def drawn(*shape: int) -> Any:
    return np.random.default_rng(4).uniform(-1, 1, shape)


@pytest.mark.parametrize("text", [SLIDING, PRODUCT, SOFTMAX], ids=["sliding", "product", "softmax"])
def test_workers_have_the_bits_of_one_process(client: Any, text: str) -> None:
    f = tadc.value_and_vjp(tadc.function(text))
    sizes = {"N": 50, "K": 6, "M": 20}
    arrays = [drawn(*shape_at(a.shape, sizes)) for a in f.program.arguments]
    found = results(client, f.dask(*(da.from_array(a, chunks=8) for a in arrays), chunks={"i": 7}))
    for one, other in zip(several(f.block(i=7)(*arrays)), found, strict=True):
        np.testing.assert_array_equal(other, one)


def test_processes_of_the_machine() -> None:
    f = tadc.function(SLIDING)
    x = drawn(60)
    y = f.dask(da.from_array(x, chunks=20), [1, 2, 3])
    (found,) = compute(y, scheduler="processes", num_workers=2)
    np.testing.assert_array_equal(found, f(x, [1, 2, 3]))


def test_errors_of_other_processes_are_diagnostics(client: Any) -> None:
    f = tadc.function("x: f64[N]; at: index[E] in N; y[e: E] = x[at[e]]")
    y = f.dask(da.ones(9, chunks=3), da.from_array(np.array([1, 2, 30]), chunks=2))
    with pytest.raises(tadc.ArgumentError, match="TAD0511") as caught:
        results(client, y)
    assert [d.code for d in caught.value.diagnostics] == ["TAD0511"]
    with pytest.raises(tadc.ArgumentError, match="TAD0511"):
        compute(y, scheduler="processes", num_workers=1)


def test_more_workers_than_blocks(client: Any) -> None:
    f = tadc.function(SLIDING)
    x = drawn(50)
    (found,) = results(client, f.dask(da.from_array(x, chunks=-1), [1, 2, 3], chunks={"i": 48}))
    np.testing.assert_array_equal(found, f(x, [1, 2, 3]))


def _other_version() -> None:
    from tadc.apps.blocks import block_tasks

    block_tasks.VERSION = "0.0.9"


def _this_version() -> None:
    from tadc.apps.blocks import block_tasks
    from tadc.frontend.packages import VERSION

    block_tasks.VERSION = VERSION


def test_a_worker_of_another_version(client: Any) -> None:
    client.run(_other_version)
    try:
        y = tadc.function(SLIDING).dask(da.ones(50, chunks=10), [1, 2, 3])
        with pytest.raises(tadc.CompileError, match=r"0\.0\.9") as caught:
            results(client, y)
        assert f"tadc {tadc.__version__}" in str(caught.value)
    finally:
        client.run(_this_version)


def _slowly(chunk: Any, path: str) -> Any:
    """A chunk that takes its time, and says so."""
    with Path(path).open("a") as file:
        file.write("x")
    time.sleep(0.1)
    return chunk


def test_a_worker_that_is_killed(own_client: Any, tmp_path: Path) -> None:
    """In the middle: what it had is computed again, and has the same bits."""
    f = tadc.vjp(tadc.function(SLIDING))
    x, dy = drawn(400), drawn(398)
    seen = tmp_path / "seen"
    seen.touch()
    slow = da.from_array(x, chunks=10).map_blocks(_slowly, str(seen), dtype=x.dtype)
    w = np.array([1.0, 2.0, 3.0])
    client = own_client
    futures = client.compute(list(f.dask(slow, w, dy, chunks={"i": 10})))
    end = time.monotonic() + LIMIT
    while len(seen.read_text()) < 15 and time.monotonic() < end:
        time.sleep(0.01)
    assert 15 <= len(seen.read_text()) < 40
    os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)
    found = [future.result(timeout=LIMIT) for future in futures]
    for one, other in zip(several(f.block(i=10)(x, w, dy)), found, strict=True):
        np.testing.assert_array_equal(other, one)
    assert len(seen.read_text()) > 40


def test_a_scheduler_that_is_killed(tmp_path: Path) -> None:
    """Who waits for results is told at once, and the worker ends."""
    file = tmp_path / "scheduler"
    words = ["--scheduler-file", str(file), "--no-dashboard"]
    own = ["--nthreads", "1", "--no-nanny", "--death-timeout", str(LIMIT)]
    commands = [("scheduler", "--port", "0", *words), ("worker", *own, *words)]
    started = [
        subprocess.Popen(
            [sys.executable, "-m", f"distributed.cli.dask_{name}", *more], stderr=subprocess.DEVNULL
        )
        for name, *more in commands
    ]
    scheduler, worker = started
    seen = tmp_path / "seen"
    seen.touch()
    try:
        end = time.monotonic() + LIMIT
        while not file.exists() and time.monotonic() < end:
            time.sleep(0.1)
        with distributed.Client(scheduler_file=str(file), timeout=LIMIT) as client:
            client.wait_for_workers(1, timeout=LIMIT)
            slow = da.ones(400, chunks=10).map_blocks(_slowly, str(seen), dtype=np.float64)
            future = client.compute(tadc.function(SLIDING).dask(slow, [1.0, 2.0, 3.0]))
            while not seen.read_text() and time.monotonic() < end:
                time.sleep(0.01)
            scheduler.kill()
            with pytest.raises(CancelledError, match="scheduler"):
                future.result(timeout=LIMIT)
        assert worker.wait(timeout=LIMIT) == 0
    finally:
        for process in started:
            process.kill()
            process.wait()


def _memory() -> int:
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10


def test_the_memory_of_a_worker_is_that_of_blocks(own_client: Any) -> None:
    """Of an array of 1 GB in blocks of 8 MB, of which a sum is taken, workers have a part."""
    f = tadc.function(
        "x: f64[N]; y[i: N - 2] = x[i + 2] - 2*x[i + 1] + x[i]; let z[i: N - 2] = y[i]**2; s = sum{i} (z[i])"
    )
    warm = da.ones(1 << 20, chunks=1 << 17)
    results(own_client, f.dask(warm).s)
    before = max(own_client.run(_memory).values())
    x = da.arange(1 << 27, chunks=1 << 20, dtype="f8")
    (found,) = results(own_client, f.dask(x).s)
    assert found == 0
    assert max(own_client.run(_memory).values()) - before < 300 << 20
