"""What windows there are, in words: how many steps of a tensor are kept, and why no other is read; how many
steps are taken again."""

from __future__ import annotations

from collections.abc import Iterator

from tadc.frontend.print_index import form_text
from tadc.passes.maps.checkpoints import steps_taken
from tadc.passes.maps.map import Map, MapFunction
from tadc.passes.maps.windows import Distance, distances_of, most_of


def windows_text(function: MapFunction) -> list[str]:
    """For each tensor of a function that has a window its steps, and a line for each read of it."""
    return [
        line for item in function.maps if item.marks.window is not None for line in _lines(item, function)
    ]


def _lines(item: Map, function: MapFunction) -> Iterator[str]:
    """The lines of one map's tensors."""
    window = item.marks.window
    assert window is not None
    names = [_label(tensor.label, tensor.name) for tensor in item.tensors if tensor.name in function.windows]
    tape, sweep = item.marks.tape, item.marks.sweep
    saved = f", {_steps(window.saved)} saved" if tape and tape.depth else ""
    yield f"{', '.join(names)}: {_steps(window.rows)} in memory{saved}"
    if tape and sweep and (count := item.extents[sweep.index]).is_constant:
        again = steps_taken(count.constant, tape) - count.constant
        yield f"  {_steps(count.constant)}, and {_steps(again)} again for the gradient"
    yield from dict.fromkeys(f"  {_read(each)}" for each in distances_of(item, function))


def _read(each: Distance) -> str:
    """How far back a read is, at most."""
    at = ", ".join(map(form_text, each.at))
    name, by = (_label(t.label, t.name) for t in (each.tensor, each.reader.tensors[0]))
    start = "its own step" if each.along else "the last step"
    most = most_of([(each.form, each.facts)])
    back = f"at most {_steps(most)} before {start}" if most else start
    return f"{name}[{at}] for {by}: {back}"


def _steps(count: int) -> str:
    return "1 step" if count == 1 else f"{count} steps"


def _label(label: str, name: str) -> str:
    """What a person calls a tensor; a sum on its way has no name of theirs."""
    return label or f"sum {name}"
