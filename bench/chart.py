"""The ratio of each workload as bars around 1, for light and dark pages."""

from __future__ import annotations

from io import StringIO
from pathlib import Path
from typing import Any

import matplotlib

from bench.machine import made_on
from bench.report import TITLES, ratio, threads_text
from bench.results import Results

TICKS = (0.001, 0.01, 0.1, 0.5, 1, 2, 5, 10, 20, 50, 100, 1000)
# All read on white and on black.
INK, FASTER, SLOWER = "#808080", "#2f8ac4", "#d9772b"


def draw(results: Results, path: Path) -> None:
    """Write the chart as SVG; the same results give the same bytes."""
    matplotlib.use("svg")
    import matplotlib.pyplot as plt

    style: Any = {
        "svg.hashsalt": "tadc", "svg.fonttype": "none", "font.family": "sans-serif", "font.size": 11,
        "text.color": INK, "axes.edgecolor": INK, "axes.labelcolor": INK,
        "xtick.color": INK, "ytick.color": INK,
    }  # fmt: skip
    dtype, threads = results.first_setting()
    cells = [(cell.workload, r) for cell in results.of(dtype, threads) if (r := cell.ratio())]
    with plt.rc_context(style):
        figure, axes = plt.subplots(figsize=(8, 0.6 + 0.32 * len(cells)))
        _bars(axes, cells)
        where = f"{dtype}, {threads_text(threads)}; {made_on(results.machine)}"
        axes.set_xlabel(f"time of the fastest alternative / time of tadc\n{where}")
        text = StringIO()
        figure.savefig(text, format="svg", transparent=True, bbox_inches="tight", metadata={"Date": None})
        plt.close(figure)
    lines = (line.rstrip() for line in text.getvalue().splitlines())
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _bars(axes: Any, cells: list[tuple[str, float]]) -> None:
    places = range(len(cells), 0, -1)
    values = [value for _, value in cells]
    colours = [FASTER if value >= 1 else SLOWER for value in values]
    axes.barh(places, [value - 1 for value in values], left=1, color=colours, height=0.7)
    axes.set_xscale("log")
    axes.set_xlim(min(0.5, *values) / 2.5, max(2.0, *values) * 2)
    axes.axvline(1, color=INK, linewidth=1)
    axes.set_yticks(list(places), [TITLES.get(name, name) for name, _ in cells])
    axes.tick_params(axis="y", length=0)
    low, high = axes.get_xlim()
    ticks = [t for t in TICKS if low < t < high]
    axes.set_xticks(ticks, [f"{t:g}" for t in ticks])
    axes.minorticks_off()
    for place, value in zip(places, values, strict=True):
        axes.annotate(
            ratio(value), (value, place), (4 if value >= 1 else -4, 0), textcoords="offset points",
            va="center", ha="left" if value >= 1 else "right", fontsize=9,
        )  # fmt: skip
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
