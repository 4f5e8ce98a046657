"""Bundles on a GPU against results that were computed without one."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from bench.gpu.cases import CASE, TOLERANCE, Case, worst_error
from bench.gpu.machine import device_of, names_in, results_file
from tadc.backend.cuda.device import Device
from tadc.backend.cuda.device_arrays import DeviceArray, copied_in
from tadc.backend.runtime import load_bundle
from tadc.frontend.diagnostics import CompileError

REPEATS = 3


def check(folder: Path, target: str, only: Sequence[str] | None, into: Path) -> int:
    """Run each case with NumPy arrays, on arrays of the GPU, and again: the bits must be the same."""
    device, machine = device_of(target)
    print(machine["device"])
    results: dict[str, Any] = {}
    for path in names_in(folder / "test", CASE, only):
        begin = time.perf_counter()
        try:
            found = _check(path, target, device)
        except CompileError as error:
            found = {"ok": False, "why": str(error)}
        results[path.name] = {**found, "seconds": time.perf_counter() - begin}
        print(f"{'ok   ' if found['ok'] else 'WRONG'} {path.name:30} {found.get('why', found.get('error'))}")
    wrong = [name for name, found in results.items() if not found["ok"]]
    text = json.dumps({"machine": machine, "cases": results}, indent=1)
    file = results_file(into, "test", machine)
    file.write_text(text, encoding="utf-8")
    print(f"{len(results) - len(wrong)} of {len(results)} agree; {file}")
    return 1 if wrong or not results else 0


def _check(path: Path, target: str, device: Device) -> dict[str, Any]:
    case = Case.load(path / CASE)
    f = load_bundle(path, target)
    first = _listed(f(*case.inputs))
    expected = [a.astype(np.float64) for a in case.outputs]
    error = worst_error(first, expected)
    if not error <= TOLERANCE[min(a.itemsize for a in first)]:
        return {"ok": False, "error": error, "why": f"is wrong by {error:.1e}"}
    arrays = [DeviceArray(copied_in(a, device, 0), a.shape, a.dtype) for a in case.inputs]
    for _ in range(REPEATS):
        again = [np.asarray(a) for a in _listed(f(*arrays))]
        if any(a.tobytes() != b.tobytes() for a, b in zip(first, again, strict=True)):
            return {"ok": False, "error": error, "why": "has other bits when run again"}
    if target == "cuda" and (tensors := _by_torch(f, case.inputs)) is not None:
        if any(a.tobytes() != b.tobytes() for a, b in zip(first, tensors, strict=True)):
            return {"ok": False, "error": error, "why": "has other bits on tensors of PyTorch"}
    return {"ok": True, "error": error}


def _by_torch(f: Any, inputs: list[np.ndarray]) -> list[np.ndarray] | None:
    """The results for tensors of PyTorch, on a stream of their own; None where it has no GPU."""
    if not find_spec("torch"):
        return None
    torch: Any = import_module("torch")
    if not torch.cuda.is_available():
        return None
    with torch.cuda.stream(torch.cuda.Stream()):
        return [a.cpu().numpy() for a in _listed(f(*(torch.from_numpy(a).cuda() for a in inputs)))]


def _listed(found: Any) -> list[Any]:
    return list(found) if isinstance(found, tuple) else [found]
