"""Arrays on a GPU: ours, and views of those of others, without copies."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from tadc.backend.cuda.api import LEGACY_STREAM
from tadc.backend.cuda.device import Allocation
from tadc.backend.cuda.driver import NoGpu, cuda_driver
from tadc.backend.runtime.dlpack import CPU_DEVICE, CUDA_DEVICE, make_capsule, read_capsule
from tadc.backend.runtime.frameworks import Framework, device_kind, framework_of
from tadc.lattice.late_dataclasses import dataclass

if TYPE_CHECKING:
    from tadc.backend.cuda.device import Device
    from tadc.backend.runtime.host_arrays import Array


def same_stream(a: int, b: int) -> bool:
    """Whether two handles are of one stream: 0 is another name of the legacy default stream."""
    return (a or LEGACY_STREAM) == (b or LEGACY_STREAM)


class DeviceArray:
    """A row-major array on a GPU; PyTorch, CuPy, JAX and numba read it without a copy.

    `numpy.asarray(a)` copies it to the host.
    """

    __slots__ = ("__weakref__", "allocation", "dtype", "offset", "shape", "writes")

    def __init__(
        self, allocation: Allocation, shape: Sequence[int], dtype: np.dtype[Any], offset: int = 0
    ) -> None:
        """`offset` is the first byte in the allocation, which other arrays may share."""
        self.allocation = allocation
        self.shape = tuple(shape)
        self.dtype = dtype
        self.offset = offset
        #: How often kernels wrote to it; None where others know its address, who may write to it, too.
        self.writes: int | None = 0

    @property
    def address(self) -> int:
        """Of the first element, to be told to others."""
        self.writes = None
        return self.start

    @property
    def start(self) -> int:
        """The address, for kernels of ours."""
        return self.allocation.address + self.offset

    @property
    def nbytes(self) -> int:
        """The bytes of all elements."""
        return prod(self.shape) * self.dtype.itemsize

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {
            "shape": self.shape,
            "typestr": self.dtype.str,
            "data": (self.address if self.nbytes else 0, False),
            "strides": None,
            "stream": self.allocation.stream or LEGACY_STREAM,
            "version": 3,
        }

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """A capsule of this memory, or of a copy; the consumer's stream waits for what computes the array.

        The arguments are those of Python's array API: there is a copy where `copy` is true or `dl_device` is
        the host, and the capsule is of the version before 1 unless `max_version` allows a newer one.

        Raises:
            BufferError: for another device, or where `copy` is false and a copy is needed.
            ValueError: for a stream of the host, which has none.
        """
        here = self.__dlpack_device__()
        wanted = here if dl_device is None else (int(dl_device[0]), int(dl_device[1]))
        is_versioned = max_version is not None and max_version[0] >= 1
        if wanted[0] == CPU_DEVICE:
            return self._host_capsule(stream, copy, is_versioned)
        if wanted != here:
            raise BufferError(f"the array is on device {here}, and is not handed over to {wanted}")
        shared = self._copy() if copy else self
        own, device = self.allocation.stream, self.allocation.device
        # Without a stream the consumer means the legacy default one; -1 is a consumer that waits itself.
        if stream != -1 and not same_stream(stream or 0, own):
            with device.current() as driver:
                driver.wait_for(stream or 0, own)
        return make_capsule(
            shared, shared.address, self.shape, self.dtype, here, is_versioned, is_copy=bool(copy)
        )

    def _host_capsule(self, stream: Any, copy: bool | None, is_versioned: bool) -> Any:
        if copy is False:
            raise BufferError("an array on a GPU cannot be read on the host without a copy")
        if stream is not None:
            raise ValueError("the host has no streams: pass `stream=None`")
        host = np.asarray(self)
        address = host.ctypes.data
        return make_capsule(
            host, address, self.shape, self.dtype, (CPU_DEVICE, 0), is_versioned, is_copy=True
        )

    def _copy(self) -> DeviceArray:
        """A copy of the elements in memory of its own, in the order of this array's stream."""
        stream, device = self.allocation.stream, self.allocation.device
        made = device.allocate(self.nbytes, stream)
        if self.nbytes:
            with device.current() as driver:
                driver.copy_within(made.address, self.start, self.nbytes, stream)
        return DeviceArray(made, self.shape, self.dtype)

    def __dlpack_device__(self) -> tuple[int, int]:
        return CUDA_DEVICE, self.allocation.device.number

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        if copy is False:
            raise ValueError("an array on a GPU cannot be read by NumPy without a copy")
        made = np.empty(self.shape, self.dtype)
        if made.nbytes:
            with self.allocation.device.current() as driver:
                stream = self.allocation.stream
                driver.copy_out(made.ctypes.data, self.start, made.nbytes, stream)
                driver.synchronize(stream)
        return made if dtype is None else made.astype(dtype)

    def __repr__(self) -> str:
        return f"<tadc.DeviceArray {self.dtype}{list(self.shape)} on GPU {self.allocation.device.number}>"


@dataclass(frozen=True)
class View:
    """Where an array lies. `stream` is one that may still compute it, None if there is none."""

    address: int
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    is_row_major: bool
    device: int
    keepalive: Any
    framework: Framework | None
    stream: int | None = None
    is_read_only: bool = False

    @property
    def bytes(self) -> int:
        """Of all elements of a row-major array."""
        return self.dtype.itemsize * prod(self.shape)

    @property
    def span(self) -> tuple[int, int]:
        """The first byte of a row-major array, and the one after its last."""
        return self.address, self.address + self.bytes


def is_on_gpu(value: Any) -> bool:
    """Whether a value is an array on a GPU."""
    if isinstance(value, np.ndarray | DeviceArray):
        return isinstance(value, DeviceArray)
    framework = framework_of(value)
    if framework is not None:
        return framework.is_on_gpu(value)
    if hasattr(value, "__cuda_array_interface__"):
        return True
    return not hasattr(value, "__array_interface__") and device_kind(value) == CUDA_DEVICE


def view_of(value: Any) -> View:
    """The view of an array on a GPU.

    Raises ValueError, TypeError or BufferError for an array that does not give one.
    """
    if isinstance(value, DeviceArray):
        memory = value.allocation
        stream = memory.stream or LEGACY_STREAM
        return View(
            value.start, value.shape, value.dtype, True, memory.device.number, value, None, stream
        )  # fmt: skip
    framework = framework_of(value)
    if framework is not None:
        value = framework.plain(value)
    device = framework.device(value) if framework else None
    is_constant = framework is not None and framework.is_constant
    if hasattr(value, "__cuda_array_interface__"):
        found = value.__cuda_array_interface__
        shape, dtype = tuple(found["shape"]), np.dtype(found["typestr"])
        if found.get("mask") is not None:
            raise ValueError("it has a mask")
        address, is_read_only = found["data"]
        own = device if device is not None else _device_of(address or 0)
        return View(
            address or 0, shape, dtype, _row_major(shape, found.get("strides"), dtype.itemsize),
            own, value, framework, found.get("stream"), is_read_only or is_constant,
        )  # fmt: skip
    # The legacy default stream waits for what computes the array.
    capsule = value.__dlpack__(stream=LEGACY_STREAM)
    address, shape, strides, dtype, (_, number), is_read_only = read_capsule(capsule)
    return View(
        address, shape, dtype, _row_major(shape, strides, 1), number, (value, capsule), framework,
        LEGACY_STREAM, is_read_only or is_constant,
    )  # fmt: skip


def _device_of(address: int) -> int:
    """The number of the GPU that an array lies on, of a library that does not tell."""
    try:
        return cuda_driver().device_at(address) or 0
    except NoGpu:
        return 0


def _row_major(shape: Sequence[int], strides: Sequence[int] | None, unit: int) -> bool:
    if strides is None or 0 in shape:
        return True
    expected = unit
    for size, stride in zip(reversed(shape), reversed(strides), strict=True):
        if size > 1 and stride != expected:
            return False
        expected *= size
    return True


def copied_in(array: Array, device: Device, stream: int) -> Allocation:
    """A contiguous array's elements on a device. The copy may go on after this returns."""
    made = device.allocate(array.nbytes, stream)
    if array.nbytes:
        with device.current() as driver:
            driver.copy_in(made.address, array.ctypes.data, array.nbytes, stream)
    return made


def copied_out(allocation: Allocation, array: Array, stream: int) -> None:
    """Into a contiguous array; the stream tells when it is done."""
    if array.nbytes:
        with allocation.device.current() as driver:
            driver.copy_out(array.ctypes.data, allocation.address, array.nbytes, stream)
