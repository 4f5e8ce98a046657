"""The loops of a recurrence over tiles, where some of its indices count down."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tadc.lattice.affine import Affine
from tadc.passes.lower_body import BodyLowering
from tadc.passes.splits import Split
from tadc.passes.steps import Steps
from tadc.passes.tile_loops import Elements, Ends, Schedule, TileLoops


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

    def store(self, forms: Sequence[Affine], point: Any, elements: Elements) -> None:
        """Store the values of copies."""
        super().store(self.turned(forms), point, elements)

    def weave(self, groups: Sequence[Elements], forms: Sequence[Affine], point: Any) -> None:
        """Store the values of all residues of the lanes."""
        super().weave(groups, self.turned(forms), point)

    def turned(self, forms: Sequence[Affine]) -> list[Affine]:
        """Where an element is, from the forms of its loops."""
        pairs = enumerate(zip(forms, self.sizes, strict=True))
        return [size - 1 - form if n in self.down else form for n, (form, size) in pairs]
