"""DLPack: arrays of other libraries as addresses, ours as capsules (github.com/dmlc/dlpack, dlpack.h)."""

from __future__ import annotations

import ctypes
from ctypes import (
    POINTER,
    Structure,
    c_char_p,
    c_int32,
    c_int64,
    c_uint8,
    c_uint16,
    c_uint64,
    c_void_p,
    py_object,
)
from typing import Any

CUDA_DEVICE = 2
_FLOAT = 2


class _Tensor(Structure):
    _fields_ = [
        ("data", c_void_p),
        ("device_type", c_int32),
        ("device_id", c_int32),
        ("ndim", c_int32),
        ("code", c_uint8),
        ("bits", c_uint8),
        ("lanes", c_uint16),
        ("shape", POINTER(c_int64)),
        ("strides", POINTER(c_int64)),
        ("byte_offset", c_uint64),
    ]


_Deleter = ctypes.CFUNCTYPE(None, c_void_p)


class _Managed(Structure):
    _fields_ = [("tensor", _Tensor), ("context", c_void_p), ("deleter", _Deleter)]


class _Versioned(Structure):
    _fields_ = [
        ("major", c_int32), ("minor", c_int32), ("context", c_void_p), ("deleter", c_void_p),
        ("flags", c_uint64), ("tensor", _Tensor),
    ]  # fmt: skip


_python = ctypes.pythonapi
_valid = ctypes.PYFUNCTYPE(ctypes.c_int, py_object, c_char_p)(("PyCapsule_IsValid", _python))
_pointer = ctypes.PYFUNCTYPE(c_void_p, py_object, c_char_p)(("PyCapsule_GetPointer", _python))
_Destructor = ctypes.CFUNCTYPE(None, c_void_p)
_new = ctypes.PYFUNCTYPE(py_object, c_void_p, c_char_p, _Destructor)(("PyCapsule_New", _python))
# A destructor runs when its object has no references: it is passed by address, not as an object.
_raw_valid = ctypes.PYFUNCTYPE(ctypes.c_int, c_void_p, c_char_p)(("PyCapsule_IsValid", _python))
_raw_pointer = ctypes.PYFUNCTYPE(c_void_p, c_void_p, c_char_p)(("PyCapsule_GetPointer", _python))

_NAME = b"dltensor"
#: What exported capsules refer to, by the address of their structure.
_exported: dict[int, tuple[Any, ...]] = {}


def read_capsule(capsule: Any) -> tuple[int, tuple[int, ...], tuple[int, ...] | None, str]:
    """Address, shape, strides in elements (None: row-major) and type, as `f4`, of a capsule.

    The array lives as long as the capsule. Raises ValueError for what is no array of one number an element.
    """
    if _valid(capsule, _NAME):
        tensor = _Managed.from_address(_pointer(capsule, _NAME)).tensor
    elif _valid(capsule, b"dltensor_versioned"):
        tensor = _Versioned.from_address(_pointer(capsule, b"dltensor_versioned")).tensor
    else:
        raise ValueError("the object gives no DLPack capsule")
    if tensor.lanes != 1:
        raise ValueError("its elements are vectors")
    shape = tuple(tensor.shape[n] for n in range(tensor.ndim))
    strides = tuple(tensor.strides[n] for n in range(tensor.ndim)) if tensor.strides else None
    kind = {0: "i", 1: "u", _FLOAT: "f"}.get(tensor.code, "V")
    return (tensor.data or 0) + tensor.byte_offset, shape, strides, f"{kind}{tensor.bits // 8}"


def make_capsule(owner: Any, address: int, shape: tuple[int, ...], bytes: int, device: int) -> Any:
    """A capsule of a row-major array of floating-point numbers that keeps its owner alive."""
    extents = (c_int64 * max(len(shape), 1))(*shape)
    tensor = _Tensor(address, CUDA_DEVICE, device, len(shape), _FLOAT, 8 * bytes, 1, extents, None, 0)
    managed = _Managed(tensor, None, _deleter)
    at = ctypes.addressof(managed)
    _exported[at] = (owner, managed, extents)
    return _new(at, _NAME, _destructor)


@_Deleter
def _deleter(at: int) -> None:
    _exported.pop(at, None)


@_Destructor
def _destructor(capsule: int) -> None:
    # Who takes the array over renames the capsule, and calls the deleter when done.
    if _raw_valid(capsule, _NAME):
        _exported.pop(_raw_pointer(capsule, _NAME) or 0, None)
