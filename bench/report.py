"""Results as tables for the terminal, and as parts of pages."""

from __future__ import annotations

from collections.abc import Mapping

from rich.table import Table

from bench.contenders import TADC
from bench.machine import headline, made_on
from bench.results import Cell, Results, geometric_mean
from bench.workloads import WORKLOADS

TITLES: Mapping[str, str] = {workload.name: workload.title for workload in WORKLOADS}


def summary(results: Results, dtype: str, threads: int) -> Table:
    """tadc against the best peer, and against what the machine can do."""
    table = Table(
        title=f"value + all gradients, {dtype}, {threads_text(threads)}", caption=headline(results.machine)
    )
    for column in (
        "workload", "tadc\nms", "best peer", "its\nms", "ratio", "floor, ms\nby work", "floor, ms\nby bytes",
        "floor\n/ tadc", "work /\nvalue's", "tempo-\nraries", "compile\nms",
    ):  # fmt: skip
        left = column in ("workload", "best peer")
        table.add_column(column, justify="left" if left else "right", no_wrap=True)
    cells = results.of(dtype, threads)
    for cell in sorted(cells, key=lambda c: c.ratio() or 0):
        floor, best = results.floor(cell), cell.best_peer()
        table.add_row(
            TITLES.get(cell.workload, cell.workload),
            milliseconds(cell.median()),
            best[0] if best else "",
            milliseconds(best[1] if best else None),
            ratio(cell.ratio()),
            *(milliseconds(part) for part in floor or (None, None)),
            percent(results.reached(cell)),
            ratio(results.overhead(cell.workload)),
            size(cell.temporaries.get(TADC)),
            milliseconds(cell.compile_seconds.get(TADC)),
        )
    table.add_section()
    table.add_row("geometric mean, Hessians apart", "", "", "", ratio(geometric_mean(cells)))
    return table


def all_times(results: Results, dtype: str, threads: int) -> Table:
    """The medians of all contenders."""
    table = Table(title=f"medians in ms, {dtype}, {threads_text(threads)}")
    cells = results.of(dtype, threads)
    names = list(dict.fromkeys(name for cell in cells for name in cell.seconds))
    table.add_column("workload", no_wrap=True)
    for name in names:
        table.add_column(name.replace(", ", ",\n"), justify="right", no_wrap=True)
    for cell in cells:
        found = (milliseconds(cell.median(name)) for name in names)
        table.add_row(TITLES.get(cell.workload, cell.workload), *found)
    return table


def absences(results: Results, dtype: str, threads: int) -> list[str]:
    """A line for each reason why contenders were not timed, with where it was so."""
    found: dict[tuple[str, str], list[str]] = {}
    for cell in results.of(dtype, threads):
        for name, why in cell.skipped.items():
            found.setdefault((name, why), []).append(TITLES.get(cell.workload, cell.workload))
    return [f"{name}: {why} ({'; '.join(places)})" for (name, why), places in found.items()]


def markdown(results: Results) -> str:
    """The table of `docs/performance.md`: times of the first setting, ratios of all."""
    settings = sorted(results.settings(), key=lambda s: (s[0], -s[1]))
    dtype, threads = results.first_setting()
    heads = ["workload", "tadc ms", "best peer", "its ms"]
    heads += [f"ratio, {d}, {threads_text(t)}" for d, t in settings]
    heads += ["of the roofline", "operations"]
    lines = ["| " + " | ".join(heads) + " |", "|---|--:|---|" + "--:|" * (len(heads) - 3)]
    for cell in results.of(dtype, threads):
        best = cell.best_peer()
        row = [
            TITLES.get(cell.workload, cell.workload),
            milliseconds(cell.median()),
            best[0] if best else "",
            milliseconds(best[1] if best else None),
            *(ratio(_same(results, cell, *setting)) for setting in settings),
            percent(results.reached(cell)),
            ratio(results.overhead(cell.workload)),
        ]
        lines.append("| " + " | ".join(row) + " |")
    means = [ratio(geometric_mean(results.of(*setting))) for setting in settings]
    lines.append("| " + " | ".join(["geometric mean, Hessians apart", "", "", "", *means, "", ""]) + " |")
    note = f"ms and roofline: {dtype}, {threads_text(threads)}. {headline(results.machine)}."
    return "\n".join([*lines, "", note])


def first_example(results: Results) -> str:
    """A sentence on the first example of the README, which is the workload `fir`."""
    filters = [cell for cell in results.cells if cell.workload == "fir" and cell.dtype == "f32"]
    if not filters:
        return ""
    cell = max(filters, key=lambda cell: cell.threads)
    sizes = next(" and ".join(f"{name} = {size:,}" for name, size in workload.sizes.items())
                 for workload in WORKLOADS if workload.name == cell.workload)  # fmt: skip
    where = f"for {sizes}, f32, on {threads_text(cell.threads)}"
    return f"Value and both gradients {where}: {_beside(cell)} ({made_on(results.machine)})."


def _beside(cell: Cell) -> str:
    """The time of tadc, of the fastest peer, and of JAX where that is another one."""
    ours, best = cell.median(), cell.best_peer()
    named = [best] if best else []
    jax = [(time, name) for name in cell.seconds if name.startswith("JAX") and (time := cell.median(name))]
    if jax and best and not best[0].startswith("JAX"):
        named.append(("JAX", min(jax)[0]))
    peers = [
        f"{name} {milliseconds(time)} ms ({ratio(time / ours)} times as long)" for name, time in named if ours
    ]
    return "; ".join([f"tadc takes {milliseconds(ours)} ms", *peers])


def caption(results: Results, link: str) -> str:
    """What stands below the chart; `link` leads to the page with all times."""
    dtype, threads = results.first_setting()
    return (
        "Value and all gradients against JAX, PyTorch, NumPy, numba and KeOps: each bar shows the fastest\n"
        f"alternative's time divided by tadc's ([all times]({link})). Every number: {dtype},\n"
        f"{threads_text(threads)}, {made_on(results.machine)}.\n"
        "The compiler was tuned while looking at these programs."
    )


def _same(results: Results, cell: Cell, dtype: str, threads: int) -> float | None:
    """The ratio of a workload in another setting."""
    found = [other.ratio() for other in results.of(dtype, threads) if other.workload == cell.workload]
    return found[0] if found else None


def threads_text(count: int) -> str:
    """With its number."""
    return "1 thread" if count == 1 else f"{count} threads"


def milliseconds(seconds: float | None) -> str:
    """Three digits."""
    return "" if seconds is None else _digits(1e3 * seconds)


def ratio(value: float | None) -> str:
    """Two or three digits."""
    return "" if value is None else _digits(value)


def percent(value: float | None) -> str:
    """Two digits."""
    if value is None:
        return ""
    return f"{100 * value:.0f} %" if value >= 0.1 else f"{100 * value:.2g} %"


def size(count: int | None) -> str:
    """Bytes in a unit that fits."""
    if count is None:
        return ""
    units = ("B", "KB", "MB", "GB")
    value, unit = float(count), 0
    while value >= 1000 and unit < len(units) - 1:
        value, unit = value / 1000, unit + 1
    return f"{_digits(value)} {units[unit]}"


def _digits(value: float) -> str:
    if value >= 100:
        return f"{value:.0f}"
    if value >= 10:
        return f"{value:.1f}"
    return f"{value:.2f}" if value >= 0.1 or not value else f"{value:.2g}"
