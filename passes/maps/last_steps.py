"""Copies of the last steps of a recurrence, for what reads these when its window has others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tadc.lattice.affine import Affine
from tadc.passes.maps.blocks import BlockNames, with_reads
from tadc.passes.maps.map import Block, Let, Load, Map, TensorDecl

End = tuple[Map, int, Affine]
"""A map that copies the last steps of a tensor; which subscript counts steps, and from where on it does."""


def last_steps(tensor: TensorDecl, item: Map, names: BlockNames) -> End:
    """The map that copies the last steps of a map's tensor, those of its window."""
    window, sweep = item.marks.window, item.marks.sweep
    assert window is not None
    assert sweep is not None
    rows, axis = Affine.const(window.rows), window.axis
    begin = Affine.const(0) if sweep.down else tensor.shape[axis] - rows
    shape = (*tensor.shape[:axis], rows, *tensor.shape[axis + 1 :])
    at = [Affine.var(name) for name in item.indices]
    at[axis] += begin
    read = Let(("%0",), Load(tensor.name, tuple(at), tensor.type))
    copy = replace(tensor, name=names.new(f"{tensor.name}_end"), shape=shape)
    return Map((copy,), item.indices, shape, Block((read,), ("%0",)), place=item.place), axis, begin


def with_last_steps(block: Block, ends: Mapping[str, End]) -> Block:
    """A block that reads copies of last steps."""

    def place(tensor: str, at: tuple[Affine, ...]) -> tuple[str, tuple[Affine, ...]]:
        if tensor not in ends:
            return tensor, at
        copy, axis, begin = ends[tensor]
        return copy.tensors[0].name, (*at[:axis], at[axis] - begin, *at[axis + 1 :])

    return with_reads(block, place)
