"""Bundles of the examples and the workloads. Needs the compiler."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import tadc
from bench.counting import counts
from bench.gpu.cases import CASE, WORK, Case
from bench.gpu.sizes import sizes_of
from bench.workloads import WORKLOADS
from bench.workloads.workload import Workload
from tadc.backend.target import parse_target
from tadc.commands.bundle import write_bundle
from tadc.compiler.compile_options import Options
from tadc.frontend.extents import shape_at

EXAMPLES = Path(__file__).parents[2] / "examples"
TYPES = {"f32": np.dtype(np.float32), "f64": np.dtype(np.float64)}
#: Of size symbols of the examples: small, so that the emulator can run them too. `K` is a kernel's.
SIZE, SIZES = 7, {"K": 2}


def write(
    folder: Path, kinds: Iterable[str], sm: int, only: Sequence[str] | None, small: bool = False
) -> None:
    """Write the bundles of these kinds (`test`, `bench`), of these names if any are given."""
    options = Options(target=parse_target(f"cuda:sm_{sm}"))
    for kind in kinds:
        if kind == "test":
            for path in sorted(EXAMPLES.glob("*.tad")):
                if only is None or path.stem in only:
                    _write_example(path, folder / "test" / path.stem, options)
        for workload in WORKLOADS:
            for dtype in TYPES:
                name = f"{workload.name}-{dtype}"
                if only is None or workload.name in only or name in only:
                    _write_workload(workload, dtype, folder / kind / name, options, kind == "test" or small)


def _write_example(path: Path, folder: Path, options: Options) -> None:
    """An example and its gradients, with random inputs and what the CPU computes of them."""
    f = tadc.function(path.read_text(encoding="utf-8"), path.name)
    symbols = f.per_value.symbols if f.per_value else f.program.sizes
    f = f.at({name: SIZES.get(name, SIZE) for name in symbols})
    random = np.random.default_rng(0)
    arrays = [_random(random, a) for a in f.program.arguments]
    for made in (f, tadc.vjp(f)):
        values = (
            arrays
            if made is f
            else [*arrays, *(_random(random, a) for a in made.program.arguments[len(arrays) :])]
        )
        found = made(*values)
        case = Case(values, list(found) if isinstance(found, tuple) else [found])
        where = folder if made is f else folder.with_name(f"{folder.name}-gradients")
        write_bundle(made.program, options, str(where))
        case.save(where / CASE)


def _random(random: np.random.Generator, argument: Any) -> np.ndarray:
    return random.uniform(0.1, 0.9, shape_at(argument.shape, {})).astype(TYPES[argument.type])


def _write_workload(workload: Workload, dtype: str, folder: Path, options: Options, small: bool) -> None:
    """Value and gradients of a workload. A small one comes with results; of another its work is noted."""
    sizes = sizes_of(workload, small)
    write_bundle(workload.derivative(dtype, sizes).program, options, str(folder))
    if folder.parent.name == "test":
        inputs = workload.inputs(sizes)
        arguments = [np.asarray(a, TYPES[dtype]) for a in workload.arguments(inputs)]
        Case(arguments, list(workload.reference(inputs))).save(folder / CASE)
    else:
        work = {"workload": workload.name, "dtype": dtype, "small": small, **counts(workload, dtype, sizes)}
        (folder / WORK).write_text(json.dumps(work), encoding="utf-8")
