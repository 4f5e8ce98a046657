"""The index arrays of a call, where all of them lie on a GPU: checked there, and others made of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING, Any

from tadc.backend.cuda.device_arrays import View, same_stream, view_of
from tadc.backend.cuda.device_inspector import DeviceInspector, has_kernels
from tadc.backend.cuda.seen_indices import SeenIndices
from tadc.backend.runtime.inspector import INDEX_LIMIT
from tadc.frontend.extents import as_form

if TYPE_CHECKING:
    from tadc.backend.cuda.device import Device
    from tadc.backend.runtime.parameters import Parameter
    from tadc.frontend.program import Inspected

#: What is made on the GPU, and of how many arrays at most.
_KINDS = {"ptr": 2, "perm": 64, "taken": 64, "owner": 1, "whole": 1, "rest": 2, "start": 2}


class DeviceIndices:
    """The index arrays that a kernel takes in calls with certain sizes, and those that are made of them."""

    def __init__(
        self, inputs: Sequence[Parameter], made: Sequence[Parameter], sizes: Mapping[str, int]
    ) -> None:
        """`inputs` is what a call passes; extents may be forms of the sizes."""
        self._given = [(n, p) for n, p in enumerate(inputs) if p.below is not None]
        self._made = [p.at(sizes) for p in made]
        bounded = [*inputs, *made]
        self._below = {p.name: as_form(p.below).evaluate(sizes) for p in bounded if p.below is not None}
        abouts = [p.inspected for p in made if p.inspected is not None]
        self._seen = SeenIndices()
        self.is_known = all(len(about.of) <= _KINDS.get(about.kind, 0) for about in abouts)

    def are_there(self, arrays: Sequence[Any]) -> bool:
        """Whether all index arrays lie on the GPU, and all that is made of them can be made there."""
        on_gpu = self.is_known and all(isinstance(arrays[n], View) for n, _ in self._given)
        return on_gpu and has_kernels()

    def complete(
        self, values: Sequence[Any], arrays: Sequence[Any], device: Device, stream: int
    ) -> list[View] | None:
        """What is made, on a stream; None where an element is no index, or less than the one before.

        What is wrong is then for the CPU to say. `values` are what was passed, `arrays` their views.
        """
        self._wait(arrays, device, stream)
        on = DeviceInspector(device, stream)
        given, views = ([all[n] for n, _ in self._given] for all in (values, arrays))
        made = self._seen.made(given, views, on)
        if made is None:
            made = self._inspected(arrays, on)
            if made is not None:
                self._seen.keep(given, views, on, made)
        return made

    def _inspected(self, arrays: Sequence[Any], on: DeviceInspector) -> list[View] | None:
        found = dict[str, Any]()
        for n, parameter in self._given:
            array = found[parameter.name] = arrays[n]
            if on.largest(array) >= min(self._below[parameter.name], INDEX_LIMIT):
                return None
            if parameter.increasing and on.falls(array):
                return None
        kept: dict[tuple[str, ...], Any] = {}
        for parameter in self._made:
            found[parameter.name] = self._one(on, parameter, found, kept)
        return [view_of(found[parameter.name]) for parameter in self._made]

    def _one(
        self, on: DeviceInspector, parameter: Parameter, found: Mapping[str, Any], kept: dict[Any, Any]
    ) -> Any:
        about = parameter.inspected
        assert about is not None
        of = [found[name] for name in about.of]
        most = prod(size for size in parameter.shape if isinstance(size, int))
        length = about.form.constant if about.form is not None else 0
        match about.kind:
            case "owner":
                return on.subscripts(on.owners(of[0], most), of[0].shape, about.axis)
            case "whole":
                return on.wholes(of[0], length)
            case "rest":
                return on.rests(of[0], of[1], length)
            case "start":
                return on.parts(of[0], of[1], length, most)
            case _:
                return self._sorted(on, about, of, found, kept)

    def _sorted(
        self,
        on: DeviceInspector,
        about: Inspected,
        of: Sequence[Any],
        found: Mapping[str, Any],
        kept: dict[Any, Any],
    ) -> Any:
        """What follows from the order of elements, of which each is found once."""
        by = about.of[1:] if about.kind == "taken" else about.of
        if by not in kept:
            below = [self._below[name] for name in by]
            kept[by] = on.sorted_places([found[name] for name in by], below)
        starts, places = kept[by]
        match about.kind:
            case "taken":
                return on.taken(of[0], places)
            case "perm":
                return on.subscripts(places, of[0].shape, about.axis)
            case _ if len(of) == 1:
                return starts
            case _:
                return on.joint_starts(of, [self._below[name] for name in by], places)

    def _wait(self, arrays: Sequence[Any], device: Device, stream: int) -> None:
        """Let the stream wait for what computes the arrays."""
        for n, _ in self._given:
            other = arrays[n].stream
            if other is not None and not same_stream(other, stream):
                with device.current() as driver:
                    driver.wait_for(stream, other)
