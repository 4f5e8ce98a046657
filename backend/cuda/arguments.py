"""Arrays on a GPU as arguments of a call, and what is wrong with them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tadc.backend.cuda.arrays import View, is_on_gpu, view_of
from tadc.backend.runtime.arrays import Parameter, declared, shape_message
from tadc.frontend.diagnostics import ArgumentError, Diagnostic

#: What libraries raise for an array that they do not hand over.
_REFUSALS = (ValueError, TypeError, KeyError, AttributeError, BufferError, RuntimeError)


def viewed(parameter: Parameter, value: Any) -> View:
    """The view of an array on a GPU. Raises ArgumentError."""
    try:
        return view_of(value)
    except _REFUSALS as error:
        message = f"`{parameter.name}` cannot be read: {error}"
        raise ArgumentError([Diagnostic("TAD0504", message, notes=[declared(parameter)])]) from None


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
) -> list[tuple[Any, View]]:
    """The arrays of `out=`, with their views: one, a sequence, or a mapping by name. Raises ArgumentError."""
    if isinstance(out, Mapping):
        values: list[Any] = [out.get(p.name) for p in outputs]  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    else:
        values = list(out) if isinstance(out, tuple | list) else [out]  # pyright: ignore[reportUnknownArgumentType]
    if len(values) != len(outputs):
        message = f"`out` gives {len(values)} arrays for {len(outputs)} outputs"
        raise ArgumentError([Diagnostic("TAD0505", message)])
    problems: list[Diagnostic] = []
    given: list[tuple[Any, View]] = []
    for parameter, value in zip(outputs, values, strict=True):
        if not is_on_gpu(value):
            message = f"`out` for `{parameter.name}` is no array on a GPU, but an argument is"
            problems.append(Diagnostic("TAD0505", message, notes=[declared(parameter)]))
            continue
        try:
            view = viewed(parameter, value)
        except ArgumentError as error:
            problems += error.diagnostics
            continue
        found = wrong(parameter, view, device)
        if view.address % alignment:
            message = f"`out` for `{parameter.name}` begins at an address that is no multiple of {alignment}"
            helps = ["pass an array of its own, no part of another"]
            found.append(Diagnostic("TAD0505", message, helps=helps))
        if view.is_read_only:
            found.append(Diagnostic("TAD0505", f"`out` for `{parameter.name}` is read-only"))
        for problem in found:
            problem.code = "TAD0505"
        problems += found
        given.append((value, view))
    if problems:
        raise ArgumentError(problems)
    return given
