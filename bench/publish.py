"""What a benchmark writes: data, the chart and its captions, a table, a line of the README."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from bench import chart
from bench.report import caption, first_example, markdown
from bench.results import Results

#: Page, mark, and what makes the part: it stands between `<!-- MARK: …` and `<!-- end of MARK -->`.
PARTS = (
    ("docs/performance.md", "benchmark", markdown),
    ("README.md", "first example", first_example),
    ("README.md", "chart", partial(caption, link="docs/performance.md")),
    ("docs/index.md", "chart", partial(caption, link="performance.md")),
)


def publish(results: Results, root: Path) -> None:
    """Write `docs/benchmark.json`, `docs/benchmark.svg`, and the parts of pages."""
    results.write(root / "docs" / "benchmark.json")
    chart.draw(results, root / "docs" / "benchmark.svg")
    for name, mark, made in PARTS:
        page = root / name
        text = replaced(page.read_text(encoding="utf-8"), mark, made(results))
        page.write_text(text, encoding="utf-8")


def replaced(text: str, mark: str, part: str, command: str = "make bench") -> str:
    """The page with the part between its markers. Raises ValueError where they are missing."""
    begin, end = markers(mark, command)
    before, found, rest = text.partition(begin)
    _, ended, after = rest.partition(end)
    if not found or not ended:
        raise ValueError(f"the page has no lines {begin!r} and {end!r}")
    return f"{before}{begin}\n{part}\n{end}{after}"


def markers(mark: str, command: str = "make bench") -> tuple[str, str]:
    """The lines around a part that a command writes."""
    return f"<!-- {mark}: `{command}` writes this -->", f"<!-- end of {mark} -->"
