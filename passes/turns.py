"""Maps that go through their first index together: some values of it in each map by turns.

Where one map writes a large tensor and others read it, it has left the caches when it is read. If all of
them have the same first index, and read what the others compute at its own value alone, each map may take a
few values, then the next map the same ones: what they pass on stays near. Threads divide the values of that
index, and wait for each other once instead of after each map.

It is done where the schedules for a few values cost no more than what memory is saved.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tadc.dialect.mlir import ir
from tadc.dialect.shapes import sizes_of
from tadc.lattice.affine import Affine
from tadc.passes.buffers import maps_of
from tadc.passes.caches import LINE, NEAR, element_bytes, is_large
from tadc.passes.machine import Machine
from tadc.passes.map_reads import MapReads
from tadc.passes.marks import JOINED, PARTS, TURNS
from tadc.passes.schedule import least_price
from tadc.passes.splits import PLAIN, splits

FEWEST = 8
"""The fewest turns: threads divide them."""

LEAST_SAVED = 0.1
"""The part of the whole price that turns save at least: what they hold in memory lives longer."""

LINE_FROM_MEMORY = 20
"""The price of a line that is written to memory, or read from it, in the order of addresses."""


def mark_turns(function: Any, machine: Machine) -> None:
    """Mark the maps of a function that are to take turns."""
    maps = maps_of(function)
    if not machine.vector_bytes or sizes_of(function) or not any(map(_passes_on, maps)):
        return
    with function.context, ir.Location.unknown(function.context):
        for number, run in enumerate(_runs(maps)):
            values = _values(run)
            if values and _pays(run, values, machine):
                whole = ir.IntegerType.get_signless(64)
                mark = ir.ArrayAttr.get([ir.IntegerAttr.get(whole, n) for n in (number, values)])
                for reads in run:
                    reads.op.attributes[TURNS] = mark


def _runs(maps: Sequence[Any]) -> list[list[MapReads]]:
    """Maps one after the other that may take turns, from the first that writes a large tensor to the last
    that reads one."""
    runs: list[list[MapReads]] = []
    run: list[MapReads] = []
    for op in maps:
        if op.name == "tad.scan" or PARTS in op.attributes or JOINED in op.attributes or _rank(op) < 2:
            run = []
            continue
        reads = MapReads(op, {})
        computed = {value for one in run for value in one.op.results}
        others = run and _extent(op) != _extent(run[0].op)
        if others or any(not reads.slices[tensor] for tensor in reads.tensors if tensor in computed):
            run = []
        if not run:
            runs.append(run)
        run.append(reads)
    return [kept for run in runs if len(kept := _between(run)) > 1]


def _between(run: list[MapReads]) -> list[MapReads]:
    """The maps of a run from the first that passes a large tensor on to the last that takes one."""
    large = [value for reads in run for value in reads.op.results if is_large(value.type)]
    takers = [n for n, reads in enumerate(run) if any(value in reads.tensors for value in large)]
    makers = [n for n, reads in enumerate(run) if any(map(_is_read, _large(reads.op)))]
    return run[makers[0] : takers[-1] + 1] if makers and takers else []


def _values(run: Sequence[MapReads]) -> int:
    """How many values of the first index make a turn: what they pass on stays near; 0 if nothing does."""
    extent = _extent(run[0].op)
    bytes = sum(math.prod(v.type.shape) * element_bytes(v.type) // extent for v in _shared(run))
    if extent < FEWEST or not bytes or bytes > 2 * NEAR:
        return 0
    most = max(1, min(NEAR // 2 // bytes, extent // FEWEST))
    return max(n for n in range(1, most + 1) if extent % n == 0)


def _shared(run: Sequence[MapReads]) -> list[Any]:
    """The large tensors that one map of a run computes and another reads."""
    return [v for r in run for v in _large(r.op) if any(v in other.tensors for other in run)]


def _pays(run: Sequence[MapReads], values: int, machine: Machine) -> bool:
    """Whether turns save more than their schedules cost."""
    saved = 0.0
    for value in _shared(run):
        saved += _from_memory(value) * (1 + sum(value in reads.tensors for reads in run))
    again = [tensor for reads in run for tensor, is_slice in reads.slices.items() if not is_slice]
    times = _extent(run[0].op) // values - 1
    saved -= times * sum(map(_from_memory, again))
    before = sum(_price(reads.op, None, machine) for reads in run)
    after = sum(_price(reads.op, values, machine) for reads in run)
    return saved - (after - before) > LEAST_SAVED * before


def _from_memory(tensor: Any) -> float:
    """The price of passing a tensor from memory or to it; 0 for one that stays near."""
    bytes = math.prod(tensor.type.shape) * element_bytes(tensor.type)
    return LINE_FROM_MEMORY * bytes / LINE if bytes > NEAR else 0.0


def _price(op: Any, values: int | None, machine: Machine) -> float:
    """The price of a map, in turns of so many values."""
    shape = list(op.results[0].type.shape)
    sizes = [Affine.const(extent) for extent in shape]
    found = splits(op, sizes, {})
    if values is not None:
        sizes[0], found[0] = Affine.const(values), PLAIN
    return math.prod(shape) * least_price(op, sizes, found, {}, machine, values is not None)[0]


def _passes_on(op: Any) -> bool:
    """Whether a map computes a large tensor that another reads."""
    return any(map(_is_read, _large(op)))


def _large(op: Any) -> list[Any]:
    """The large tensors that a map computes."""
    return [value for value in op.results if value.type.rank and is_large(value.type)]


def _is_read(tensor: Any) -> bool:
    """Whether a map reads a tensor."""
    return any(use.owner.name == "tad.read" for use in tensor.uses)


def _rank(op: Any) -> int:
    return op.results[0].type.rank


def _extent(op: Any) -> int:
    """The values of the first index."""
    return op.results[0].type.shape[0]
