"""The index arrays of a call, where all of them lie on a GPU: checked there, and others made of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tadc.backend.cuda.device_arrays import View, same_stream, view_of
from tadc.backend.cuda.device_inspector import DeviceInspector, has_kernels
from tadc.backend.cuda.seen_indices import SeenIndices
from tadc.backend.runtime.inspector import INDEX_LIMIT
from tadc.backend.runtime.inspector_calls import Rooms, run

if TYPE_CHECKING:
    from tadc.backend.cuda.device import Device
    from tadc.backend.runtime.index_arguments import IndexArguments


class DeviceIndices:
    """The index arrays that a kernel takes in calls with certain sizes, and those that are made of them."""

    def __init__(self, indices: IndexArguments) -> None:
        """Of those that the CPU looks at."""
        self._inspection, self._below = indices.inspection, indices.below
        self._given = list(zip(indices.places, self._inspection.given, strict=True))
        self._seen = SeenIndices()
        self._is_small = all(p.bytes < INDEX_LIMIT * p.dtype.itemsize for p in self._inspection.made)

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
        found = Rooms(self._inspection.arrays, {p.name: arrays[n] for n, p in self._given}, on.new)
        run(self._inspection.calls, found, on.function)
        return [view_of(found[parameter.name]) for parameter in self._inspection.made]

    def _wait(self, arrays: Sequence[Any], device: Device, stream: int) -> None:
        """Let the stream wait for what computes the arrays."""
        for n, _ in self._given:
            other = arrays[n].stream
            if other is not None and not same_stream(other, stream):
                with device.current() as driver:
                    driver.wait_for(stream, other)
