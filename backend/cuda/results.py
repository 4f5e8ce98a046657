"""What a call on a GPU writes: new arrays, or those of `out=`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tadc.backend.cuda.arguments import given_on_gpu
from tadc.backend.cuda.device_arrays import DeviceArray, View, copied_out
from tadc.backend.runtime.addresses import overlap
from tadc.backend.runtime.frameworks import framework_of
from tadc.backend.runtime.outputs import given_outputs
from tadc.lattice.late_dataclasses import dataclass

if TYPE_CHECKING:
    from tadc.backend.cuda.call import GpuCall
    from tadc.backend.cuda.device import Allocation
    from tadc.backend.cuda.prepared import Output
    from tadc.backend.runtime.host_arrays import Array
    from tadc.backend.runtime.parameters import Parameter


@dataclass
class GpuResult:
    """An output: what the caller gets, and where the kernels write it.

    At the end it is copied to `host`, or to `home` on the GPU, where there is one.
    """

    value: Any
    address: int
    allocation: Allocation | None = None
    host: Array | None = None
    home: View | None = None
    is_given: bool = False


def results_of(
    call: GpuCall, parameters: Sequence[Parameter], outputs: Sequence[Output], out: Any, alignment: int
) -> list[GpuResult]:
    """The results of a call in order, with the arrays of `out=` where it gives some. Raises ArgumentError."""
    if out is None:
        return [_new(call, output, None) for output in outputs]
    if call.on_host:
        arrays = given_outputs(parameters, out)
        return [_new(call, output, array) for output, array in zip(outputs, arrays, strict=True)]
    given = given_on_gpu(parameters, out, call.device.number, alignment)
    return [
        _into(call, *pair) if pair else _new(call, output, None)
        for output, pair in zip(outputs, given, strict=True)
    ]


def _new(call: GpuCall, output: Output, array: Array | None) -> GpuResult:
    """A new array of the library that the arguments belong to; on the host one that `array` gets."""
    shape, dtype, count = output
    if not call.on_host and call.framework is not None:
        made = call.framework.empty(shape, dtype, call.device.number)
        if made is not None:
            return GpuResult(made, call.framework.address(made))
    allocation = call.device.allocate(count, call.stream)
    if call.on_host:
        whole = array is None or not array.flags.c_contiguous
        host = np.empty(shape, dtype) if whole else array
        return GpuResult(host if array is None else array, allocation.address, allocation, host)
    return GpuResult(DeviceArray(allocation, shape, dtype), allocation.address)


def _into(call: GpuCall, value: Any, view: View) -> GpuResult:
    """An array of `out=`. One that kernels still read is written when they are done, as on the CPU."""
    call.borrow(view)
    if not any([overlap(view.span, span) for span in call.reads]):
        return GpuResult(value, view.address, is_given=True)
    call.is_plain = False
    allocation = call.device.allocate(view.bytes, call.stream)
    return GpuResult(value, allocation.address, allocation, home=view, is_given=True)


def was_written(value: Any) -> None:
    """Tell the library of an array of `out=` that it has other elements now."""
    framework = framework_of(value)
    if framework is not None:
        framework.was_written(value)
    elif isinstance(value, DeviceArray) and value.writes is not None:
        value.writes += 1


def finished(call: GpuCall, results: Sequence[GpuResult]) -> list[Any]:
    """What the caller gets, once the launches are queued."""
    for result in results:
        if result.allocation is not None and result.host is not None:
            copied_out(result.allocation, result.host, call.stream)
        if result.home is not None:
            with call.device.current() as driver:
                driver.copy_within(result.home.address, result.address, result.home.bytes, call.stream)
    if call.on_host:
        with call.device.current() as driver:
            driver.synchronize(call.stream)
    found: list[Any] = []
    for result in results:
        if result.host is not None and result.host is not result.value:
            result.value[...] = result.host
        if result.is_given:
            was_written(result.value)
        if isinstance(result.value, DeviceArray) and not result.is_given and call.framework is not None:
            found.append(call.framework.taken(result.value))
        else:
            found.append(result.value)
    return found
