"""Bundles on a GPU against results that were computed without one."""

from __future__ import annotations

import faulthandler
import subprocess
import sys
import time
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from bench.gpu.cases import CASE, TOLERANCE, Case, worst_error
from bench.gpu.machine import device_of, names_in
from bench.gpu.record import Record
from tadc.backend.cuda.device import Device
from tadc.backend.cuda.device_arrays import DeviceArray, copied_in
from tadc.backend.cuda.driver import DriverError
from tadc.backend.runtime import load_bundle

REPEATS = 3
#: Seconds that a case may take on a GPU: a kernel may run forever.
LONGEST = 60
#: What a case is while it runs.
BEGUN = {"ok": False, "why": "the process that ran it ended"}


def check(folder: Path, target: str, only: Sequence[str] | None, into: Path, *, resume: bool = False) -> int:
    """Run each case with NumPy arrays, on arrays of the GPU, and again: the bits must be the same.

    To `resume` is to leave out those that have results already. 1 where a case is wrong or not finished.
    """
    device, machine = device_of(target)
    record = Record.of(into, machine)
    cases = record.parts.get("test", {}) if resume else record.begin("test")
    paths = names_in(folder / "test", CASE, only)
    for path in paths:
        if path.name not in cases:
            record.enter("test", path.name, BEGUN)
            if target == "cuda":
                faulthandler.dump_traceback_later(LONGEST, exit=True)
            found, is_usable = _run(path, target, device)
            record.enter("test", path.name, found)
            if not is_usable:
                return 1
    faulthandler.cancel_dump_traceback_later()
    agree = sum(record.parts["test"][path.name]["ok"] for path in paths)
    print(f"{machine['device']}: {agree} of {len(paths)} agree; {record.file}")
    return int(agree < len(paths))


def check_apart(words: Sequence[str], into: Path) -> int:
    """`check` in processes one after the other: a fault of a kernel ends the one that runs it."""
    command = [sys.executable, "-m", "bench.gpu", "test", *words, "--here"]
    code, done, before = subprocess.run(command, check=False).returncode, 0, -1
    while code and done > before:
        before = done
        code = subprocess.run([*command, "--resume"], check=False).returncode
        results = [file.read_text(encoding="utf-8") for file in into.glob("gpu-*.json")]
        done = sum(text.count('"ok"') for text in results)
    return code


def _run(path: Path, target: str, device: Device) -> tuple[dict[str, Any], bool]:
    """What a case does, and whether the GPU can still be used: not so after a fault of a kernel."""
    begin, is_usable = time.perf_counter(), True
    try:
        found = _check(path, target, device)
    except Exception as error:  # whatever it is, it is a result
        is_usable = not (isinstance(error, DriverError) and error.is_late)
        found = {"ok": False, "why": f"{type(error).__name__}: {error}"}
    found["seconds"] = time.perf_counter() - begin
    told = found.get("why") or f"{found['error']:.1e}"
    print(f"{'ok   ' if found['ok'] else 'WRONG'} {path.name:30} {told}", flush=True)
    return found, is_usable


def _check(path: Path, target: str, device: Device) -> dict[str, Any]:
    case = Case.load(path / CASE)
    f = load_bundle(path, target)
    first = _listed(f(*case.inputs, **case.sizes))
    expected = [a.astype(np.float64) for a in case.outputs]
    error = worst_error(first, expected)

    def wrong(why: str) -> dict[str, Any]:
        return {"ok": False, "error": error, "why": why}

    def differs(found: Any) -> bool:
        pairs = zip(first, _listed(found), strict=True)
        return any(a.tobytes() != np.asarray(b).tobytes() for a, b in pairs)

    if not error <= TOLERANCE[min(a.itemsize for a in first)]:
        return wrong(f"is wrong by {error:.1e}")
    arrays = [DeviceArray(copied_in(a, device, 0), a.shape, a.dtype) for a in case.inputs]
    for _ in range(REPEATS):
        if differs(f(*arrays, **case.sizes)):
            return wrong("has other bits when run again")
    if target == "cuda" and (tensors := _by_torch(f, case)) is not None and differs(tensors):
        return wrong("has other bits on tensors of PyTorch")
    if f.kernel.code:
        f = load_bundle(path, target)
        f.kernel.code = b""
        if differs(f(*case.inputs, **case.sizes)):
            return wrong("has other bits where the driver compiles PTX")
    return {"ok": True, "error": error}


def _by_torch(f: Any, case: Case) -> list[np.ndarray] | None:
    """The results for tensors of PyTorch, on a stream of their own; None where it has no GPU."""
    if not find_spec("torch"):
        return None
    torch: Any = import_module("torch")
    if not torch.cuda.is_available():
        return None
    with torch.cuda.stream(torch.cuda.Stream()):
        found = f(*(torch.from_numpy(a).cuda() for a in case.inputs), **case.sizes)
        return [a.cpu().numpy() for a in _listed(found)]


def _listed(found: Any) -> list[Any]:
    return list(found) if isinstance(found, tuple | list) else [found]
