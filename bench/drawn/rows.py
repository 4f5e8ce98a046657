"""What was timed of programs that were drawn, shown by class, by peer, and the worst of all."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from rich.table import Table

from bench.contenders import TADC
from bench.machine import headline, made_on

#: So many rows are shown of the worst.
WORST = 10
Setting = tuple[int, bool]


@dataclass
class Row:
    """A program in a setting, and the median time of each contender; why there is none."""

    kind: str
    name: str
    title: str
    threads: int
    avx2: bool
    program: str = ""
    sizes: dict[str, int] = field(default_factory=dict[str, int])
    ms: dict[str, float] = field(default_factory=dict[str, float])
    failed: str = ""

    def peers(self) -> dict[str, float]:
        """The times of all others, over that of tadc."""
        return {name: ms / self.ms[TADC] for name, ms in self.ms.items() if name != TADC}

    def best(self) -> str:
        """The fastest of the others."""
        return min(self.peers(), key=self.peers().__getitem__)

    def ratio(self) -> float:
        """The time of the fastest of the others over that of tadc."""
        return min(self.peers().values())


@dataclass
class Rows:
    """All rows of a machine, and the seed that they were drawn from."""

    machine: dict[str, Any]
    seed: int
    rows: list[Row]

    def settings(self) -> list[Setting]:
        """Threads, and whether only AVX2 was used."""
        return list(dict.fromkeys((row.threads, row.avx2) for row in self.rows))

    def timed(self, setting: Setting, wanted: Callable[[Row], bool] = lambda row: True) -> list[Row]:
        """The rows of a setting that have times."""
        rows = (row for row in self.rows if (row.threads, row.avx2) == setting and not row.failed)
        return [row for row in rows if wanted(row)]


def told(setting: Setting) -> str:
    """A setting in words."""
    threads, avx2 = setting
    return f"{threads} thread{'s' if threads > 1 else ''}{', AVX2' if avx2 else ''}"


def _mean(ratios: Iterable[float]) -> str:
    found = [*ratios]
    return f"{statistics.geometric_mean(found):.2f}" if found else ""


def means(rows: Rows) -> Iterator[list[str]]:
    """By class, by peer, and over all; then how many are slower than the best peer by a tenth."""
    settings = rows.settings()
    for kind in dict.fromkeys(row.kind for row in rows.rows):
        yield [kind, *(_mean(r.ratio() for r in rows.timed(s, lambda r: r.kind == kind)) for s in settings)]
    yield ["all", *(_mean(r.ratio() for r in rows.timed(s)) for s in settings)]
    for peer in sorted({name.split(",")[0] for row in rows.rows for name in row.ms if name != TADC}):
        yield [
            f"only {peer}",
            *(_mean(r for row in rows.timed(s) for r in _of(row, peer)) for s in settings),
        ]
    yield ["below 0.9", *(_below(rows.timed(s)) for s in settings)]


def _of(row: Row, peer: str) -> list[float]:
    """The best ratio of the forms of a peer, if it took part."""
    return [min(own)] if (own := [r for name, r in row.peers().items() if name.split(",")[0] == peer]) else []


def _below(rows: list[Row]) -> str:
    return f"{sum(row.ratio() < 0.9 for row in rows)} of {len(rows)}"


def worst(rows: Rows) -> Iterator[list[str]]:
    """The rows with the least ratios of each setting."""
    for setting in rows.settings():
        for row in sorted(rows.timed(setting), key=Row.ratio)[:WORST]:
            best = row.best()
            sizes = ", ".join(f"{name} {size}" for name, size in row.sizes.items())
            yield [
                told(setting), row.name, f"{row.title}; {sizes}",
                f"{row.ms[TADC]:.2f}", best, f"{row.ms[best]:.2f}", f"{row.ratio():.2f}",
            ]  # fmt: skip
    for row in rows.rows:
        if row.failed:
            yield [told((row.threads, row.avx2)), row.name, row.title, "", "", "", row.failed[:60]]


_WORST = ("setting", "program", "parameters", "tadc ms", "best peer", "its ms", "ratio")


def shown(rows: Rows) -> list[Table]:
    """As tables for a terminal."""
    heads = ["class", *map(told, rows.settings())]
    made = [Table(*heads, title=f"seed {rows.seed}: time of the best peer over that of tadc"), Table(*_WORST)]
    for table, lines in zip(made, (means(rows), worst(rows)), strict=True):
        for line in lines:
            table.add_row(*line)
    return made


def pages(rows: Rows) -> Iterator[tuple[str, str, str]]:
    """Pages, marks, and the text between them."""
    heads = ["class", *map(told, rows.settings())]
    foot = f"{headline(rows.machine)}; seed {rows.seed:x}."
    lowest = "The ten lowest ratios of each setting:"
    parts = _markdown(heads, means(rows)), lowest, _markdown(_WORST, worst(rows)), foot
    yield "docs/measurements.md", "drawn", "\n\n".join(parts)
    yield "docs/performance.md", "drawn", _line(rows, "measurements.md")
    yield "README.md", "drawn", _line(rows, "docs/measurements.md")


def _markdown(heads: Iterable[str], lines: Iterable[list[str]]) -> str:
    heads = [*heads]
    rule = ["---" if n == 0 else "--:" for n in range(len(heads))]
    return "\n".join("| " + " | ".join(line) + " |" for line in (heads, rule, *lines)).replace(
        "| ---", "|---"
    )


def _line(rows: Rows, page: str) -> str:
    """The means, and a link to the page with the rest."""
    by = {setting: rows.timed(setting) for setting in rows.settings()}
    parts = [f"{_mean(row.ratio() for row in own)} on {told(setting)}" for setting, own in by.items()]
    count = len(next(iter(by.values())))
    return (
        f"On {count} programs drawn at random when they were timed (value and gradients, or other\n"
        "derivatives), the fastest alternative's time divided by tadc's is (geometric mean):\n"
        f"{'; '.join(parts)}\n({made_on(rows.machine)};\n"
        f"[by class, by alternative, and the ten worst]({page}#random-programs))."
    )
