"""Times of bundles and of the peers on a GPU, against what it can do."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from bench.gpu import ceilings
from bench.gpu.cases import TOLERANCE, WORK, worst_error
from bench.gpu.machine import device_of, names_in
from bench.gpu.peers import UnavailableError, names_of, prepare
from bench.workloads import WORKLOADS
from bench.workloads.workload import Workload
from tadc.backend.cuda.arrays import DeviceArray, copied_in
from tadc.backend.cuda.device import Device
from tadc.backend.runtime import load_bundle

#: Seconds and calls that a contender is timed for.
SECONDS, CALLS = 1.0, 30
ALL = {workload.name: workload for workload in WORKLOADS}


def bench(folder: Path, target: str, only: Sequence[str] | None, minutes: float) -> int:
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
    # f32 first: if time runs out, it is f64 that lacks peers.
    for path in sorted(paths, key=lambda path: path.name.endswith("f64")):
        cell = _measure(path, target, device, 0.0 if emulated else end)
        cells.append(cell)
        print(_line(cell, limits), flush=True)
        whole = {"machine": machine, "ceilings": asdict(limits), "cells": cells}
        (folder / "bench.json").write_text(json.dumps(whole, indent=1), encoding="utf-8")
    print(folder / "bench.json")
    return 1 if any("tadc" in cell["skipped"] for cell in cells) else 0


def _measure(path: Path, target: str, device: Device, end: float) -> dict[str, Any]:
    work = json.loads((path / WORK).read_text(encoding="utf-8"))
    workload = ALL[work["workload"]]
    dtype = np.dtype({"f32": np.float32, "f64": np.float64}[work["dtype"]])
    given = workload.inputs(workload.small if work["small"] else workload.sizes)
    expected = [np.asarray(a, np.float64) for a in workload.reference(given)]
    inputs = [np.asarray(a, dtype) for a in given]
    cell: dict[str, Any] = {
        "workload": workload.name, "dtype": work["dtype"], "operations": work["operations"],
        "bytes": dtype.itemsize * sum(a.size for a in (*workload.arguments(tuple(inputs)), *expected)),
        "seconds": {}, "errors": {}, "skipped": {},
    }  # fmt: skip
    f = load_bundle(path, target)
    arrays = [
        DeviceArray(copied_in(np.ascontiguousarray(a), device, 0), a.shape, a.dtype)
        for a in workload.arguments(tuple(inputs))
    ]
    _enter("tadc", cell, lambda: f(*arrays), np.asarray, expected, device, 0)
    for name in names_of(workload):
        if time.monotonic() > end:
            cell["skipped"][name] = "no time was left"
            continue
        _enter_peer(name, cell, workload, inputs, expected, device)
    return cell


def _enter_peer(
    name: str, cell: dict[str, Any], workload: Workload, inputs: list[np.ndarray],
    expected: list[np.ndarray], device: Device,
) -> None:  # fmt: skip
    try:
        peer = prepare(name, workload, inputs)
        _enter(name, cell, peer.call, peer.numpy, expected, device, peer.stream)
    except UnavailableError as why:
        cell["skipped"][name] = str(why)
    except Exception as problem:  # of any library: the others are timed all the same
        cell["skipped"][name] = f"{type(problem).__name__}: {problem}"[:300]


def _enter(
    name: str, cell: dict[str, Any], call: Callable[[], Any], numpy: Callable[[Any], np.ndarray],
    expected: list[np.ndarray], device: Device, stream: int | None,
) -> None:  # fmt: skip
    """Check a contender, then time it."""
    found = call()
    results = [numpy(a) for a in (found if isinstance(found, tuple | list) else (found,))]
    error = cell["errors"][name] = worst_error(results, expected)
    if not error <= TOLERANCE[4 if cell["dtype"] == "f32" else 8]:
        cell["skipped"][name] = f"is wrong by {error:.1e}"
        return
    del found, results
    cell["seconds"][name] = _times(call, device, stream)


def _times(call: Callable[[], Any], device: Device, stream: int | None) -> list[float]:
    """Seconds of calls, by events on the stream where it is known."""
    times: list[float] = []
    with device.current() as driver:
        first, last = driver.event(), driver.event()
        call()
        driver.synchronize(stream or 0)
        begin = time.monotonic()
        while len(times) < 3 or (len(times) < CALLS and time.monotonic() - begin < SECONDS):
            if stream is None:
                start = time.perf_counter()
                call()
                times.append(time.perf_counter() - start)
                continue
            driver.record(first, stream)
            call()
            driver.record(last, stream)
            times.append(driver.elapsed(first, last) / 1e3)
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
