"""PyTorch, CuPy, JAX and others: where their arrays lie, how NumPy reads them, new arrays of theirs.

None of them is imported: a value of theirs is there only if its module is. Which library an array is of says
its namespace (`__array_namespace__`), or where it has none the modules of its class and of those above it.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from typing import Any, cast

import numpy as np

from tadc.passes.numpy_types import numpy_type


class Framework:
    """What differs between libraries; `module` is the one that the arrays belong to."""

    module = ""
    is_constant = False
    """Whether an array of theirs may never be written to."""
    makes_arrays = True
    """Whether results can be arrays of theirs."""

    def __init__(self) -> None:
        self.library: Any = sys.modules[self.module]

    def is_on_gpu(self, value: Any) -> bool:
        """Whether an array lies on a GPU."""
        raise NotImplementedError

    def plain(self, value: Any) -> Any:
        """The array without what keeps it from being read. Raises TypeError where that would be lost."""
        return value

    def records(self, value: Any) -> bool:
        """Whether an array has a gradient or a tangent that results would not have."""
        return False

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

    def writes_of(self, value: Any) -> tuple[Any, int] | None:
        """What has the memory of an array, and a number that changes where the library writes to that.

        None where it does not tell.
        """
        return None

    def taken(self, array: Any) -> Any:
        """An array of ours on a GPU as one of theirs."""
        return array

    def on_host(self, value: Any) -> Any:
        """The NumPy array of an array on the host, in the same memory. Raises what the library does."""
        return np.from_dlpack(self.plain(value))

    def to_write(self, value: Any) -> Any:
        """The NumPy array of an array on the host that is to be written; read-only where it may not be.

        Raises what the library does.
        """
        return self.on_host(value)

    def was_written(self, value: Any) -> None:
        """Tell the library that an array of it has other elements now."""

    def from_host(self, array: Any, like: Any) -> Any:
        """A NumPy array that nobody else has as one of theirs, on the device of another one.

        In the same memory where that is possible.
        """
        raise NotImplementedError


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
        if self.records(value):
            raise TypeError("it has a gradient or a tangent, which results would not have")
        return value.detach()

    def records(self, value: Any) -> bool:
        """See Framework; NumPy asks PyTorch for no tangent."""
        if value.requires_grad and self.library.is_grad_enabled():
            return True
        forward: Any = sys.modules.get("torch.autograd.forward_ad")
        if forward is None or forward._current_level < 0:
            return False
        return forward.unpack_dual(value).tangent is not None

    def was_written(self, value: Any) -> None:
        """See Framework: what is kept for a gradient must not have changed."""
        graph: Any = getattr(getattr(self.library, "autograd", None), "graph", None)
        if graph is not None and not value.is_inference():
            graph.increment_version(value)

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
        about = (value.shape, value.dtype, value.get_device(), value.is_contiguous(), self.records(value))
        return value.data_ptr(), about

    def writes_of(self, value: Any) -> tuple[Any, int] | None:
        """See Framework: the counter by which autograd sees that what it has kept was written to."""
        if value.is_inference():
            return None
        return value._base if value._is_view() else value, value._version

    def on_host(self, value: Any) -> Any:
        """See Framework; this is quicker than DLPack."""
        plain = self.plain(value)
        if str(plain.dtype) == "torch.bfloat16":  # which NumPy knows by another package
            return plain.view(self.library.int16).numpy().view(numpy_type("bf16"))
        return plain.numpy()

    def from_host(self, array: Any, like: Any) -> Any:
        """See Framework; there is one device of the host."""
        if array.dtype.kind == "V":
            return self.library.from_numpy(array.view(np.int16)).view(getattr(self.library, array.dtype.name))
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
        if hasattr(value, "todense"):
            return False  # a sparse one lies nowhere: arrays in it do
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

    def writes_of(self, value: Any) -> tuple[Any, int] | None:
        """See Framework: nobody does."""
        return value, 0

    def taken(self, array: Any) -> Any:
        """See Framework."""
        return self.library.dlpack.from_dlpack(array)

    def from_host(self, array: Any, like: Any) -> Any:
        """See Framework. Without 64 bits an f64 is an f32, as in all else that JAX is given."""
        if array.dtype.itemsize == 8 and not self.library.config.jax_enable_x64:
            made = self.library.numpy.asarray(array.astype(np.float32))
        elif array.dtype.kind == "V":  # of which NumPy's DLPack knows nothing
            made = self.library.numpy.asarray(array)
        else:
            made = self.library.dlpack.from_dlpack(array)
        place = like.device
        # Of an array on several devices it says how they divide that.
        is_elsewhere = hasattr(place, "platform") and place != made.device
        return self.library.device_put(made, place) if is_elsewhere else made


class Lender(Framework):
    """An object with DLPack alone, of no library that is known: results are NumPy's."""

    makes_arrays = False

    def __init__(self) -> None:
        self.library = np

    def to_write(self, value: Any) -> Any:
        """See Framework. A copy is read-only, since nobody would see what is written to it."""
        from tadc.backend.runtime.dlpack import lent

        return lent(value)


class Standard(Lender):
    """Any other library with the namespace and the DLPack of Python's array API."""

    makes_arrays = True

    def __init__(self, namespace: Any) -> None:
        self.library = namespace

    def from_host(self, array: Any, like: Any) -> Any:
        """See Framework; before its version of 2023 the API has no device here."""
        place = getattr(like, "device", None)
        if place is not None:
            with suppress(TypeError, ValueError):
                return self.library.from_dlpack(array, device=place)
        return self.library.from_dlpack(array)


_FRAMEWORKS: dict[str, type[Framework]] = {"torch": Torch, "cupy": CuPy, "jax": Jax, "jaxlib": Jax}
_found: dict[str, Framework] = {}
_LENDER = Lender()

#: The libraries of types that were seen, of so many at most; None for those of which there is no row above.
_known: dict[type[Any], str | None] = {}
_MOST = 256


def framework_of(value: Any) -> Framework | None:
    """The library in the table that an array belongs to, None for any other value."""
    kind = cast("type[Any]", type(value))
    if kind in _known:
        name = _known[kind]
    else:
        if len(_known) >= _MOST:
            _known.clear()
        name = _known[kind] = _library_named(value)
    try:
        if name is None or not hasattr(value, "shape"):
            return None
    except RuntimeError:  # of a tensor of tensors
        return None
    made = _FRAMEWORKS[name]
    if made.module not in sys.modules:
        return None
    if name not in _found or _found[name].library is not sys.modules[made.module]:
        _found[name] = made()
    return _found[name]


def _library_named(value: Any) -> str | None:
    """The row of the table that arrays like this one belong to."""
    namespace = _namespace(value)
    if namespace is not None:
        names = [str(getattr(namespace, "__name__", ""))]
    else:
        names = [base.__module__ for base in type(value).__mro__]
    tops = [name.partition(".")[0] for name in names]
    return next((name for name in tops if name in _FRAMEWORKS), None)


def _namespace(value: Any) -> Any:
    with suppress(Exception):  # whatever the library of the value raises
        return value.__array_namespace__()
    return None


def host_library(value: Any) -> Framework | None:
    """The library of an array on the host; None for NumPy's and for other values."""
    found = framework_of(value)
    if found is not None or isinstance(value, np.ndarray | np.generic):
        return found
    if not hasattr(value, "__dlpack__"):
        return None
    namespace = _namespace(value)
    return _LENDER if namespace is None else Standard(namespace)


#: Devices of DLPack whose memory CUDA and ROCm share with the host.
_SHARED_DEVICES = (3, 11, 13)
#: Those that others have, by the names of `dlpack.h`.
_DEVICES = {
    2: "CUDA", 4: "OpenCL", 7: "Vulkan", 8: "Metal", 9: "VPI", 10: "ROCm", 14: "oneAPI", 15: "WebGPU",
    16: "Hexagon", 17: "MAIA", 18: "Trainium",
}  # fmt: skip


def device_kind(value: Any) -> int | None:
    """The number that DLPack has for the kind of an array's device; None where it does not say."""
    with suppress(Exception):  # whatever the library of the value raises
        return int(value.__dlpack_device__()[0])
    return None


def foreign_device(value: Any) -> str | None:
    """The device that an array says to lie on, where that is neither the host nor an NVIDIA GPU."""
    from tadc.backend.runtime.dlpack import CPU_DEVICE, CUDA_DEVICE

    kind = device_kind(value)
    if kind is None or kind in (CPU_DEVICE, CUDA_DEVICE, *_SHARED_DEVICES):
        return None
    return _DEVICES.get(kind, f"number {kind} of DLPack")


def is_traced(value: Any) -> bool:
    """Whether a value is an array of JAX that has no elements yet."""
    found = framework_of(value)
    return isinstance(found, Jax) and found.is_traced(value)


def is_lazy(value: Any) -> bool:
    """Whether a value is an array of Dask, which NumPy would compute and read."""
    return type(value).__module__.partition(".")[0] == "dask" and hasattr(value, "shape")


def is_divided(value: Any) -> bool:
    """Whether a value is a DTensor of PyTorch, of which this process has a part."""
    module = sys.modules.get("torch.distributed.tensor")
    return isinstance(value, getattr(module, "DTensor", ()))


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
