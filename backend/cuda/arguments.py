"""Arrays on a GPU as arguments of a call, and what is wrong with them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tadc.backend.cuda.device_arrays import View, is_on_gpu, view_of
from tadc.backend.runtime.addresses import overlap
from tadc.backend.runtime.host_arrays import Parameter, declared, shape_message, unreadable
from tadc.backend.runtime.outputs import by_name, shared
from tadc.frontend.diagnostics import ArgumentError, Diagnostic

#: What libraries raise for an array that they do not hand over.
REFUSALS = (ValueError, TypeError, KeyError, AttributeError, BufferError, RuntimeError)


def viewed(parameter: Parameter, value: Any) -> View:
    """The view of an array on a GPU. Raises ArgumentError."""
    try:
        return view_of(value)
    except REFUSALS as error:
        message = f"`{parameter.name}` cannot be read: {error}"
        known = unreadable(parameter, value)
        raise ArgumentError([known or Diagnostic("TAD0504", message, notes=[declared(parameter)])]) from None


def wrong(parameter: Parameter, view: View, device: int) -> list[Diagnostic]:
    """What keeps an array on a GPU from being read as it is."""
    fits = parameter.fits(view.shape)
    if view.dtype == parameter.dtype and fits and view.is_row_major and view.device == device:
        return []
    name, note = parameter.name, declared(parameter)
    if view.dtype != parameter.dtype:
        message = f"`{name}` has elements of type {view.dtype}, expected {parameter.dtype}"
        help = "arrays on a GPU are not converted: convert it before the call"
        return [Diagnostic("TAD0504", message, notes=[note], helps=[help])]
    if not fits:
        return [Diagnostic("TAD0503", shape_message(name, view.shape, parameter.shape), notes=[note])]
    if not view.is_row_major:
        message = f"`{name}` is not row-major"
        help = f"pass a copy that is: `{name}.contiguous()` in PyTorch, `cupy.ascontiguousarray({name})`"
        return [Diagnostic("TAD0504", message, notes=[note], helps=[help])]
    message = f"`{name}` is on GPU {view.device}, another argument on GPU {device}"
    return [Diagnostic("TAD0504", message, helps=["copy all arguments to one GPU"])]


def given_on_gpu(
    outputs: Sequence[Parameter], out: Any, device: int, alignment: int
) -> list[tuple[Any, View] | None]:
    """The arrays of `out=` with their views, None for an output that it gives none.

    `out` is what a call on the CPU takes: an array, a sequence, or a mapping by name.

    Raises:
        ArgumentError: TAD0505, all that is wrong.
    """
    problems: list[Diagnostic] = []
    values = by_name(outputs, out, problems)
    given: list[tuple[Any, View] | None] = []
    for parameter in outputs:
        value = values.get(parameter.name)
        view = None if value is None else _to_write(parameter, value, device, alignment, problems)
        given.append(None if view is None else (value, view))
    if not problems:
        spans = [(p.name, pair[1].span) for p, pair in zip(outputs, given, strict=True) if pair]
        problems = shared(spans, overlap)
    if problems:
        raise ArgumentError(problems)
    return given


def _to_write(
    parameter: Parameter, value: Any, device: int, alignment: int, problems: list[Diagnostic]
) -> View | None:
    """The view of an array of `out=`; what keeps it from being written is added to the problems."""
    name = parameter.name
    if not is_on_gpu(value):
        message = f"`out` for `{name}` is no array on a GPU, but an argument is"
        problems.append(Diagnostic("TAD0505", message, notes=[declared(parameter)]))
        return None
    found: list[Diagnostic] = []
    view: View | None = None
    try:
        view = viewed(parameter, value)
        found += wrong(parameter, view, device)
        if view.address % alignment:
            message = f"`out` for `{name}` begins at an address that is no multiple of {alignment}"
            found.append(
                Diagnostic("TAD0505", message, helps=["pass an array of its own, no part of another"])
            )
        if view.is_read_only:
            message = f"`out` for `{name}` is read-only"
            found.append(Diagnostic("TAD0505", message, helps=["pass an array that can be written"]))
    except ArgumentError as error:
        found += error.diagnostics
    for problem in found:
        problem.code = "TAD0505"
    problems += found
    return view
