"""Indices like that of a batch: the function itself, of blocks of its arguments, computes a block."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from tadc.apps.blocks.axes import BlockAxis, axes_of
from tadc.apps.blocks.block_program import BlockProgram, Slice, divided
from tadc.apps.blocks.block_stages import stages
from tadc.toolkit.language import Affine, Argument, Program, as_form, extent, print_program
from tadc.toolkit.reporting import CompileError


@dataclass(frozen=True)
class BatchAxis:
    """An index along which the function of blocks of arguments gives blocks of results.

    `dims` has the dimension of each argument and result that is divided; what is not there is needed, or
    computed, whole. `joined` has the results of which blocks give parts, with the reduction of these.
    """

    name: str
    dims: Mapping[str, int]
    joined: Mapping[str, str]


def batch_axes(program: Program) -> Iterator[BatchAxis]:
    """Those of a program: where the program of a block is the program itself, but for the size's name.

    So nothing in it depends on where a block begins, or on how many places there are in all.
    """
    if any(tensor.pattern is not None for tensor in (*program.arguments, *program.definitions)):
        return
    for axis in axes_of(program):
        try:
            found = _batch_axis(program, axis)
        except CompileError:  # along a recurrence
            continue
        if found is not None:
            yield found


def _batch_axis(program: Program, axis: BlockAxis) -> BatchAxis | None:
    (stage, *others), size = stages(program, [axis]), axis.extents[0].variable
    if others or size is None:
        return None
    block = divided(stage)
    (along,) = block.along
    if size in block.sizes or block.text != print_program(_renamed(stage.program, size, along.size)):
        return None
    dims = _divided_dimensions(block, Slice(Affine.var(along.start), Affine.var(along.size)))
    unread = [argument for argument in program.arguments if argument.name not in block.slices]
    if dims is None or not _go_along(unread, size, dims):
        return None
    return BatchAxis(axis.name, dims, {part.name: part.kind for part in stage.parts})


def _renamed(program: Program, size: str, name: str) -> Program:
    """The program whose size has another name."""
    forms = {size: Affine.var(name)}

    def shape(extents: Sequence[int | Affine]) -> tuple[int | Affine, ...]:
        return tuple(extent(as_form(e).substitute(forms)) for e in extents)

    return replace(
        program,
        arguments=tuple(replace(a, shape=shape(a.shape)) for a in program.arguments),
        definitions=tuple(
            replace(d, shape=shape(d.shape), body=program.terms.substitute(d.body, forms))
            for d in program.definitions
        ),
        sizes=tuple(name if known == size else known for known in program.sizes),
    )


def _divided_dimensions(block: BlockProgram, own: Slice) -> dict[str, int] | None:
    """The dimension of each tensor that has the block's places; None where others are sliced."""
    found: dict[str, int] = {}
    for name, slices in block.slices.items():
        for d, part in enumerate(slices):
            if part is None:
                continue
            if part != own or name in found:
                return None
            found[name] = d
    return found


def _go_along(unread: Sequence[Argument], size: str, dims: dict[str, int]) -> bool:
    """Note what of arguments that tell sizes alone is divided; False where that cannot be."""
    for argument in unread:
        for d, form in enumerate(map(as_form, argument.shape)):
            if size in form.variables:
                if form.variable != size or argument.name in dims:
                    return False
                dims[argument.name] = d
    return True
