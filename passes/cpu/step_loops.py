"""The loops of a recurrence over tiles, where some of its indices count down."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tadc.lattice.affine import Affine
from tadc.passes.cpu.splits import Split
from tadc.passes.cpu.tile_loops import Ends, TileLoops
from tadc.passes.cpu.tile_schedule import Schedule
from tadc.passes.maps.lower_body import BodyLowering
from tadc.passes.maps.steps import Steps


class StepLoops(TileLoops):
    """Tiles in the order of steps: an element of an index in `down` is stored as far from the end."""

    def __init__(
        self,
        op: Any,
        sizes: Sequence[Affine],
        lowering: BodyLowering,
        schedule: Schedule,
        found: Sequence[Split],
        ends: Ends | None,
        steps: Steps,
    ) -> None:
        super().__init__(op, sizes, lowering, schedule, found, ends)
        self.down = steps.down

    def places(self, forms: list[Affine]) -> list[Affine]:
        """Where an element is stored whose loops have these forms."""
        pairs = enumerate(zip(forms, self.sizes, strict=True))
        return [size - 1 - form if n in self.down else form for n, (form, size) in pairs]
