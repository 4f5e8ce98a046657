"""The text of schedules: for each map the steps that its nest takes, one a line.

map c
    split i 6 overlap -> i0, i1
    split j 32 -> j0, j1
    split j1 16 -> j2, j3
    reorder j0, i0, i1, j2, j3
    jam i1, j2
    lane j3
    stage %1 inside j0 over k, j2, j3
    threads i 6
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tadc.frontend.terms import Domain
from tadc.passes.maps.size_tests import Condition
from tadc.passes.nest.steps import (
    Bind,
    Cut,
    Fits,
    Flatten,
    FoldLanes,
    FoldThreads,
    InBlocks,
    Interleave,
    Leap,
    Peel,
    Points,
    Prefetch,
    Reorder,
    Residues,
    Reverse,
    Rows,
    Share,
    Split,
    Stage,
    Step,
    Stream,
    Threads,
    Transpose,
    When,
)
from tadc.passes.nest.text import form_text, rows_text


@dataclass(frozen=True)
class MapSchedule:
    """The steps for the map that computes some tensors."""

    tensors: tuple[str, ...]
    steps: tuple[Step, ...]


Schedule = tuple[MapSchedule, ...]


def schedule_text(schedule: Iterable[MapSchedule]) -> str:
    """A schedule as text, which `read_schedule` reads back."""
    lines: list[str] = []
    for item in schedule:
        lines.append(f"map {', '.join(item.tensors)}")
        lines += [f"    {step_text(step)}" for step in item.steps]
    return "\n".join([*lines, ""])


def step_text(step: Step) -> str:
    """One step."""
    match step:
        case Split(index=index, factor=factor, tail=tail, outer=outer, inner=inner):
            return f"split {index} {factor}{_unless(tail, 'exact')} -> {outer}, {inner}"
        case Peel():
            return _peel(step)
        case Residues(index=index, factor=factor, outer=outer, inner=inner):
            return f"residues {index} {factor} -> {outer}, {inner}"
        case Reorder(indices=indices):
            return f"reorder {', '.join(indices)}"
        case Reverse(index=index):
            return f"reverse {index}"
        case Bind(kind=kind, indices=indices):
            return f"{kind} {', '.join(indices)}"
        case InBlocks(threads=threads):
            return f"in_blocks {threads}"
        case Cut(fold=fold, index=index, steps=steps, outer=outer):
            return f"cut {fold} {index} {steps} -> {outer}"
        case FoldLanes(fold=fold, lanes=lanes, parts=parts):
            return f"fold_lanes {fold} {lanes}{_parts(parts)}"
        case FoldThreads(fold=fold, threads=threads, warp=warp):
            by_halves = f" warp {warp}" if warp != 1 else ""
            return f"fold_threads {fold} {', '.join(map(str, threads))}{by_halves}"
        case Leap(fold=fold, steps=steps, parts=parts):
            return f"leap {fold} {steps}{_parts(parts)}"
        case _:
            return _of_memory(step)


def _of_memory(step: Step) -> str:
    """A step about memory, or about which points are computed by whom."""
    match step:
        case Stage(read=read, inside=inside, over=over, fill=fill):
            where = f" inside {inside}" if inside else ""
            by = f" by {fill}" if fill != "vectors" else ""
            return f"stage {read}{where} over {', '.join(over)}{by}"
        case Share(reads=reads, fold=fold, steps=steps):
            by = f" in {fold} steps {', '.join(map(str, steps))}" if fold else ""
            return f"share{' ' * bool(reads)}{', '.join(reads)}{by}"
        case Transpose(read=read, index=index):
            return f"transpose {read} {index}"
        case Interleave(index=index):
            return f"interleave {index}"
        case Stream(tensors=tensors):
            return f"stream {', '.join(tensors)}"
        case Prefetch(read=read, how="run", index=index, over=over, lines=lines):
            return f"prefetch {read} run {index} over {', '.join(over)} lines {lines}"
        case Prefetch(read=read, how=how):
            return f"prefetch {read} {how}"
        case Threads(indices=indices, grains=grains):
            return f"threads {_pairs(indices, grains)}"
        case Rows(index=index, count=count):
            return f"rows {index} {count}"
        case Points(rows=rows, step=index):
            return f"points{_where(rows)}{_unless(index and f'step {index}', '')}"
        case Fits(least=least):
            return f"fits {_pairs([n for n, _ in least], [count for _, count in least])}"
        case When(tests=tests):
            return f"when {' and '.join(map(_test, tests))}"
        case Flatten(index=index):
            return f"flatten {index}"
        case _:
            raise AssertionError(f"{type(step).__name__} has no text")


def _test(test: Condition) -> str:
    extents = [form_text(extent) for extent in test.extents]
    product = " * ".join(f"({text})" if " " in text else text for text in extents)
    if test.least == test.most:
        return f"{product} = {test.most}"
    least = [f"{product} >= {test.least}"] * (test.least > 0)
    return " and ".join([*least, *([] if test.most is None else [f"{product} <= {test.most}"])])


def _unless(text: str, usual: str) -> str:
    return "" if text == usual else f" {text}"


def _parts(parts: int) -> str:
    return f" parts {parts}" if parts != 1 else ""


def _where(rows: Domain, about: Sequence[str] = ()) -> str:
    return f" where {rows_text(rows, about)}" if rows else ""


def _pairs(names: Iterable[str], counts: Iterable[int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in zip(names, counts, strict=True))


def _peel(step: Peel) -> str:
    factor = f" by {step.factor}" if step.factor != 1 else ""
    room = f" room {step.room}" if step.room != 1 else ""
    flags = f"{' groups' if step.groups else ''}{' all' if step.all else ''}"
    return f"peel {step.index}{_where(step.rows, (step.index,))}{factor}{room}{flags}"
