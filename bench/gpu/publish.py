"""`python -m bench.gpu.publish RESULTS.json`: `docs/gpu.json`, of medians, and the table in `docs/gpu.md`."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from statistics import median
from typing import Any

from bench.gpu.table import table
from bench.publish import replaced

ROOT = Path(__file__).parents[2]
MARK, COMMAND = "gpu", "python -m bench.gpu.publish RESULTS.json"
#: What of a cell are lists of seconds.
TIMED = ("seconds", "flushed", "graph", "any")


def reduced(parts: Mapping[str, Any]) -> dict[str, Any]:
    """What pages show of results: of each list of times the median, to three digits."""
    cells = {name: cell for name, cell in parts["bench"].items() if name != "ceilings"}
    return {
        "machine": parts["machine"],
        "ceilings": parts["bench"]["ceilings"],
        "cells": [
            {**cell, **{how: {who: [_short(t)] for who, t in cell[how].items() if t} for how in TIMED}}
            for cell in cells.values()
        ],
    }


def _short(times: list[float]) -> float:
    return float(f"{median(times):.3g}")


def part_of(found: Mapping[str, Any]) -> str:
    """The part of the page."""
    machine, limits = found["machine"], found["ceilings"]
    peaks = f"{limits['f32'] / 1e12:.0f} TFLOP/s in f32, {limits['f64'] / 1e12:.0f} in f64"
    head = f"{machine['device']}, CUDA {machine['driver']}, {machine['date']}; measured there:"
    return "\n".join(
        [f"{head} {limits['bytes'] / 1e9:.0f} GB/s copied, {peaks}.", "", *table(found["cells"], limits)]
    )


def main(words: list[str]) -> None:
    """Write both; of `docs/gpu.json` itself, the table alone."""
    (source,) = words
    found = json.loads(Path(source).read_text(encoding="utf-8"))
    found = found if "cells" in found else reduced(found)
    (ROOT / "docs" / "gpu.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    page = ROOT / "docs" / "gpu.md"
    text = replaced(page.read_text(encoding="utf-8"), MARK, part_of(found), COMMAND)
    page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
