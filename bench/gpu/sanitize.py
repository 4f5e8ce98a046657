"""`compute-sanitizer` on bundles: accesses out of bounds, races, barriers that not all threads reach."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from shutil import which

from bench.gpu.cases import CASE, is_among
from bench.gpu.machine import device_of, names_in
from bench.gpu.record import Record

TOOLS = ("memcheck", "racecheck", "synccheck", "initcheck")
#: A few of each kind, if no others are asked for: tiles, parts of sums, chains, index arrays, recurrences.
FEW = (
    "attention-f32", "matmul-f32", "conv2d-f32", "log_sum-f64", "fir-f32", "stencil-f64", "graph",
    "recurrence", "everyday-softmax", "everyday-layer-norm", "random-3",
)  # fmt: skip
#: Seconds that a tool has.
LONGEST = 110


def sanitize(folder: Path, only: Sequence[str] | None, results: Path) -> int:
    """Run all tools on these bundles, all that fit in one process; 1 where one finds something."""
    _, machine = device_of("cuda")
    record = Record.of(results, machine)
    record.begin("sanitize")
    program = which("compute-sanitizer")
    names = [p.name for p in names_in(folder / "test", CASE, None) if is_among(p.name, only or FEW)]
    for tool in TOOLS:
        found = {"ok": False, "why": "compute-sanitizer is not in PATH"} if program is None else None
        if program is not None:
            command = [program, "--tool", tool, "--error-exitcode", "9", "--print-limit", "5",
                       sys.executable, "-m", "bench.gpu.plain", str(folder), *names]  # fmt: skip
            found = _run(command)
        record.enter("sanitize", tool, found)
        print(tool, found, flush=True)
    return int(any(not found["ok"] for found in record.parts["sanitize"].values()))


def _run(command: Sequence[str]) -> dict[str, object]:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=LONGEST)
    except subprocess.TimeoutExpired as late:
        said = late.stdout.decode() if isinstance(late.stdout, bytes) else ""
        return {"ok": False, "why": f"took more than {LONGEST} s; {said[-300:]}"}
    said = done.stdout + done.stderr
    return {"ok": done.returncode == 0, "why": said[-2000:] if done.returncode else said[-100:]}
