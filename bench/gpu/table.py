"""Tables in Markdown of what was found on a GPU."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import median
from typing import Any

#: Columns of peers: a title, and the names of the peers of which the fastest is shown.
PEERS = {
    "PyTorch": ("PyTorch", "PyTorch, tuned"),
    "compiled": ("PyTorch, compiled",),
    "JAX": ("JAX", "JAX, tuned"),
    "TF32": ("PyTorch, TF32", "JAX, TF32"),
    "bf16": ("PyTorch, bf16",),
}


def markdown(parts: Mapping[str, Any]) -> str:
    """All that was found."""
    machine = parts["machine"]
    text = [f"# {machine['device']}", ", ".join(f"{name} {value}" for name, value in machine.items())]
    for kind, written in (("test", _tests), ("sanitize", _tests), ("bench", _times)):
        if parts.get(kind):
            text += [f"## {kind}", *written(parts[kind])]
    return "\n\n".join(text) + "\n"


def _tests(cases: Mapping[str, Any]) -> Iterator[str]:
    wrong = {name: found["why"] for name, found in cases.items() if not found["ok"]}
    yield f"{len(cases) - len(wrong)} of {len(cases)} cases agree."
    if wrong:
        yield "\n".join(f"- {name}: {' '.join(why.split())[:300]}" for name, why in wrong.items())


def _times(cells: Mapping[str, Any]) -> Iterator[str]:
    limits = cells["ceilings"]
    yield (
        f"Measured: {limits['bytes'] / 1e9:.0f} GB/s copied, {limits['f32'] / 1e12:.1f} TFLOP/s in f32,"
        f" {limits['f64'] / 1e12:.1f} in f64."
    )
    yield "\n".join(table([cell for name, cell in cells.items() if name != "ceilings"], limits))


def table(cells: Sequence[Mapping[str, Any]], limits: Mapping[str, float]) -> list[str]:
    """A row a workload, in microseconds; `ratio` is the fastest peer of equal precision over tadc."""
    head = ["workload", "single", "queued", "graph", "any sizes", "host", "least", "model", *PEERS, "ratio"]
    return list(_rows([head, *(_row(cell, limits) for cell in cells)]))


def _row(cell: Mapping[str, Any], limits: Mapping[str, float]) -> list[str]:
    name = f"{cell['workload']} {cell['dtype']}"
    if "tadc" not in cell["seconds"]:
        return [name, cell["skipped"].get("tadc", "")]
    times = {who: median(found) for who, found in cell["seconds"].items()}
    own = [cell[how].get("tadc", ()) for how in ("flushed", "seconds", "graph", "any")]
    least = max(cell["bytes"] / limits["bytes"], cell["operations"] / limits[cell["dtype"]])
    peers = [min((times[who] for who in names if who in times), default=None) for names in PEERS.values()]
    equal = [time for title, time in zip(PEERS, peers, strict=True) if time and title not in ("TF32", "bf16")]
    ratio = f"{min(equal) / times['tadc']:.2f}" if equal else ""
    bounds = least, cell.get("model")
    shown = [*(median(found) if found else None for found in own), cell["host"], *bounds, *peers]
    return [name, *map(_microseconds, shown), ratio]


def _microseconds(seconds: float | None) -> str:
    return "" if seconds is None else f"{1e6 * seconds:.{0 if seconds > 1e-4 else 1}f}"


def _rows(rows: Iterable[Sequence[str]]) -> Iterator[str]:
    for n, row in enumerate(rows):
        yield f"| {' | '.join(row)} |"
        if n == 0:
            yield f"|---|{'--:|' * (len(row) - 1)}"
