"""Times of bundles and of the peers on a GPU, against what it can do."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Sequence
from dataclasses import asdict
from functools import cache
from pathlib import Path
from shutil import which
from typing import Any

import numpy as np

from bench.gpu import ceilings
from bench.gpu.cases import ANY, TOLERANCE, WORK, worst_error
from bench.gpu.machine import device_of, names_in
from bench.gpu.peers import SHORTER, Peer, UnavailableError, names_of, prepare
from bench.gpu.record import Record
from bench.gpu.sizes import TIMED, sizes_of
from bench.gpu.table import table
from bench.gpu.timing import Clock, all_as_graphs
from bench.workloads.workload import Arrays, Workload
from tadc.backend.cuda.device import Device
from tadc.backend.cuda.device_arrays import DeviceArray, copied_in
from tadc.backend.runtime import load_bundle

Cell = dict[str, Any]


def bench(folder: Path, target: str, only: Sequence[str] | None, minutes: float, results: Path) -> int:
    """Check and time each workload, then peers while there is time; print a table. 1 where one is wrong."""
    end = time.monotonic() + 60 * minutes
    device, machine = device_of(target)
    paths = names_in(folder / "bench", WORK, only)
    emulated = target == "emulated"
    limits = asdict(ceilings.measure(device, 1 << 20, 2) if emulated else ceilings.measure(device))
    record = Record.of(results, machine)
    record.begin("bench")
    record.enter("bench", "ceilings", limits)
    clock = Clock(device, 0) if emulated else Clock(device)
    # f32 first: if time runs out, it is f64 that lacks peers.
    paths = sorted(paths, key=lambda path: path.name.endswith("f64"))
    cells: dict[Path, Cell] = {}
    for path in paths:
        cells[path] = _own(path, target, clock)
        record.enter("bench", path.name, cells[path])
        print(table([cells[path]], limits)[-1], flush=True)
    for path, name in _in_turn(cells):
        if emulated or time.monotonic() > end:
            cells[path]["skipped"][name] = "no time was left"
        else:
            _enter_peer(name, cells[path], clock)
        record.enter("bench", path.name, cells[path])
    print("\n".join(table([*cells.values()], limits)))
    print(record.file)
    return 1 if any("tadc" in cell["skipped"] for cell in cells.values()) else 0


def _in_turn(cells: dict[Path, Cell]) -> list[tuple[Path, str]]:
    """The peers of all workloads, of each type those that PyTorch compiles last."""
    pairs = [(path, name) for path, c in cells.items() for name in names_of(TIMED[c["workload"]], c["dtype"])]
    return sorted(pairs, key=lambda pair: (pair[0].name.endswith("f64"), "compiled" in pair[1]))


def _own(path: Path, target: str, clock: Clock) -> Cell:
    """What a bundle takes."""
    work = json.loads((path / WORK).read_text(encoding="utf-8"))
    workload, small = TIMED[work["workload"]], work["small"]
    cell: Cell = {
        "workload": workload.name, "dtype": work["dtype"], "small": small,
        "sizes": dict(sizes_of(workload, small)), "operations": work["operations"],
        "model": work.get("model"),
        "seconds": {}, "flushed": {}, "graph": {}, "any": {}, "host": None, "errors": {}, "skipped": {},
    }  # fmt: skip
    inputs, expected = _task(workload.name, small, work["dtype"])
    given = workload.arguments(tuple(inputs))
    cell["bytes"] = inputs[0].itemsize * sum(a.size for a in (*given, *expected))
    f = load_bundle(path, target)
    cell["launches"] = len(f.kernel.manifest.launches)
    arrays = [on_device(a, clock.device) for a in given]
    if _checked("tadc", cell, own := Peer(lambda: f(*arrays), np.asarray, 0), expected):
        cell["seconds"]["tadc"], cell["flushed"]["tadc"] = clock.queued(own), clock.flushed(own)
        cell["host"] = clock.host(own.call)
        found = own.call()
        into = found if isinstance(found, tuple) else (found,)
        with all_as_graphs():
            again = load_bundle(path, target)
            cell["graph"]["tadc"] = clock.queued(Peer(lambda: again(*arrays, out=into), np.asarray, 0))
        if (path / ANY).exists():
            of_any, sizes = load_bundle(path / ANY, target), cell["sizes"]
            anyone = Peer(lambda: of_any(*arrays, **sizes), np.asarray, 0)
            if _checked("tadc, any sizes", cell, anyone, expected):
                cell["any"]["tadc"] = clock.queued(anyone)
    cell["clock"] = _clock()
    return cell


def on_device(array: Any, device: Device) -> DeviceArray:
    """A copy of an array on a device."""
    a = np.asarray(array, order="C")
    return DeviceArray(copied_in(a, device, 0), a.shape, a.dtype)


@cache
def _reference(name: str, small: bool) -> tuple[Arrays, list[np.ndarray]]:
    """Inputs of a workload and the results to expect, the same numbers for both types."""
    workload = TIMED[name]
    given = workload.inputs(sizes_of(workload, small))
    return given, [np.asarray(a, np.float64) for a in workload.reference(given)]


def _task(name: str, small: bool, dtype: str) -> tuple[list[np.ndarray], list[np.ndarray]]:
    given, expected = _reference(name, small)
    return [np.asarray(a, {"f32": np.float32, "f64": np.float64}[dtype]) for a in given], expected


def _enter_peer(name: str, cell: Cell, clock: Clock) -> None:
    workload: Workload = TIMED[cell["workload"]]
    inputs, expected = _task(workload.name, cell["small"], cell["dtype"])
    try:
        peer = prepare(name, workload, inputs)
        if _checked(name, cell, peer, expected):
            cell["seconds"][name], cell["flushed"][name] = clock.queued(peer), clock.flushed(peer)
    except UnavailableError as why:
        cell["skipped"][name] = str(why)
    except Exception as problem:  # of any library: the others are timed all the same
        cell["skipped"][name] = f"{type(problem).__name__}: {problem}"[:300]


def _checked(name: str, cell: Cell, peer: Peer, expected: list[np.ndarray]) -> bool:
    """Whether a contender's results are right."""
    found = peer.call()
    results = [peer.numpy(a) for a in (found if isinstance(found, tuple | list) else (found,))]
    error = cell["errors"][name] = worst_error(results, expected)
    if not error <= SHORTER.get(name, TOLERANCE[4 if cell["dtype"] == "f32" else 8]):
        cell["skipped"][name] = f"is wrong by {error:.1e}"
        return False
    return True


def _clock() -> str:
    """The clocks of the GPU just now, in MHz, as `nvidia-smi` tells them."""
    if not which("nvidia-smi"):
        return ""
    command = ["nvidia-smi", "--query-gpu=clocks.sm,clocks.mem", "--format=csv,noheader,nounits"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.splitlines()[0].strip() if done.stdout else ""
