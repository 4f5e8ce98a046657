"""Attributes of maps that say how they are to be computed, written and read.

`ATTRIBUTES` in `dialect/attributes.py` says what each of them is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import astuple, replace

from tadc.dialect.attributes import ATTRIBUTES
from tadc.dialect.locations import UnsupportedIR, name_of
from tadc.dialect.mlir import ir
from tadc.passes.maps.buffers import maps_of
from tadc.passes.maps.map import Marks, Sweep, Tape, Window
from tadc.passes.rewrites.parts import Mark

#: Marks that a map has or has not, with what they are called in `Marks`.
FLAGS = {
    "tad.chain_steps": "steps",
    "tad.in_place": "in_place",
    "tad.parts": "parts",
    "tad.joined": "joined",
    "tad.kept": "kept",
}


def mark_maps(function: ir.Operation, marks: Mapping[str, Mark]) -> None:
    """Give the maps of these names their marks, for schedules to see."""
    for op in maps_of(function):
        if (mark := marks.get(name_of(op.location))) is not None:
            op.attributes[f"tad.{mark}"] = ir.UnitAttr.get(op.context)


def attributes_of(marks: Marks) -> dict[str, ir.Attribute]:
    """The attributes of a map with these marks."""
    numbers: dict[str, tuple[int, ...]] = {}
    if (window := marks.window) is not None:
        numbers["tad.window"] = (window.rows, *window.weights)
    if marks.sweep is not None:
        numbers["tad.sweep"] = astuple(marks.sweep)
    if marks.tape is not None:
        numbers["tad.tape"] = astuple(marks.tape)
    found: dict[str, ir.Attribute] = {}
    if marks.chain is not None:
        numbers["tad.chain"] = (marks.chain, marks.rows, *marks.blocks)
        if marks.row:
            found["tad.row"] = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), marks.row)
    found |= {name: ir.DenseI64ArrayAttr.get([*map(int, each)]) for name, each in numbers.items()}
    return found | {name: ir.UnitAttr.get() for name, flag in FLAGS.items() if getattr(marks, flag)}


def marks_of(op: ir.Operation) -> Marks:
    """The marks of the operation of a map. Raises UnsupportedIR for an attribute that is none."""

    def numbers(name: str) -> list[int] | None:
        return _numbers(op, name) if name in op.attributes else None

    steps, in_place, parts, joined, kept = (name in op.attributes for name in FLAGS)
    found = Marks(steps=steps, in_place=in_place, parts=parts, joined=joined, kept=kept)
    if last := numbers("tad.window"):
        found = replace(found, window=Window(last[0], tuple(last[1:])))
    if chain := numbers("tad.chain"):
        row = _numbers(op, "tad.row")[0] if "tad.row" in op.attributes else 0
        found = replace(found, chain=chain[0], rows=chain[1], row=row, blocks=tuple(chain[2:]))
        if along := numbers("tad.sweep"):
            found = replace(found, sweep=Sweep(*along[:3], down=bool(along[3])))
        if again := numbers("tad.tape"):
            tape = Tape(*again)
            window = found.window and replace(found.window, saved=tape.slots * tape.depth)
            found = replace(found, tape=tape, window=window)
    return found


def _numbers(op: ir.Operation, name: str) -> list[int]:
    """What an attribute lists, or the number that it is."""
    said = op.attributes[name]
    counts = {
        "tad.chain": (2, 5),
        "tad.window": (1 + op.results[0].type.rank,),
        "tad.sweep": (4,),
        "tad.tape": (6,),
    }
    found: list[int] = []
    try:
        found = list(ir.DenseI64ArrayAttr(said)) if name in counts else [ir.IntegerAttr(said).value]
    except ValueError:
        pass
    # A window has a dimension that memory has for steps.
    if len(found) in counts.get(name, (1,)) and (name != "tad.window" or 1 in map(abs, found[1:])):
        return found
    raise UnsupportedIR(f"'{name}' must be an {ATTRIBUTES[name][1]}, got {said}", op.location)
