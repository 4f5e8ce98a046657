"""How the values of a tile get to memory.

A line of the cache that is written is read first. What nobody reads soon need not be in a cache: vectors that
are whole lines are then written past it, and nothing is read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tadc.lattice.affine import ZERO, Affine
from tadc.passes.maps.buffers import is_for_caller
from tadc.passes.maps.lower_body import BodyLowering
from tadc.passes.maps.tile_values import LANE, Copy, at
from tadc.passes.nest.caches import LINE, element_bytes, is_large
from tadc.passes.nest.lanes import Lanes

#: The values that a body yields in copies of a tile.
Elements = Sequence[tuple[Copy, list[Any]]]


def may_stream(op: Any, width: int) -> bool:
    """Whether what a map stores in vectors of this width may go past the caches: nothing but the caller reads
    it, it is large, and its rows are whole lines."""
    for result in op.results:
        type = result.type
        if not type.rank or not is_large(type):
            return False
        element = element_bytes(type)
        if width * element != LINE or (type.rank > 1 and type.shape[-1] * element % LINE):
            return False
        if not is_for_caller(result):
            return False
    return True


@dataclass(frozen=True)
class TileStores:
    """Stores of the results of a map; `streams` where they may go past the caches."""

    low: BodyLowering
    op: Any
    width: int
    streams: bool = False

    def store(self, forms: Sequence[Affine], point: Any, elements: Elements) -> None:
        """Store the values of copies, those of one tensor after the other."""
        lanes = Lanes(self.low, self.width)

        def plainly(number: int, buffer: Any) -> Callable[[Any], list[Any]]:
            def emit(inside: Any) -> list[Any]:
                for copy, values in elements:
                    lanes.store(values[number], buffer, [at(form, copy) for form in forms], inside)
                return []

            return emit

        def past_caches(number: int, buffer: Any) -> Callable[[Any], list[Any]]:
            def emit(inside: Any) -> list[Any]:
                for copy, values in elements:
                    value = lanes.spread(values[number], inside)
                    lanes.store_run(value, buffer, [at(form, copy) for form in forms], inside, LINE)
                return []

            return emit

        whole = list(forms)
        for number, tensor in enumerate(self.op.results):
            forms = self.low.place(tensor, whole)
            for buffer in (self.low.memrefs[tensor], *self.low.copies.get(tensor, ())):
                if not self.streams:
                    plainly(number, buffer)(point)
                    continue
                starts = self.starts_a_line(buffer, [at(form, elements[0][0]) for form in forms], point)
                self.low.choose(starts, [], past_caches(number, buffer), plainly(number, buffer), point)

    def starts_a_line(self, buffer: Any, forms: Sequence[Affine], point: Any) -> Any:
        """Whether the element of the first lane does, as the others of the tile then do."""
        low, index = self.low, self.low.index_type
        strides, _ = buffer.type.get_strides_and_offset()
        total = sum((form * k for form, k in zip(forms, strides, strict=True)), ZERO).substitute({LANE: ZERO})
        place = low.affine([total * element_bytes(buffer.type)], point)
        start = low.create("memref.extract_aligned_pointer_as_index", [index], [buffer], point).results[0]
        address = low.create("arith.addi", [index], [start, place], point).results[0]
        rest = low.create(
            "arith.andi", [index], [address, low.constant(index, LINE - 1, point)], point
        ).results[0]
        return low.compare("eq", rest, low.constant(index, 0, point), point)

    def weave(self, groups: Sequence[Elements], forms: Sequence[Affine], point: Any) -> None:
        """Store the values of all residues of the lanes, which stand side by side."""
        lanes = Lanes(self.low, self.width)
        for number, tensor in enumerate(self.op.results):
            for buffer in (self.low.memrefs[tensor], *self.low.copies.get(tensor, ())):
                for same in zip(*groups, strict=True):
                    at_first = [at(form, same[0][0]) for form in self.low.place(tensor, forms)]
                    woven = lanes.woven([values[number] for _, values in same], point)
                    lanes.store_run(woven, buffer, at_first, point)
