"""The index arrays of a call, where all of them lie on a GPU: checked there, and others made of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tadc.backend.cuda.device_arrays import View, same_stream, view_of
from tadc.backend.cuda.device_inspector import DeviceInspector, has_kernels
from tadc.backend.cuda.seen_indices import SeenIndices
from tadc.backend.runtime.inspector import INDEX_LIMIT
from tadc.backend.runtime.inspector_calls import InspectorCalls, Rooms, run
from tadc.frontend.extents import as_form

if TYPE_CHECKING:
    from tadc.backend.cuda.device import Device
    from tadc.backend.runtime.parameters import Parameter


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
        self._inspection = InspectorCalls([p.at(sizes) for _, p in self._given], self._made)
        self._seen = SeenIndices()
        self._is_small = all(p.bytes < INDEX_LIMIT * p.dtype.itemsize for p in self._made)

    def are_there(self, arrays: Sequence[Any]) -> bool:
        """Whether all index arrays lie on the GPU, and all that is made of them can be made there."""
        on_gpu = all(isinstance(arrays[n], View) for n, _ in self._given)
        return on_gpu and self._is_small and has_kernels()

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
        for n, parameter in self._given:
            if on.largest(arrays[n]) >= min(self._below[parameter.name], INDEX_LIMIT):
                return None
            if parameter.increasing and on.falls(arrays[n]):
                return None
        found = Rooms(self._inspection, {p.name: arrays[n] for n, p in self._given}, on.new)
        for call in self._inspection.calls:
            run(call, found, on.function)
        return [view_of(found[parameter.name]) for parameter in self._made]

    def _wait(self, arrays: Sequence[Any], device: Device, stream: int) -> None:
        """Let the stream wait for what computes the arrays."""
        for n, _ in self._given:
            other = arrays[n].stream
            if other is not None and not same_stream(other, stream):
                with device.current() as driver:
                    driver.wait_for(stream, other)
