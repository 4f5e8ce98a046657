"""One random program in random blocks, one by one and by Dask, against the single run, but for rounding."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

import dask.array
import numpy as np
from dask.base import compute
from numpy.typing import NDArray

import tadc
from tadc.frontend.extents import shape_at
from tadc.frontend.program import Argument
from tests.fuzz import indexed, rows, sized
from tests.fuzz.compare import Skipped
from tests.fuzz.styles import FLOORS, PLAIN, TINY

#: Dask's own types are of no use here.
da: Any = dask.array

#: Of programs that are not divided: sizes need values first, proofs are given up, recurrences.
NOT_DIVIDED = {"TAD0212", "TAD0312", "TAD0318", "TAD1002"}


def text_of(seed: int, order: int) -> tuple[str, list[dict[str, int]]]:
    """A program, of every third seed one with index arrays, of every fourth over rows of edges, and values of
    its sizes to try.
    """
    if seed % 4 == 3:
        program, sizes = rows.generate(seed, small=order > 1)
        return str(rows.by_dst(program, sizes) if seed % 8 == 3 else program), [dict(sizes)]
    if seed % 3 == 2:
        program, sizes = indexed.generate(seed, small=order > 1)
        return str(program), [dict(sizes)]
    style = (PLAIN, FLOORS, PLAIN, TINY)[seed // 3 % 4]
    program, tries = sized.generate(seed, small=order > 1, style=style)
    return str(program), [dict(sizes) for sizes in tries]


def failure(seed: int, order: int) -> str | None:
    """What is wrong with the program of a seed; None if nothing is. Raises Skipped."""
    text, tries = text_of(seed, order)
    rng = random.Random(seed)
    try:
        f = _derivative(tadc.function(text), order)
        indices = sorted({index for d in f.program.outputs for index in d.indices})
    except tadc.CompileError as error:
        raise Skipped("no program") from error
    if not indices:
        raise Skipped("nothing to divide")
    lengths = {
        name: rng.randint(1, 4) for name in rng.sample(indices, rng.choice((1, 1, min(2, len(indices)))))
    }
    try:
        block = f.block(**lengths)
        found = [problem for sizes in tries if (problem := _problem(f, block, sizes, seed))]
    except tadc.CompileError as error:
        if {d.code for d in error.diagnostics} <= NOT_DIVIDED:
            raise Skipped("not divided") from error
        found = [f"{type(error).__name__}: {error}"]
    # Whatever is raised is what is looked for.
    except Exception as error:
        found = [f"{type(error).__name__}: {error}"]
    return "\n".join([f"seed {seed}, order {order}, blocks {lengths}", *found, text]) if found else None


def _derivative(f: tadc.Function, order: int) -> tadc.Function:
    for n in range(order):
        f = tadc.vjp(f) if n else tadc.value_and_vjp(f)
    return f


def _problem(f: tadc.Function, block: tadc.BlockFunction, sizes: Mapping[str, int], seed: int) -> str | None:
    """What is wrong at values of sizes; None if nothing is, or f refuses these."""
    program = f.program
    rng = np.random.default_rng(seed)
    if any(size < 0 for tensor in program.arguments for size in shape_at(tensor.shape, sizes)):
        return None  # There are no such arrays.
    arrays = {a.name: _array(a, sizes, rng) for a in program.arguments}
    named = {name: sizes[name] for name in program.unbound_sizes()}
    try:
        whole = _several(f(**arrays, **named), f)
    except tadc.ArgumentError:
        return None
    blocks = _several(block(**arrays, **named), f)
    # Chunks of three do not divide as blocks do; or blocks are as these.
    lazy = {name: da.from_array(array, chunks=3) for name, array in arrays.items()}
    found = [("blocks", blocks)]
    for way, chunks in (("Dask", block.lengths), ("Dask's chunks", None)):
        tasks = f.dask(**lazy, **named, chunks=chunks)
        found.append((way, compute(*_several(tasks, f), scheduler="sync")))
    for way, results in found:
        for name, want, got in zip(f.outputs, whole, results, strict=True):
            if not np.allclose(got, want, 1e-9, 1e-9, equal_nan=True):
                return f"{name} by {way} at {dict(sizes)}:\n{got}\nis not\n{want}"
    return None


def _array(argument: Argument, sizes: Mapping[str, int], rng: np.random.Generator) -> NDArray[Any]:
    shape = shape_at(argument.shape, sizes)
    if argument.below is None:
        return rng.uniform(-1, 1, shape)
    (below,) = shape_at([argument.below], sizes)
    found = rng.integers(0, max(1, below), shape)
    return np.sort(found) if argument.increasing else found


def _several(results: Any, f: tadc.Function) -> Sequence[Any]:
    return results if len(f.outputs) > 1 else (results,)
