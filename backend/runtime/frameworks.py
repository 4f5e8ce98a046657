"""PyTorch, CuPy, JAX and others: where their arrays lie, how NumPy reads them, new arrays of theirs.

None of them is imported: a value of theirs is there only if its module is.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np


class Framework:
    """What differs between libraries; `module` is the one that the arrays belong to."""

    module = ""
    is_constant = False
    """Whether an array of theirs may never be written to."""

    def __init__(self) -> None:
        self.library: Any = sys.modules[self.module]

    def is_on_gpu(self, value: Any) -> bool:
        """Whether an array lies on a GPU."""
        raise NotImplementedError

    def plain(self, value: Any) -> Any:
        """The array without what keeps it from being read. Raises TypeError where that would be lost."""
        return value

    def device(self, value: Any) -> int:
        """The number of the GPU."""
        raise NotImplementedError

    def stream(self, device: int) -> int | None:
        """The current stream; None where arrays tell theirs themselves."""
        return None

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any], device: int) -> Any:
        """A new array to write to; None where arrays are not written to."""
        return None

    def address(self, array: Any) -> int:
        """Where an array that `empty` made begins."""
        raise NotImplementedError

    def glance(self, value: Any) -> tuple[int, Any]:
        """Where an array on a GPU begins, and what else tells whether it can be read as it is.

        Of two of one type with equal facts both can, or neither. Raises what the library does.
        """
        raise NotImplementedError

    def taken(self, array: Any) -> Any:
        """An array of ours on a GPU as one of theirs."""
        return array

    def on_host(self, value: Any) -> Any:
        """The NumPy array of an array on the host, in the same memory. Raises what the library does."""
        return np.from_dlpack(self.plain(value))

    def from_host(self, array: Any) -> Any:
        """A NumPy array that nobody else has as one of theirs, in the same memory where that is possible."""
        return self.library.from_dlpack(array)


class Torch(Framework):
    """PyTorch."""

    module = "torch"

    def is_on_gpu(self, value: Any) -> bool:
        """See Framework."""
        return bool(value.is_cuda)

    def plain(self, value: Any) -> Any:
        """Without its record of gradients, which PyTorch does not share.

        Raises TypeError for one that records, as PyTorch does where NumPy asks for a tensor on the host.
        """
        if value.requires_grad and self.library.is_grad_enabled():
            raise TypeError("it requires a gradient, which results would not have")
        return value.detach()

    def device(self, value: Any) -> int:
        """See Framework."""
        return value.device.index or 0

    def __init__(self) -> None:
        super().__init__()
        # What torch.compile calls: the handle alone, without an object of Python.
        self._handle: Any = getattr(getattr(self.library, "_C", None), "_cuda_getCurrentRawStream", None)
        self._made: dict[tuple[np.dtype[Any], int], dict[str, Any]] = {}

    def stream(self, device: int) -> int:
        """See Framework."""
        if self._handle is not None:
            return self._handle(device)
        return self.library.cuda.current_stream(device).cuda_stream

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any], device: int) -> Any:
        """See Framework."""
        how = self._made.get((dtype, device))
        if how is None:
            place = getattr(self.library, "device", str)(f"cuda:{device}")
            how = {"dtype": getattr(self.library, dtype.name), "device": place}
            self._made[dtype, device] = how
        return self.library.empty(shape, **how)

    def address(self, array: Any) -> int:
        """See Framework."""
        return array.data_ptr()

    def glance(self, value: Any) -> tuple[int, Any]:
        """See Framework."""
        records = value.requires_grad and self.library.is_grad_enabled()
        about = (value.shape, value.dtype, value.get_device(), value.is_contiguous(), records)
        return value.data_ptr(), about

    def on_host(self, value: Any) -> Any:
        """See Framework; this is quicker than DLPack."""
        return self.plain(value).numpy()

    def from_host(self, array: Any) -> Any:
        """See Framework."""
        return self.library.from_numpy(array)


class CuPy(Framework):
    """CuPy."""

    module = "cupy"

    def is_on_gpu(self, value: Any) -> bool:
        """See Framework."""
        return True

    def device(self, value: Any) -> int:
        """See Framework."""
        return value.device.id

    def stream(self, device: int) -> int:
        """See Framework."""
        return self.library.cuda.get_current_stream(device).ptr

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any], device: int) -> Any:
        """See Framework."""
        with self.library.cuda.Device(device):
            return self.library.empty(shape, dtype)

    def address(self, array: Any) -> int:
        """See Framework."""
        return array.data.ptr

    def glance(self, value: Any) -> tuple[int, Any]:
        """See Framework."""
        memory = value.data
        return memory.ptr, (value.shape, value.dtype, memory.device_id, value.flags.c_contiguous)


class Jax(Framework):
    """JAX, whose arrays are not written to: ours are handed over."""

    module = "jax"
    is_constant = True

    def is_traced(self, value: Any) -> bool:
        """Whether a value stands for an array while `jit`, `grad` or `vmap` looks at a function."""
        kind = getattr(getattr(self.library, "core", None), "Tracer", None)
        return kind is not None and isinstance(value, kind)

    def is_on_gpu(self, value: Any) -> bool:
        """See Framework."""
        if self.is_traced(value) or (hasattr(value, "is_deleted") and value.is_deleted()):
            return False
        return not hasattr(value, "aval") or all(d.platform in ("gpu", "cuda") for d in value.devices())

    def plain(self, value: Any) -> Any:
        """Computed: JAX's work is on streams of its own."""
        return value.block_until_ready()

    def device(self, value: Any) -> int:
        """See Framework."""
        (device,) = value.devices()
        return device.local_hardware_id

    def glance(self, value: Any) -> tuple[int, Any]:
        """See Framework."""
        return self.plain(value).unsafe_buffer_pointer(), (value.shape, value.dtype, value.device)

    def taken(self, array: Any) -> Any:
        """See Framework."""
        return self.library.dlpack.from_dlpack(array)

    def from_host(self, array: Any) -> Any:
        """See Framework. Without 64 bits an f64 is an f32, as in all else that JAX is given."""
        if array.dtype.itemsize == 8 and not self.library.config.jax_enable_x64:
            return self.library.numpy.asarray(array.astype(np.float32))
        return self.library.dlpack.from_dlpack(array)


class Standard(Framework):
    """Any other library with the namespace and the DLPack of Python's array API."""

    def __init__(self, namespace: Any) -> None:
        self.library = namespace


_FRAMEWORKS: dict[str, type[Framework]] = {
    "torch": Torch,
    "cupy": CuPy,
    "jax": Jax,
    "jaxlib": Jax,
}
_found: dict[str, Framework] = {}


def framework_of(value: Any) -> Framework | None:
    """The library that an array belongs to, None for any other value."""
    name = type(value).__module__.partition(".")[0]
    kind = _FRAMEWORKS.get(name)
    if kind is None or not hasattr(value, "shape") or kind.module not in sys.modules:
        return None
    if name not in _found or _found[name].library is not sys.modules[kind.module]:
        _found[name] = kind()
    return _found[name]


def host_library(value: Any) -> Framework | None:
    """The library of an array on the host, which results are to be of; None for NumPy's and other values."""
    found = framework_of(value)
    if found is not None or isinstance(value, np.ndarray | np.generic):
        return found
    if hasattr(value, "__dlpack__") and hasattr(value, "__array_namespace__"):
        return Standard(value.__array_namespace__())
    return None


def is_traced(value: Any) -> bool:
    """Whether a value is an array of JAX that has no elements yet."""
    found = framework_of(value)
    return isinstance(found, Jax) and found.is_traced(value)


def stream_handle(stream: Any) -> int:
    """The handle of a stream: a number, or an object of PyTorch, CuPy or CUDA's Python library.

    Raises TypeError.
    """
    if stream is None:
        return 0
    for name in ("cuda_stream", "ptr"):
        if hasattr(stream, name):
            return int(getattr(stream, name))
    if hasattr(stream, "__cuda_stream__"):
        return int(stream.__cuda_stream__()[1])
    if isinstance(stream, bool) or not hasattr(stream, "__index__"):
        raise TypeError(f"a stream is a handle or a stream of PyTorch or CuPy, not {type(stream).__name__}")
    return stream.__index__()
