"""The part of the README that a run of the benchmark writes."""

from __future__ import annotations

from pathlib import Path

from bench import chart
from bench.report import markdown
from bench.results import Results

BEGIN, END = "<!-- benchmark: `make bench` writes this -->", "<!-- end of benchmark -->"


def publish(results: Results, root: Path) -> None:
    """Write `docs/benchmark.json`, `docs/benchmark.svg`, and the table of the README."""
    results.write(root / "docs" / "benchmark.json")
    chart.draw(results, root / "docs" / "benchmark.svg")
    readme = root / "README.md"
    readme.write_text(replaced(readme.read_text(encoding="utf-8"), markdown(results)), encoding="utf-8")


def replaced(text: str, table: str) -> str:
    """The text with the table between its markers. Raises ValueError where they are missing."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"the README has no lines {BEGIN!r} and {END!r}")
    return f"{before}{begin}\n{table}\n{end}{after}"
