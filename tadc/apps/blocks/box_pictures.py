"""Pictures of blocks: of each tensor the boxes that one block reads or computes, beside all blocks."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from tadc.apps.blocks.block_places import Box, Places
from tadc.apps.blocks.block_plan import BlockPlan, BlockTask, StagePlan
from tadc.toolkit.reporting import COLORS, GREY, INK, picture_of

#: Of a tensor of one dimension, how high it is drawn, as a share of its length.
_FLAT = 0.12


def draw(plan: BlockPlan, cell: tuple[int, ...] | None = None, kind: str = "svg") -> bytes:
    """The first stage: arguments in the first row, results in the second, and what a block has of each.

    What is drawn are the last two dimensions. The block is the middle one if none is named. Raises
    CompileError (TAD0802) without matplotlib.
    """
    stage = plan.stages[0]
    if cell is None:
        cell = tuple(len(places) // 2 for places in stage.places)
    task = stage.task(cell)
    rows = [list(task.reads.items()), list(task.writes.items())]
    wide = max(map(len, rows))

    def figure(made: Any) -> None:
        for r, row in enumerate(rows):
            for n, (name, box) in enumerate(row):
                _tensor(made.add_subplot(2, wide, r * wide + n + 1), stage, task, name, box)

    return picture_of(kind, (2.4 * wide + 0.4, 4.6), figure)


def _tensor(axes: Any, stage: StagePlan, task: BlockTask, name: str, box: Box) -> None:
    """One tensor: its frame, the lines between blocks, and the box."""
    from matplotlib.patches import Rectangle

    shape = stage.shapes[name]
    height, width = _flat((*(range(size) for size in shape),))
    high, wide = len(height), len(width)
    axes.add_patch(Rectangle((0, 0), wide, high, fill=False, edgecolor=INK))
    for along, places in zip(stage.stage.axes, stage.places, strict=True):
        d = along.dims.get(name)
        if d is None or d < len(shape) - 2:
            continue
        for place in places[1:]:
            line = axes.axvline if d == len(shape) - 1 else axes.axhline
            line(place.start, color=GREY, linewidth=0.6)
    color = COLORS[0] if name in task.reads else COLORS[1]
    for part in product(*map(_runs, box[-2:])):
        rows, columns = _flat(part, high)
        corner = columns.start, rows.start
        sides = len(columns), len(rows)
        axes.add_patch(Rectangle(corner, *sides, facecolor=color, alpha=0.5, edgecolor=color))
    axes.set_xlim(-0.02 * wide, 1.02 * wide)
    axes.set_ylim(1.02 * high, -0.02 * high)
    axes.set_aspect("auto" if len(shape) < 2 else "equal")
    axes.set_title(f"{name}[{', '.join(map(_said, box))}]", fontsize=8)
    axes.set_axis_off()


def _said(places: Places) -> str:
    """Places as a title has them."""
    if isinstance(places, range):
        return f"{places.start}:{places.stop}"
    return f"{len(places)} of {places[0]}:{places[-1] + 1}"


def _runs(places: Places) -> list[range]:
    """Places as runs."""
    if isinstance(places, range):
        return [places]
    parts = np.split(places.array, np.flatnonzero(np.diff(places.array) > 1) + 1)
    return [range(int(part[0]), int(part[-1]) + 1) for part in parts]


def _flat(box: tuple[range, ...], high: int | None = None) -> tuple[range, range]:
    """The last two dimensions of a box, also of one that has fewer."""
    if len(box) >= 2:
        return box[-2], box[-1]
    columns = box[0] if box else range(1)
    return range(high or max(1, round(_FLAT * len(columns)))), columns
