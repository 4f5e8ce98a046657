"""How a block of threads runs a chain of maps (`maps/block_chains.py`), as its mark says, and which tensors
it keeps in shared memory; `chain_kernels.py` makes the code."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tadc.dialect.mlir import ir
from tadc.passes.maps.block_chains import ROOM
from tadc.passes.maps.buffers import map_around
from tadc.passes.maps.machine import Gpu
from tadc.passes.maps.marks import CHAIN, STEPS
from tadc.passes.maps.tile_values import region_operations
from tadc.passes.nest.caches import element_bytes


@dataclass(frozen=True)
class RowChain:
    """How a chain runs: rows of a block, the indices that number rows, threads of a row and of a block."""

    rows: int
    depth: int
    group: int
    block: int

    @property
    def by_turns(self) -> bool:
        """Whether a block runs all maps for one of its rows after the other."""
        return self.group == self.block and self.rows > 1

    @property
    def near_rows(self) -> int:
        """The rows that shared memory has at a time."""
        return 1 if self.by_turns else self.rows

    @staticmethod
    def of(op: Any) -> RowChain:
        """The chain that a map is marked with."""
        numbers: list[int] = list(ir.DenseI64ArrayAttr(op.attributes[CHAIN]))
        return RowChain(*numbers[1:])


def row_bytes(type: Any, depth: int) -> int:
    """The bytes of a row of a tensor, or of all of it."""
    return math.prod(type.shape[depth:]) * element_bytes(type)


def _read_by(op: Any) -> set[Any]:
    """The tensors that a map reads."""
    inner = region_operations(op.regions[0].blocks[0])
    return {read.operands[0] for read in inner if read.name == "tad.read"}


def near_tensors(ops: Sequence[Any], chain: RowChain, gpu: Gpu) -> list[Any]:
    """The tensors that maps of a chain compute and later ones read, where shared memory has room for them."""
    made = {value: op for op in ops for value in op.results if STEPS not in op.attributes}
    read = {value for op in ops for value in _read_by(op) if value in made}
    room = gpu.static_shared - ROOM
    found: list[Any] = []
    for value in made:
        each = -(-row_bytes(value.type, chain.depth) // 16) * 16 * chain.near_rows
        if value in read and each <= room:
            room -= each
            found.append(value)
    return found


def is_inner(value: Any, ops: Sequence[Any]) -> bool:
    """Whether none but these maps reads a tensor."""
    owners = [getattr(use.owner, "operation", use.owner) for use in value.uses]
    return all(o.name != "func.return" and map_around(o) in ops for o in owners)
