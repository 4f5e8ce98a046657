"""How a block of threads runs a chain of maps (`maps/block_chains.py`), as its mark says, and which tensors
it keeps in shared memory; `chain_nests.py` makes the nest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tadc.passes.maps.block_chains import ROOM
from tadc.passes.maps.machine import Gpu
from tadc.passes.maps.map import Map, MapFunction, Tensor
from tadc.passes.maps.row_reads import bytes_of


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
    def of(item: Map) -> RowChain:
        """The chain that a map is marked with."""
        return RowChain(item.marks.rows, *item.marks.blocks)


def may_be_near(items: Sequence[Map]) -> dict[str, Tensor]:
    """The tensors that maps of a chain compute, and maps of it read."""
    made = (tensor for item in items if not item.marks.steps for tensor in item.tensors)
    read = {load.tensor for item in items for load in item.loads()}
    return {tensor.name: tensor for tensor in made if tensor.name in read}


def bytes_near(tensor: Tensor, chain: RowChain) -> int:
    """The bytes of shared memory for the rows of a tensor that it has at a time."""
    return -(-bytes_of(tensor, chain.depth) // 16) * 16 * chain.near_rows


def near_tensors(items: Sequence[Map], chain: RowChain, gpu: Gpu) -> list[Tensor]:
    """The tensors that maps of a chain compute and later ones read, where shared memory has room for them."""
    room = gpu.static_shared - ROOM
    found: list[Tensor] = []
    for tensor in may_be_near(items).values():
        each = bytes_near(tensor, chain)
        if each <= room:
            room -= each
            found.append(tensor)
    return found


def is_inner(name: str, items: Sequence[Map], function: MapFunction) -> bool:
    """Whether none but these maps reads a tensor."""
    others = (item for item in function.maps if item not in items)
    return name not in function.results and all(
        load.tensor != name for item in others for load in item.loads()
    )
