"""Bundles of programs to test and of workloads to time. Needs the compiler."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path

from rich.progress import track

import tadc
from bench.counting import counts
from bench.gpu.cases import ANY, CASE, WORK, Case, is_among
from bench.gpu.programs import Subject, subjects
from bench.gpu.sizes import TIMED, sizes_of
from bench.workloads.workload import Workload
from tadc.backend.target import parse_target
from tadc.commands.bundle import write_bundle
from tadc.compiler.compile_options import Options


def write(
    folder: Path, kinds: Iterable[str], sm: int, only: Sequence[str] | None, small: bool = False
) -> None:
    """Write the bundles of these kinds (`test`, `bench`), of these names if any are given."""
    options = Options(target=parse_target(f"cuda:sm_{sm}"))
    if "test" in kinds:
        chosen = [subject for subject in subjects() if is_among(subject.name, only)]
        for subject in track(chosen, "bundles to test"):
            _write_subject(subject, folder / "test" / subject.name, options)
    if "bench" in kinds:
        for workload in TIMED.values():
            for dtype in ("f32", "f64"):
                if is_among(name := f"{workload.name}-{dtype}", only):
                    _write_workload(workload, dtype, folder / "bench" / name, options, small)


def _write_subject(subject: Subject, folder: Path, options: Options) -> None:
    """Value and gradients with what the CPU computes, at its sizes, and for any sizes."""
    f = subject.function("")
    inputs, expected = subject.arguments(), subject.expected()
    _write(f.at(subject.sizes), Case(inputs, expected), folder, options)
    if subject.sizes and f.per_value is None:
        case = Case(inputs, expected, dict(subject.sizes))
        _write(f, case, folder.with_name(f"{folder.name}-any"), options)


def _write(f: tadc.Function, case: Case, folder: Path, options: Options) -> None:
    write_bundle(f.program, options, str(folder))
    case.save(folder / CASE)


def _write_workload(workload: Workload, dtype: str, folder: Path, options: Options, small: bool) -> None:
    """Value and gradients of a workload to time, for any sizes too; its work is noted."""
    sizes = sizes_of(workload, small)
    write_bundle(workload.derivative(dtype, sizes).program, options, str(folder))
    write_bundle(workload.derivative(dtype, {}).program, options, str(folder / ANY))
    work = {"workload": workload.name, "dtype": dtype, "small": small, **counts(workload, dtype, sizes)}
    (folder / WORK).write_text(json.dumps(work), encoding="utf-8")
