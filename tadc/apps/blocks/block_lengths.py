"""Which indices of results are divided, and how long blocks are along them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from tadc.apps.blocks.axes import BlockAxis, axis_of, of_stored, reductions_of
from tadc.apps.blocks.block_plan import Length
from tadc.apps.blocks.block_stages import stages
from tadc.apps.blocks.read_copies import read_apart
from tadc.toolkit.language import Definition, Program, as_form
from tadc.toolkit.reporting import CompileError, Diagnostic, shown_value, usage
from tadc.toolkit.running import Function


def checked_lengths(lengths: Mapping[str, Any]) -> dict[str, Length | None]:
    """Lengths of blocks along indices. Raises UsageError for what is none."""
    found: dict[str, Length | None] = {}
    for name, length in lengths.items():
        several = cast("Sequence[Any]", length) if isinstance(length, tuple | list) else [length]
        for each in several:
            if length is not None and (not isinstance(each, int) or isinstance(each, bool) or each < 1):
                raise usage(
                    f"the length of a block along `{name}` is a number from 1, not {shown_value(each)}"
                )
        found[name] = tuple(several) if several is length else cast("int | None", length)
    return found


def usual_index(f: Function) -> str:
    """The index that is divided where none is named: the first one of the first result that has one."""
    found = next((d.indices[0] for d in f.program.outputs if d.indices), None)
    if found is None:
        raise usage("no result has an index to divide", "name that of a sum, `f.block(i=1000)`")
    return found


def named_axis(program: Program, name: str, others: Sequence[BlockAxis]) -> BlockAxis:
    """What goes along with an index that is named. Raises CompileError (TAD1001) where no result has it."""
    found = axis_of(program, name, others)
    if found is not None:
        return found
    indices = dict.fromkeys(index for d in program.outputs for index in d.indices)
    named = " or ".join(f"`{n}`" for n in indices)
    helps = [f"divide along {named}" if named else "name the index of a sum"]
    raise CompileError(
        [Diagnostic("TAD1001", f"no result has an index `{name}`", helps=helps, source=program.source)]
    )


def completed(f: Function, lengths: Mapping[str, Length | None]) -> dict[str, Length | None]:
    """The same lengths, and those of results which none of the indices divides.

    Such a result is divided along its first index that goes as far as one of these, in blocks of as many
    places; without lengths, all results are divided along their first index, if they may be.
    """
    found = dict(lengths) or {usual_index(f): None}
    program, _ = read_apart(of_stored(f.program), tuple(found))
    axes: list[BlockAxis] = []
    for name in found:
        axes.append(named_axis(program, name, axes))
    for definition in program.outputs:
        if _is_divided(program, definition, axes):
            continue
        for index, size in zip(definition.indices, definition.shape, strict=True):
            alike = [axis.name for axis in axes if as_form(size) in axis.extents]
            own = axis_of(program, index, axes) if index not in found and (alike or not lengths) else None
            if own is None or not _may_divide(program, [*axes, own]):
                continue
            found[index] = found[alike[0]] if alike else None
            axes.append(own)
            break
    return found


def _is_divided(program: Program, definition: Definition, axes: Sequence[BlockAxis]) -> bool:
    """Whether a result goes along with an axis, or is joined of parts along one."""
    sums = list(reductions_of(program, definition))
    return any(definition.name in a.dims or any(a.joins(s, definition) for s in sums) for a in axes)


def _may_divide(program: Program, axes: Sequence[BlockAxis]) -> bool:
    try:
        stages(program, axes)
    except CompileError:  # A recurrence goes along one of them.
        return False
    return True
