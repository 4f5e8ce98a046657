"""What is tested on a GPU: programs of all kinds, their values and all gradients, with inputs.

Sizes are small, so that the emulator can run all of them too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import tadc
from bench.everyday import EVERYDAY
from bench.random_programs import random_program
from bench.sparse import SPARSE
from bench.workloads import WORKLOADS
from bench.workloads.workload import Workload
from tadc.frontend.extents import as_form, shape_at

EXAMPLES = Path(__file__).parents[2] / "examples"
TYPES = {"f32": np.dtype(np.float32), "f64": np.dtype(np.float64), "i32": np.dtype(np.int32)}
#: Of size symbols of the examples; `K` is a kernel's.
SIZE, SIZES = 7, {"K": 2}
#: The seeds of random programs, none of which has size symbols. Of 103 to 244 a GPU computed wrong gradients:
#: ptxas loses a negation in a minimum of three (`without_negations` in `backend/cuda/ptx.py`).
RANDOM = (*range(24), 103, 145, 178, 192, 244, 252)

#: A thread runs all steps of one element of a batch, a block those of a row, each step is a launch, perhaps
#: with a warp for each sum; and steps along diagonals.
RECURRENCES = {
    "thread": (
        "x: f64[T, B]; a: f64[B]; scan{t} s[t, b] ="
        " if {t = 0} then (x[0, b]) else (a[b]*s[t - 1, b] + x[t, b])",
        {"T": 9, "B": 300},
    ),
    "block": (
        "x: f64[T, N]; w: f64[N, N]; scan{t} h[t: T, i: N] ="
        " tanh(x[t, i] + if {t = 0} then (0) else (sum{k} (w[i, k]*h[t - 1, k])))",
        {"T": 5, "N": 40},
    ),
    "launches": (
        "x: f64[N]; scan{t} u[t: 3, i: N] = if {t = 0} then (x[i]) else (sin(u[t - 1, N - 1 - i]) + x[i])",
        {"N": 5000},
    ),
    "warps": (
        "x: f64[N]; w: f64[N, N]; scan{t} u[t: 3, i: N] ="
        " if {t = 0} then (x[i]) else (sum{k} (w[i, k]*u[t - 1, k]))",
        {"N": 90},
    ),
    "diagonals": (
        "x: f64[N, M]; scan{i + j} u[i, j] ="
        " x[i, j] + if {i > 0 and j > 0} then (sin(u[i - 1, j])*u[i, j - 1]) else (0)",
        {"N": 11, "M": 13},
    ),
}


@dataclass(frozen=True)
class Subject:
    """A program whose value and gradients are tested, at sizes and for any."""

    name: str
    function: Callable[[str], tadc.Function]
    """Value and gradients, with its size symbols, in an element type: its own if that is empty."""
    sizes: Mapping[str, int]
    inputs: Callable[[], Sequence[Any]] | None = None
    """Makes arguments; without it they are any numbers."""

    def arguments(self) -> list[np.ndarray]:
        """Arguments of their types."""
        made = self.function("")
        random = np.random.default_rng(0)
        arguments = made.program.arguments
        given = self.inputs() if self.inputs else [_drawn(random, a, self.sizes) for a in arguments]
        pairs = zip(given, arguments, strict=True)
        return [np.array(x, TYPES[a.type], order="C") for x, a in pairs]

    def expected(self) -> list[np.ndarray]:
        """What the CPU computes of them in f64."""
        exact = self.function("f64").at(self.sizes)
        pairs = zip(self.arguments(), exact.program.arguments, strict=True)
        found = exact(*(x.astype(TYPES[a.type]) for x, a in pairs))
        return list(found) if isinstance(found, tuple) else [found]


def subjects() -> Iterator[Subject]:
    """All of them."""
    for path in sorted(EXAMPLES.glob("*.tad")):
        text = path.read_text(encoding="utf-8")
        f = tadc.function(text)
        symbols = f.per_value.symbols if f.per_value else f.program.sizes
        yield _of_text(path.stem, text, {name: SIZES.get(name, SIZE) for name in symbols})
    for name, (text, sizes) in RECURRENCES.items():
        yield _of_text(f"recurrence-{name}", text, sizes)
    for seed in RANDOM:
        yield _of_text(f"random-{seed}", random_program(seed), {})
    for workload in WORKLOADS:
        yield from (_of_workload(f"{workload.name}-{t}", workload, t) for t in ("f32", "f64"))
    for workload in EVERYDAY:
        yield _of_workload(f"everyday-{workload.name}", workload, "f32")
    for workload in SPARSE:
        if workload.kind == "gradients":
            yield _of_workload(f"sparse-{workload.name}", workload, "f64")


def _of_text(name: str, text: str, sizes: Mapping[str, int]) -> Subject:
    return Subject(name, lambda dtype: tadc.value_and_vjp(tadc.function(_in_type(text, dtype))), sizes)


def _in_type(text: str, dtype: str) -> str:
    return text.replace("f32", dtype) if dtype else text


def _of_workload(name: str, workload: Workload, dtype: str) -> Subject:
    def inputs() -> Sequence[Any]:
        return workload.arguments(workload.inputs(workload.small))

    return Subject(name, partial(_derivative, workload, dtype), workload.small, inputs)


def _derivative(workload: Workload, own: str, dtype: str) -> tadc.Function:
    return workload.derivative(dtype or own, {})


def _drawn(random: np.random.Generator, argument: Any, sizes: Mapping[str, int]) -> np.ndarray:
    """Numbers, or elements of an index array."""
    shape = shape_at(argument.shape, sizes)
    if argument.below is None:
        return random.uniform(0.1, 0.9, shape)
    made = random.integers(0, as_form(argument.below).evaluate(sizes), shape)
    return np.sort(made) if argument.increasing else made
