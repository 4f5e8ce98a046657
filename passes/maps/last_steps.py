"""Copies of the last steps of a recurrence, for what reads these when its window has others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tadc.lattice.affine import Affine
from tadc.passes.maps.blocks import BlockNames, blocks_of, with_blocks
from tadc.passes.maps.map import Block, Let, Load, Map, TensorDecl, Value

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

    def value(of: Value) -> Value:
        if not isinstance(of, Load):
            return with_blocks(of, [with_last_steps(inner, ends) for inner in blocks_of(of)])
        if of.tensor not in ends:
            return of
        copy, axis, begin = ends[of.tensor]
        at = (*of.at[:axis], of.at[axis] - begin, *of.at[axis + 1 :])
        return replace(of, tensor=copy.tensors[0].name, at=at)

    return replace(block, lets=tuple(replace(let, value=value(let.value)) for let in block.lets))
