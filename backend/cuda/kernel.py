"""A compiled program as a callable: its arguments on a GPU, its launches, its results."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tadc.backend.cuda.arguments import given_on_gpu, viewed, wrong
from tadc.backend.cuda.arrays import (
    DeviceArray,
    View,
    copied_in,
    copied_out,
    is_on_gpu,
    same_stream,
    view_of,
)
from tadc.backend.cuda.device import Allocation, Device
from tadc.backend.cuda.driver import cells_of
from tadc.backend.cuda.frameworks import Framework, stream_handle
from tadc.backend.runtime.arrays import Parameter, arrange, bind
from tadc.backend.runtime.outputs import given_outputs
from tadc.backend.runtime.sizes import SizeSymbols
from tadc.backend.runtime.workspace import Workspace, workspace
from tadc.frontend.diagnostics import ArgumentError, CompileError, Diagnostic
from tadc.frontend.extents import shape_at
from tadc.frontend.size_values import size_values

if TYPE_CHECKING:
    from tadc.backend.cuda.manifest import KernelLaunch, Manifest
    from tadc.backend.runtime.arrays import Array
    from tadc.backend.runtime.sizes import Recheck


@dataclass
class _Call:
    """A call: where it runs, on which stream, and what must live until the launches are queued."""

    device: Device
    stream: int
    framework: Framework | None
    on_host: bool
    shapes: list[tuple[int, ...]]
    addresses: list[int]
    kept: list[Any]
    borrowed: list[Allocation] = field(default_factory=list[Allocation])
    """Memory that belongs to another stream."""

    def borrow(self, view: View) -> None:
        """Let the stream wait for what computes an array; in `give_back` its own waits for this call."""
        if view.stream is not None and not same_stream(view.stream, self.stream):
            with self.device.current() as driver:
                driver.wait_for(self.stream, view.stream)
            if isinstance(view.keepalive, DeviceArray):
                self.borrowed.append(view.keepalive.allocation)

    def give_back(self) -> None:
        """Memory is freed, and read, in the order of its own stream: after what is queued here."""
        for allocation in self.borrowed:
            with self.device.current() as driver:
                driver.wait_for(allocation.stream, self.stream)


class _Output(NamedTuple):
    """An output for given sizes."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    bytes: int


class _Plan(NamedTuple):
    """What a call for given sizes on a device makes and does."""

    parameters: tuple[Parameter, ...]
    outputs: tuple[_Output, ...]
    room: Workspace
    steps: tuple[_Step, ...]


class _Step(NamedTuple):
    """A launch for given sizes on a device; `places` are its arguments among buffers and sizes."""

    launch: KernelLaunch
    function: int
    grid: tuple[int, int, int]
    places: tuple[int, ...]


#: The plans for so many devices and sizes are kept.
_PLANS = 256


class GpuKernel:
    """The kernels of a program, called with arrays like a kernel of the CPU.

    Arrays on a GPU are read where they are, and results are new arrays of the same library on the same GPU;
    the call returns when its launches are queued on that library's current stream, or on `stream=`. If no
    argument is on a GPU, all are copied there and the results back to NumPy.
    """

    def __init__(
        self,
        manifest: Manifest,
        image: bytes,
        device: Callable[[int], Device],
        recheck: Recheck | None = None,
        code: bytes = b"",
    ) -> None:
        """`image` is PTX, `code` a cubin of it if there is one; `device` gives a GPU by its number."""
        interface = manifest.interface
        self.manifest = manifest
        self.image = image
        self.code = code
        self.inputs = interface.inputs
        self.outputs = interface.outputs
        self.temporaries = interface.temporaries
        self.sizes = SizeSymbols(
            interface.sizes, interface.inputs, interface.excluded, recheck, dict(interface.given)
        )
        self._device = device
        self._alignment = max((launch.alignment for launch in manifest.launches), default=1)
        self._size_names = {*self.sizes.names, *self.sizes.fixed}
        self._plans: dict[tuple[Device, tuple[int, ...]], _Plan] = {}

    def __call__(
        self, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None, out: Any = None
    ) -> list[Any]:
        """Run once; the outputs in order.

        Raises:
            ArgumentError: all that is wrong with the arguments; nothing has run then.
            CompileError: what the driver or the emulator says.
        """
        named = dict(kwargs or {})
        stream = named.pop("stream", None) if all(p.name != "stream" for p in self.inputs) else None
        call, sizes = self._arguments(args, named, stream)
        plan = self._plan(call.device, sizes)
        results = self._results(call, plan, out)
        # Kernels run one after the other, as the maps of the CPU do.
        room = plan.room
        scratch = call.device.allocate(room.bytes, call.stream) if room.bytes else None
        between = [scratch.address + offset if scratch else 0 for offset in room.offsets]
        addresses = [*call.addresses, *(r.address for r in results), *between]
        self._launch(call, plan.steps, cells_of([*addresses, *sizes.values()]))
        call.give_back()
        if scratch:
            scratch.free()
        return self._finished(call, results)

    def _arguments(
        self, args: Sequence[Any], named: dict[str, Any], stream: Any
    ) -> tuple[_Call, dict[str, int]]:
        problems: list[Diagnostic] = []
        given = {name: named.pop(name) for name in list(named) if name in self._size_names}
        sizes = size_values(given, problems)
        problems += self.sizes.missing(given)
        values = arrange(self.inputs, args, named, tuple(self._size_names))
        arrays: list[Array | View] = []
        device: int | None = None
        for parameter, value in zip(self.inputs, values, strict=True):
            try:
                if not is_on_gpu(value):
                    arrays += bind([parameter], [value])
                    continue
                view = viewed(parameter, value)
                device = view.device if device is None else device
                problems += wrong(parameter, view, device)
                arrays.append(view)
            except ArgumentError as error:
                problems += error.diagnostics
        if problems:
            raise ArgumentError(problems)
        shapes = [array.shape for array in arrays]
        return self._placed(arrays, shapes, stream), self.sizes.values(shapes, sizes)

    def _placed(self, arrays: Sequence[Array | View], shapes: list[tuple[int, ...]], stream: Any) -> _Call:
        """The arguments on the GPU."""
        views = [array for array in arrays if isinstance(array, View)]
        framework = next((view.framework for view in views if view.framework), None)
        number = views[0].device if views else 0
        device = self._device(number)
        handle = stream_handle(stream)
        current = framework.stream(number) if framework is not None else None
        if stream is None:
            handle = current or 0
        elif current is not None and not same_stream(current, handle):
            # Its arrays are computed there, and memory for results may still be in use there.
            with device.current() as driver:
                driver.wait_for(handle, current)
        call = _Call(device, handle, framework, not views, shapes, [], [])
        for array in arrays:
            if isinstance(array, View):
                call.borrow(array)
                call.addresses.append(self._aligned(array, call))
            else:
                made = copied_in(array, device, handle)
                call.addresses.append(made.address)
                call.kept += [made, array]
        return call

    def _aligned(self, view: View, call: _Call) -> int:
        """The address of an array, or of a copy where it begins at an address that kernels cannot take."""
        if view.address % self._alignment == 0:
            return view.address
        count = view.dtype.itemsize * prod(view.shape)
        if not count:
            return view.address
        made = call.device.allocate(count, call.stream)
        with call.device.current() as driver:
            driver.copy_within(made.address, view.address, count, call.stream)
        call.kept.append(made)
        return made.address

    def _results(self, call: _Call, plan: _Plan, out: Any) -> list[_Result]:
        if out is None:
            return [self._new(call, output, None) for output in plan.outputs]
        if call.on_host:
            given = given_outputs(plan.parameters, out)
            return [self._new(call, *pair) for pair in zip(plan.outputs, given, strict=True)]
        given = given_on_gpu(plan.parameters, out, call.device.number, self._alignment)
        for _, view in given:
            call.borrow(view)
        return [_Result(value, view.address) for value, view in given]

    def _new(self, call: _Call, output: _Output, array: Array | None) -> _Result:
        shape, dtype, count = output
        if not call.on_host and call.framework is not None:
            made = call.framework.empty(shape, dtype, call.device.number)
            if made is not None:
                return _Result(made, view_of(made).address)
        allocation = call.device.allocate(count, call.stream)
        if call.on_host:
            whole = array is None or not array.flags.c_contiguous
            host = np.empty(shape, dtype) if whole else array
            return _Result(host if array is None else array, allocation.address, allocation, host)
        return _Result(DeviceArray(allocation, shape, dtype), allocation.address)

    def _plan(self, device: Device, sizes: Mapping[str, int]) -> _Plan:
        key = device, tuple(sizes.values())
        plan = self._plans.get(key)
        if plan is None:
            parameters = tuple(p.at(sizes) for p in self.outputs)
            outputs = tuple(_Output(shape_at(p.shape, {}), p.dtype, p.bytes) for p in parameters)
            room = workspace([t.at(sizes) for t in self.temporaries])
            plan = _Plan(parameters, outputs, room, tuple(self._steps_for(device, key[1])))
            if len(self._plans) >= _PLANS:
                self._plans = {}
            self._plans[key] = plan
        return plan

    def _launch(self, call: _Call, steps: Sequence[_Step], cells: Any) -> None:
        with call.device.current() as driver:
            for launch, function, grid, places in steps:
                try:
                    driver.launch_on(function, grid, launch.block, cells, places, call.stream, launch.shared)
                except CompileError as error:
                    self._locate(error, launch)
                    raise

    def _steps_for(self, device: Device, sizes: tuple[int, ...]) -> list[_Step]:
        """The launches that there are for these sizes, their kernels loaded."""
        buffers = len(self.inputs) + len(self.outputs) + len(self.temporaries)
        last = range(buffers, buffers + len(sizes))
        steps: list[_Step] = []
        for launch in self.manifest.launches:
            grid = launch.grid_at(sizes)
            if 0 not in grid:
                code = self.code if self.manifest.sm == device.architecture else b""
                function = device.function(self.image, launch.kernel, launch.shared, code)
                steps.append(_Step(launch, function, grid, (*launch.buffers, *last)))
        return steps

    def _locate(self, error: CompileError, launch: KernelLaunch) -> None:
        """Add what the kernel computes, and where it went wrong."""
        place = getattr(error, "place", None) or launch.place
        for diagnostic in error.diagnostics:
            if launch.kernel not in diagnostic.message:
                diagnostic.notes.append(f"kernel `{launch.kernel}`")
            if place:
                diagnostic.notes.append(f"it computes {place}")

    def _finished(self, call: _Call, results: list[_Result]) -> list[Any]:
        for result in results:
            if result.allocation is not None and result.host is not None:
                copied_out(result.allocation, result.host, call.stream)
        if call.on_host:
            with call.device.current() as driver:
                driver.synchronize(call.stream)
        found: list[Any] = []
        for result in results:
            if result.host is not None and result.host is not result.value:
                result.value[...] = result.host
            if isinstance(result.value, DeviceArray) and call.framework is not None:
                found.append(call.framework.taken(result.value))
            else:
                found.append(result.value)
        return found


@dataclass
class _Result:
    """An output: what the caller gets, and where the kernels write it. `host` is copied to at the end."""

    value: Any
    address: int
    allocation: Allocation | None = None
    host: Array | None = None
