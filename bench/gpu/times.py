"""Times of bundles and of the peers on a GPU, against what it can do."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import cache
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from bench.gpu import ceilings
from bench.gpu.cases import TOLERANCE, WORK, worst_error
from bench.gpu.machine import device_of, names_in, results_file
from bench.gpu.peers import Peer, UnavailableError, names_of, prepare
from bench.gpu.sizes import sizes_of
from bench.workloads import WORKLOADS
from bench.workloads.workload import Arrays, Workload
from tadc.backend.cuda.device import Device
from tadc.backend.cuda.device_arrays import DeviceArray, copied_in
from tadc.backend.runtime import load_bundle

#: Seconds that a contender is timed for, and the most measurements.
SECONDS, MEASUREMENTS = 0.7, 30
#: A measurement takes about so many seconds: short calls are queued one after another, to be timed together.
EACH, MOST_CALLS = 0.01, 200
ALL = {workload.name: workload for workload in WORKLOADS}


def bench(folder: Path, target: str, only: Sequence[str] | None, minutes: float, results: Path) -> int:
    """Check and time each workload, print a line for each, and leave a JSON; 1 where one is wrong."""
    end = time.monotonic() + 60 * minutes
    device, machine = device_of(target)
    paths = names_in(folder / "bench", WORK, only)
    emulated = target == "emulated"
    limits = ceilings.measure(device, 1 << 20, 2) if emulated else ceilings.measure(device)
    peaks = f"{limits.f32 / 1e12:.2f} TFLOP/s in f32, {limits.f64 / 1e12:.2f} in f64"
    print(f"{machine['device']}: {limits.bytes / 1e9:.0f} GB/s copied, {peaks}")
    print(f"{'workload':24}{'ms':>10}{'GB/s':>8}{'':>6}{'TFLOP/s':>9}{'':>6}  best peer")
    cells: list[dict[str, Any]] = []
    file = results_file(results, "bench", machine)
    # f32 first: if time runs out, it is f64 that lacks peers.
    for path in sorted(paths, key=lambda path: path.name.endswith("f64")):
        # The emulator's times mean nothing: one of each.
        cell = _measure(path, target, device, 0.0 if emulated else end, 0.0 if emulated else SECONDS)
        cells.append(cell)
        print(_line(cell, limits), flush=True)
        whole = {"machine": machine, "ceilings": asdict(limits), "cells": cells}
        file.write_text(json.dumps(whole, indent=1), encoding="utf-8")
    print(file)
    return 1 if any("tadc" in cell["skipped"] for cell in cells) else 0


def _measure(path: Path, target: str, device: Device, end: float, seconds: float) -> dict[str, Any]:
    work = json.loads((path / WORK).read_text(encoding="utf-8"))
    workload = ALL[work["workload"]]
    dtype = np.dtype({"f32": np.float32, "f64": np.float64}[work["dtype"]])
    given, expected = _task(workload.name, work["small"])
    inputs = [np.asarray(a, dtype) for a in given]
    cell: dict[str, Any] = {
        "workload": workload.name, "dtype": work["dtype"], "sizes": dict(sizes_of(workload, work["small"])),
        "operations": work["operations"],
        "bytes": dtype.itemsize * sum(a.size for a in (*workload.arguments(tuple(inputs)), *expected)),
        "seconds": {}, "errors": {}, "skipped": {},
    }  # fmt: skip
    f = load_bundle(path, target)
    arrays = [
        DeviceArray(copied_in(np.ascontiguousarray(a), device, 0), a.shape, a.dtype)
        for a in workload.arguments(tuple(inputs))
    ]
    _enter("tadc", cell, Peer(lambda: f(*arrays), np.asarray, 0), expected, device, seconds)
    for name in names_of(workload):
        if time.monotonic() > end:
            cell["skipped"][name] = "no time was left"
            continue
        _enter_peer(name, cell, workload, inputs, expected, device)
    return cell


@cache
def _task(name: str, small: bool) -> tuple[Arrays, list[np.ndarray]]:
    """Inputs of a workload and the results to expect, the same numbers for both types."""
    workload = ALL[name]
    given = workload.inputs(sizes_of(workload, small))
    return given, [np.asarray(a, np.float64) for a in workload.reference(given)]


def _enter_peer(
    name: str, cell: dict[str, Any], workload: Workload, inputs: list[np.ndarray],
    expected: list[np.ndarray], device: Device,
) -> None:  # fmt: skip
    try:
        peer = prepare(name, workload, inputs)
        _enter(name, cell, peer, expected, device, SECONDS)
    except UnavailableError as why:
        cell["skipped"][name] = str(why)
    except Exception as problem:  # of any library: the others are timed all the same
        cell["skipped"][name] = f"{type(problem).__name__}: {problem}"[:300]


def _enter(
    name: str, cell: dict[str, Any], peer: Peer, expected: list[np.ndarray], device: Device, seconds: float
) -> None:
    """Check a contender, then time it."""
    found = peer.call()
    results = [peer.numpy(a) for a in (found if isinstance(found, tuple | list) else (found,))]
    error = cell["errors"][name] = worst_error(results, expected)
    if not error <= TOLERANCE[4 if cell["dtype"] == "f32" else 8]:
        cell["skipped"][name] = f"is wrong by {error:.1e}"
        return
    del found, results
    with device.current() as driver:
        first, last = driver.event(), driver.event()

        def timed(count: int) -> float:
            """Seconds of a call, of so many: by events on the stream where it is known, else by the clock."""
            if peer.stream is not None:
                driver.record(first, peer.stream)
            begin = time.perf_counter()
            found: Any = None
            for _ in range(count):
                found = peer.call()
            if peer.stream is None:
                peer.wait(found)
                return (time.perf_counter() - begin) / count
            driver.record(last, peer.stream)
            return driver.elapsed(first, last) / 1e3 / count

        cell["seconds"][name] = _times(timed, seconds)


def _times(timed: Callable[[int], float], seconds: float) -> list[float]:
    """Seconds of calls, after some that are not counted."""
    timed(1)
    count = max(1, min(MOST_CALLS, round(EACH / max(timed(1), 1e-9))))
    begin = time.monotonic()
    times: list[float] = []
    while len(times) < 3 or (len(times) < MEASUREMENTS and time.monotonic() - begin < seconds):
        times.append(timed(count))
    return times


def _line(cell: dict[str, Any], limits: ceilings.Ceilings) -> str:
    name = f"{cell['workload']}, {cell['dtype']}"
    if "tadc" not in cell["seconds"]:
        return f"{name:24} {cell['skipped']['tadc']}"
    medians = {who: median(times) for who, times in cell["seconds"].items()}
    own = medians.pop("tadc")
    moved, done = cell["bytes"] / own, cell["operations"] / own
    peak = limits.f32 if cell["dtype"] == "f32" else limits.f64
    best = min(medians, key=lambda who: medians[who], default="")
    peer = f"{best} {1e3 * medians[best]:.3f} ms, ratio {medians[best] / own:.2f}" if best else ""
    return (
        f"{name:24}{1e3 * own:10.3f}{moved / 1e9:8.1f}{moved / limits.bytes:6.0%}"
        f"{done / 1e12:9.3f}{done / peak:6.0%}  {peer}"
    )
