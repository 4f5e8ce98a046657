"""A compiled program as a callable: its arguments on a GPU, its launches, its results."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from tadc.backend.cuda.arrays import DeviceArray, View, copied_in, copied_out, is_on_gpu, view_of
from tadc.backend.cuda.device import Allocation, Device
from tadc.backend.cuda.frameworks import Framework, stream_handle
from tadc.backend.runtime.arrays import Parameter, arrange, bind, declared, shape_message
from tadc.backend.runtime.outputs import given_outputs
from tadc.backend.runtime.sizes import SizeSymbols
from tadc.backend.runtime.workspace import workspace
from tadc.frontend.diagnostics import ArgumentError, CompileError, Diagnostic
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
    ) -> None:
        """`image` is PTX text or a cubin; `device` gives a GPU by its number."""
        interface = manifest.interface
        self.manifest = manifest
        self.image = image
        self.inputs = interface.inputs
        self.outputs = interface.outputs
        self.temporaries = interface.temporaries
        self.sizes = SizeSymbols(
            interface.sizes, interface.inputs, interface.excluded, recheck, dict(interface.given)
        )
        self._device = device
        self._alignment = max((launch.alignment for launch in manifest.launches), default=1)
        self._size_names = {*self.sizes.names, *self.sizes.fixed}

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
        outputs = [p.at(sizes) for p in self.outputs]
        results = self._results(call, outputs, out)
        # Kernels run one after the other, as the maps of the CPU do.
        room = workspace([t.at(sizes) for t in self.temporaries])
        scratch = call.device.allocate(room.bytes, call.stream) if room.bytes else None
        between = [scratch.address + offset if scratch else 0 for offset in room.offsets]
        self._launch(call, [*call.addresses, *(r.address for r in results), *between], tuple(sizes.values()))
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
        views = [view_of(v) if is_on_gpu(v) else None for v in values]
        on_gpu = [(p, v) for p, v in zip(self.inputs, views, strict=True) if v is not None]
        for parameter, view in on_gpu:
            problems += _wrong(parameter, view, on_gpu[0][1].device)
        arrays: list[Array | View] = []
        for parameter, value, view in zip(self.inputs, values, views, strict=True):
            try:
                arrays.append(view or bind([parameter], [value])[0])
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
        if stream is None and framework is not None:
            handle = framework.stream(number) or 0
        call = _Call(device, handle, framework, not views, shapes, [], [])
        for array in arrays:
            if isinstance(array, View):
                if array.stream is not None and array.stream != (handle or 1):
                    with device.current() as driver:
                        driver.wait_for(handle, array.stream)
                call.addresses.append(self._aligned(array, call))
            else:
                made = copied_in(array, device, handle)
                call.addresses.append(made.address)
                call.kept += [made, array]
        return call

    def _aligned(self, view: View, call: _Call) -> int:
        """The address of an array, or of a copy where it begins at an address that kernels cannot take."""
        count = view.dtype.itemsize * prod(view.shape)
        if view.address % self._alignment == 0 or not count:
            return view.address
        made = call.device.allocate(count, call.stream)
        with call.device.current() as driver:
            driver.copy_within(made.address, view.address, count, call.stream)
        call.kept.append(made)
        return made.address

    def _results(self, call: _Call, outputs: Sequence[Parameter], out: Any) -> list[_Result]:
        if call.on_host:
            given = given_outputs(outputs, out) if out is not None else [None] * len(outputs)
            return [self._new(call, p, array) for p, array in zip(outputs, given, strict=True)]
        if out is None:
            return [self._new(call, p, None) for p in outputs]
        return _given_on_gpu(outputs, out, call.device.number, self._alignment)

    def _new(self, call: _Call, parameter: Parameter, array: Array | None) -> _Result:
        shape = tuple(int(str(size)) for size in parameter.shape)
        if not call.on_host and call.framework is not None:
            made = call.framework.empty(shape, parameter.dtype, call.device.number)
            if made is not None:
                return _Result(made, view_of(made).address)
        allocation = call.device.allocate(parameter.bytes, call.stream)
        if call.on_host:
            whole = array is None or not array.flags.c_contiguous
            host = np.empty(shape, parameter.dtype) if whole else array
            return _Result(host if array is None else array, allocation.address, allocation, host)
        return _Result(DeviceArray(allocation, shape, parameter.dtype), allocation.address)

    def _launch(self, call: _Call, addresses: Sequence[int], sizes: tuple[int, ...]) -> None:
        for launch in self.manifest.launches:
            grid = launch.grid_at(sizes)
            if 0 in grid:
                continue
            function = call.device.function(self.image, launch.kernel, launch.shared)
            arguments = [*(addresses[n] for n in launch.buffers), *sizes]
            try:
                with call.device.current() as driver:
                    driver.launch(function, grid, launch.block, arguments, call.stream, launch.shared)
            except CompileError as error:
                self._locate(error, launch)
                raise

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


def _wrong(parameter: Parameter, view: View, device: int) -> list[Diagnostic]:
    """What keeps an array on a GPU from being read as it is."""
    name, note = parameter.name, declared(parameter)
    if view.dtype != parameter.dtype:
        message = f"`{name}` has elements of type {view.dtype}, expected {parameter.dtype}"
        help = "arrays on a GPU are not converted: convert it before the call"
        return [Diagnostic("TAD0504", message, notes=[note], helps=[help])]
    if not parameter.fits(view.shape):
        return [Diagnostic("TAD0503", shape_message(name, view.shape, parameter.shape), notes=[note])]
    if not view.is_row_major:
        message = f"`{name}` is not row-major"
        help = f"pass a copy that is: `{name}.contiguous()` in PyTorch, `cupy.ascontiguousarray({name})`"
        return [Diagnostic("TAD0504", message, notes=[note], helps=[help])]
    if view.device != device:
        message = f"`{name}` is on GPU {view.device}, another argument on GPU {device}"
        return [Diagnostic("TAD0504", message, helps=["copy all arguments to one GPU"])]
    return []


def _given_on_gpu(outputs: Sequence[Parameter], out: Any, device: int, alignment: int) -> list[_Result]:
    """The arrays of `out=`: one, a sequence, or a mapping by name."""
    if isinstance(out, Mapping):
        values: list[Any] = [out.get(p.name) for p in outputs]  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    else:
        values = list(out) if isinstance(out, tuple | list) else [out]  # pyright: ignore[reportUnknownArgumentType]
    problems: list[Diagnostic] = []
    results: list[_Result] = []
    if len(values) != len(outputs):
        message = f"`out` gives {len(values)} arrays for {len(outputs)} outputs"
        raise ArgumentError([Diagnostic("TAD0505", message)])
    for parameter, value in zip(outputs, values, strict=True):
        if not is_on_gpu(value):
            message = f"`out` for `{parameter.name}` is no array on a GPU, but an argument is"
            problems.append(Diagnostic("TAD0505", message, notes=[declared(parameter)]))
            continue
        view = view_of(value)
        wrong = _wrong(parameter, view, device)
        if view.address % alignment:
            message = f"`out` for `{parameter.name}` begins at an address that is no multiple of {alignment}"
            wrong.append(
                Diagnostic("TAD0505", message, helps=["pass an array of its own, no part of another"])
            )
        if view.is_read_only:
            wrong.append(Diagnostic("TAD0505", f"`out` for `{parameter.name}` is read-only"))
        for problem in wrong:
            problem.code = "TAD0505"
        problems += wrong
        results.append(_Result(value, view.address))
    if problems:
        raise ArgumentError(problems)
    return results
