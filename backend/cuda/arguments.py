"""Arrays on a GPU as arguments of a call, and what is wrong with them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from tadc.backend.cuda.device_arrays import View, is_on_gpu, view_of
from tadc.backend.runtime.addresses import overlap
from tadc.backend.runtime.call_messages import said, wrong_shape
from tadc.backend.runtime.host_arrays import HOST, Array, unreadable
from tadc.backend.runtime.outputs import OUT, given_arrays
from tadc.backend.runtime.parameters import Parameter
from tadc.backend.runtime.read_calls import Door
from tadc.frontend.diagnostics import ArgumentError, Diagnostic

#: What libraries raise for an array that they do not hand over.
REFUSALS = (ValueError, TypeError, KeyError, AttributeError, BufferError, RuntimeError)


class GpuDoor(Door):
    """Arrays of one call, those on a GPU as views: read as they are, or not at all."""

    def __init__(self) -> None:
        #: Where the first of them is.
        self.device: int | None = None

    def seen(self, parameter: Parameter, value: Any) -> Array | View | Diagnostic:
        """See Door."""
        if not is_on_gpu(value):
            return HOST.seen(parameter, value)
        view = viewed(parameter, value)
        if isinstance(view, Diagnostic):
            return view
        self.device = view.device if self.device is None else self.device
        return wrong(parameter, view, self.device) or view


def viewed(parameter: Parameter, value: Any) -> View | Diagnostic:
    """The view of an array on a GPU, or why there is none."""
    try:
        return view_of(value)
    except REFUSALS as error:
        return unreadable(parameter, value) or said("not read", parameter, reason=error)


def wrong(parameter: Parameter, view: View, device: int, **words: str) -> Diagnostic | None:
    """What keeps an array on a GPU from being read as it is; in the words for arguments, or in others."""
    if view.dtype != parameter.dtype:
        help = "arrays on a GPU are not converted: convert it before the call"
        return said("type", parameter, found=view.dtype, helps=[help], **words)
    if not parameter.fits(view.shape):
        return wrong_shape(parameter, view.shape, **words)
    if not view.is_row_major:
        return said("gaps", parameter, **words)
    if view.device != device:
        return said("other device", parameter, found=view.device, expected=device, **words)
    return None


def given_on_gpu(
    outputs: Sequence[Parameter], out: Any, device: int, alignment: int
) -> list[tuple[Any, View] | None]:
    """The arrays of `out=` with their views, None for an output that it gives none.

    `out` is what a call on the CPU takes: an array, a sequence, or a mapping by name.

    Raises:
        ArgumentError: TAD0505, all that is wrong.
    """

    def look(parameter: Parameter, value: Any) -> tuple[Any, View]:
        return value, _to_write(parameter, value, device, alignment)

    return given_arrays(outputs, out, look, lambda one, other: overlap(one[1].span, other[1].span))


def _to_write(parameter: Parameter, value: Any, device: int, alignment: int) -> View:
    """The view of an array of `out=`. Raises ArgumentError for what keeps it from being written."""
    if not is_on_gpu(value):
        raise ArgumentError([said("out host", parameter)])
    view = viewed(parameter, value)
    problems = [view] if isinstance(view, Diagnostic) else _not_written(parameter, view, device, alignment)
    if isinstance(view, Diagnostic) or problems:
        raise ArgumentError([replace(problem, code="TAD0505") for problem in problems])
    return view


def _not_written(parameter: Parameter, view: View, device: int, alignment: int) -> list[Diagnostic]:
    """What keeps an array on a GPU from being written."""
    problem = wrong(parameter, view, device, **OUT)
    problems = [problem] if problem else []
    if view.address % alignment:
        problems.append(said("out place", parameter, alignment=alignment))
    return [*problems, said("out read-only", parameter)] if view.is_read_only else problems
