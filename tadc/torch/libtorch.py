"""libtorch's stable C ABI: what an operator needs to be called without Python between it and its kernel.

https://docs.pytorch.org/docs/stable/notes/libtorch_stable_abi.html; functions begin with `aoti_torch_` for
historical reasons, those that were added in 2.10 and later with `torch_`.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from tadc.frontend.dtypes import DTYPES
from tadc.torch.pytorch import torch

#: The oldest version whose C ABI later ones keep.
OLDEST = (2, 9)

#: What boxed kernels call.
CALLED = (
    "aoti_torch_check",
    "aoti_torch_copy_",
    "aoti_torch_delete_tensor_object",
    "aoti_torch_empty_strided",
    "aoti_torch_get_data_ptr",
    "aoti_torch_get_dim",
    "aoti_torch_get_dtype",
    "aoti_torch_get_sizes",
    "aoti_torch_grad_mode_is_enabled",
    "aoti_torch_grad_mode_set_enabled",
    "aoti_torch_is_contiguous",
)

_CALLED_HERE = (
    "aoti_torch_abi_version",
    "aoti_torch_device_type_cpu",
    "aoti_torch_library_impl",
    "aoti_torch_library_init_impl",
)

_ELEMENTS = {name: f"aoti_torch_dtype_{record.library}" for name, record in DTYPES.items()}

#: As in `torch/headeronly/version.h`.
_2_10 = 2 << 56 | 10 << 48


@cache
def _library() -> Any:
    """The library that PyTorch has loaded."""
    for folder in torch.__path__:
        for name in ("libtorch_cpu.so", "libtorch_cpu.dylib"):
            path = Path(folder) / "lib" / name
            if path.exists():
                return ctypes.CDLL(str(path))
    raise OSError("PyTorch has no libtorch_cpu")


def missing() -> str:
    """Why operators cannot be made with the PyTorch that is here; empty where they can."""
    if torch.__version__ < OLDEST:
        return f"it is PyTorch {torch.__version__}"
    try:
        library = _library()
    except OSError as error:
        return str(error)
    needed = (*CALLED, *_CALLED_HERE, *_ELEMENTS.values())
    lacking = [name for name in needed if not hasattr(library, name)]
    return f"its libtorch has no `{lacking[0]}`" if lacking else ""


@cache
def externals() -> dict[str, int]:
    """The addresses of what boxed kernels call."""
    library = _library()
    return {name: ctypes.cast(getattr(library, name), ctypes.c_void_p).value or 0 for name in CALLED}


@cache
def element_number(kind: str) -> int:
    """The number that libtorch has for `f32`, `f64` or `i32`."""
    return int(getattr(_library(), _ELEMENTS[kind])())


@cache
def cpu_number() -> int:
    """The number that libtorch has for the CPU."""
    return int(_library().aoti_torch_device_type_cpu())


@cache
def _on_cpu() -> ctypes.c_void_p:
    """What kernels for CPU tensors are registered by; it stays as long as the process."""
    handle = ctypes.c_void_p()
    failed = _library().aoti_torch_library_init_impl(b"tadc", b"CPU", b"tadc", 1, ctypes.byref(handle))
    if failed:
        raise RuntimeError("PyTorch takes no kernels for the CPU in the namespace `tadc`")
    return handle


def register(name: str, address: int) -> None:
    """Let a boxed kernel at an address compute an operator of the namespace `tadc` on CPU tensors."""
    library, about = _library(), (_on_cpu(), name.encode(), ctypes.c_void_p(address))
    library.aoti_torch_abi_version.restype = ctypes.c_uint64
    version = library.aoti_torch_abi_version()
    newer: Callable[..., int] | None = getattr(library, "torch_library_impl", None)
    if newer is not None and version >= _2_10:
        failed = newer(*about, ctypes.c_uint64(version))
    else:
        failed = library.aoti_torch_library_impl(*about)
    if failed:
        raise RuntimeError(f"PyTorch does not take the kernel of `tadc::{name}`")
