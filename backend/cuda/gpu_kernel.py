"""A compiled program as a callable: its arguments on a GPU, its launches, its results."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tadc.backend.cuda.arguments import GpuDoor
from tadc.backend.cuda.call import GpuCall
from tadc.backend.cuda.device import Device
from tadc.backend.cuda.device_arrays import DeviceArray, View, copied_in, same_stream
from tadc.backend.cuda.device_indices import DeviceIndices
from tadc.backend.cuda.glances import NUMBERS
from tadc.backend.cuda.prepared import CallPlan, Output, PreparedLaunch
from tadc.backend.cuda.repeats import Repeats
from tadc.backend.cuda.results import finished, results_of
from tadc.backend.cuda.seen_indices import placed
from tadc.backend.runtime.frameworks import stream_handle
from tadc.backend.runtime.index_arguments import IndexArguments
from tadc.backend.runtime.kept_indices import Relation
from tadc.backend.runtime.read_calls import read_call
from tadc.backend.runtime.versions import WORTH_ON_GPU, Versions
from tadc.backend.runtime.workspace import workspace
from tadc.frontend.diagnostics import CompileError
from tadc.frontend.extents import shape_at

if TYPE_CHECKING:
    from tadc.backend.cuda.manifest import Manifest
    from tadc.backend.runtime.call_sizes import Recheck
    from tadc.backend.runtime.frameworks import Framework
    from tadc.backend.runtime.host_arrays import Array
    from tadc.passes.gpu.launch import Launch


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
        #: `made` are index arrays that are made of others in each call, which kernels take after the inputs.
        self.inputs, self.made, self.outputs = interface.arguments, interface.made, interface.outputs
        self.temporaries, self.sizes = interface.temporaries, interface.size_symbols(recheck)
        self._device = device
        self._alignment = max((launch.alignment for launch in manifest.launches), default=1)
        self._plans: dict[tuple[Device, tuple[int, ...]], CallPlan] = {}
        self._indices: dict[tuple[int, ...], tuple[IndexArguments, DeviceIndices]] = {}
        self._places = [n for n, p in enumerate(self.inputs) if p.below is not None]
        self._repeats = Repeats(self.sizes.input_names, self._places, self.sizes.known, len(self.outputs))
        work = interface.work
        self.versions: Versions[GpuKernel] | None = Versions(work, worth=WORTH_ON_GPU) if work else None

    def __call__(
        self, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None, out: Any = None
    ) -> list[Any]:
        """Run once; the outputs in order.

        Raises:
            ArgumentError: all that is wrong with the arguments; nothing has run then.
            CompileError: what the driver or the emulator says.
        """
        found = self.again(args, kwargs or {}, out)
        if found is not None:
            return found
        named = dict(kwargs or {})
        stream = named.pop("stream", None) if all(p.name != "stream" for p in self.inputs) else None
        values, arrays, given = call = read_call(self.sizes, args, named, GpuDoor())
        sizes = self.sizes.values(call.shapes, given)
        version = self.versions and self.versions.at(sizes)
        if version:
            # What it sees of the call is seen at a glance from here the next time.
            version._repeats = self._repeats
            return version(args, kwargs, out)
        call = self._call(values, arrays, sizes, stream)
        plan = self._plan(call.device, sizes)
        prepared = plan.on(call.stream)
        parameters = [p.at(sizes) for p in self.outputs]
        results = results_of(call, parameters, plan.outputs, out, self._alignment)
        prepared.into(call.addresses, [result.address for result in results])
        found = finished(call, results)
        call.give_back()
        if call.is_plain and not call.on_host:
            self._repeats.remember(args, kwargs or {}, out, call, plan, stream is not None)
        return found

    def again(self, args: Sequence[Any], kwargs: Mapping[str, Any], out: Any = None) -> list[Any] | None:
        """The results of a call like one before, None where there was none: then nothing has run."""
        return self._repeats.again(args, kwargs, out)

    def _call(self, values: Sequence[Any], arrays: list[Any], sizes: dict[str, int], stream: Any) -> GpuCall:
        """The call on these arguments, which are on the GPU then."""
        # Their copies on the GPU are read again by calls with the same ones.
        held = {n for n, value in enumerate(values) if type(value) in (*NUMBERS, Relation)}
        on_host = not any(isinstance(array, View) for array in arrays)
        return self._placed(self._looked_at(values, arrays, sizes, stream), stream, held, on_host)

    def _looked_at(
        self, values: Sequence[Any], arrays: list[Any], sizes: Mapping[str, int], stream: Any
    ) -> list[Any]:
        """The arguments with index arrays that have been checked, and those that are made of them.

        Where all of these are on the GPU it does both, else the CPU, for which those are copied. Raises
        ArgumentError.
        """
        if not self._places:
            return arrays
        key = tuple(sizes.values())
        known = self._indices.get(key)
        if known is None:
            indices = IndexArguments(self.inputs, self.made, sizes)
            known = self._indices[key] = indices, DeviceIndices(indices)
        indices, on_device = known
        device, _, handle, _ = self._where(arrays, stream)
        if on_device.are_there(arrays):
            made = on_device.complete(values, arrays, device, handle)
            if made is not None:
                return [*arrays, *made]
        given = list(arrays)
        for n in self._places:
            if isinstance(given[n], View):
                given[n] = self._on_host(given[n])
        found = indices.found(given)
        for n in self._places:
            # What is on the GPU already stays there.
            on_gpu = isinstance(arrays[n], View)
            given[n] = arrays[n] if on_gpu else placed(found[self.inputs[n].name], device, handle)
        return [*given, *(placed(found[p.name], device, handle) for p in self.made)]

    def _on_host(self, view: View) -> Array:
        made = np.empty(view.shape, view.dtype)
        if made.nbytes:
            with self._device(view.device).current() as driver:
                driver.copy_out(made.ctypes.data, view.address, made.nbytes, view.stream or 0)
        return made

    def _where(
        self, arrays: Sequence[Array | View], stream: Any
    ) -> tuple[Device, Framework | None, int, int | None]:
        """The device of a call, whose arrays the results are, its stream, and their library's current one."""
        views = [array for array in arrays if isinstance(array, View)]
        framework = next((view.framework for view in views if view.framework), None)
        number = views[0].device if views else 0
        current = framework.stream(number) if framework is not None else None
        handle = stream_handle(stream) if stream is not None else current or 0
        return self._device(number), framework, handle, current

    def _placed(
        self, arrays: Sequence[Array | View], stream: Any, held: Container[int], on_host: bool
    ) -> GpuCall:
        """The arguments on the GPU, and what was made of index arrays; some positions' copies are `held`."""
        device, framework, handle, current = self._where(arrays, stream)
        if stream is not None and current is not None and not same_stream(current, handle):
            # Its arrays are computed there, and memory for results may still be in use there.
            with device.current() as driver:
                driver.wait_for(handle, current)
        call = GpuCall(device, handle, framework, on_host)
        call.is_plain, call.current = current is None or same_stream(current, handle), current
        for position, array in enumerate(arrays):
            if isinstance(array, View):
                call.borrow(array)
                if array.framework is not None and array.framework.is_constant:
                    call.lent.append(array.keepalive)
                call.read(self._aligned(array, call), array.bytes)
                if isinstance(array.keepalive, DeviceArray):
                    if position in held:
                        call.held.append((position, array.keepalive.allocation))
                    elif position >= len(self.inputs):
                        call.made.append(array.keepalive.allocation)
            else:
                made = copied_in(array, device, handle)
                call.read(made.address, made.bytes)
                call.kept += [made, array]
                if position in held:
                    call.held.append((position, made))
                else:
                    call.is_plain = False
        return call

    def _aligned(self, view: View, call: GpuCall) -> int:
        """The address of an array, or of a copy where it begins at an address that kernels cannot take."""
        if view.address % self._alignment == 0:
            return view.address
        if not view.bytes:
            return view.address
        call.is_plain = False
        made = call.device.allocate(view.bytes, call.stream)
        with call.device.current() as driver:
            driver.copy_within(made.address, view.address, view.bytes, call.stream)
        call.kept.append(made)
        return made.address

    def _plan(self, device: Device, sizes: Mapping[str, int]) -> CallPlan:
        key = device, tuple(sizes.values())
        plan = self._plans.get(key)
        if plan is None:
            parameters = [p.at(sizes) for p in self.outputs]
            outputs = tuple(Output(shape_at(p.shape, {}), p.dtype, p.bytes) for p in parameters)
            inputs = tuple(p.at(sizes).bytes for p in (*self.inputs, *self.made))
            between = workspace([t.at(sizes) for t in self.temporaries])
            steps = self._steps_for(device, key[1])
            plan = CallPlan(device, inputs, outputs, between, steps, key[1], self._explain, self._alignment)
            if len(self._plans) >= _PLANS:
                self._plans = {}
            self._plans[key] = plan
        return plan

    def _steps_for(self, device: Device, sizes: tuple[int, ...]) -> list[PreparedLaunch]:
        """The launches that there are for these sizes, their kernels loaded."""
        buffers = len(self.inputs) + len(self.made) + len(self.outputs) + len(self.temporaries)
        last = range(buffers, buffers + len(sizes))
        steps: list[PreparedLaunch] = []
        for launch in self.manifest.launches:
            grid, turns = launch.grid_at(sizes), launch.turns_at(sizes)
            if 0 not in grid and turns:
                code = self.code if self.manifest.sm == device.architecture else b""
                function = device.function(self.image, launch.kernel, launch.shared, code)
                own = (last.stop,) * bool(launch.steps)
                steps.append(PreparedLaunch(launch, function, grid, (*launch.buffers, *last, *own), turns))
        return steps

    def _explain(self, error: CompileError, launch: Launch | None) -> None:
        """Add what the kernel computes, where it is known which one failed."""
        if launch is None or getattr(error, "is_late", False):
            return
        place = getattr(error, "place", None)
        for diagnostic in error.diagnostics:
            if launch.kernel not in diagnostic.message:
                diagnostic.notes.append(f"kernel `{launch.kernel}`")
            if place or launch.place:
                diagnostic.notes.append(f"it computes {place or launch.place}")
