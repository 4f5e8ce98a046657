"""DLPack: arrays of other libraries as addresses, ours as capsules (github.com/dmlc/dlpack, dlpack.h)."""

from __future__ import annotations

import ctypes
from contextlib import suppress
from ctypes import (
    POINTER,
    Array,
    Structure,
    c_char,
    c_char_p,
    c_int32,
    c_int64,
    c_uint8,
    c_uint16,
    c_uint64,
    c_void_p,
    py_object,
    string_at,
)
from functools import cache
from math import prod
from struct import Struct, unpack
from typing import Any, NamedTuple

import numpy as np

from tadc.passes.numpy_types import numpy_type

CPU_DEVICE = 1
CUDA_DEVICE = 2
_FLOAT, _BFLOAT = 2, 4


class _DLTensor(Structure):
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
    _fields_ = [("tensor", _DLTensor), ("context", c_void_p), ("deleter", _Deleter)]


class _Versioned(Structure):
    _fields_ = [
        ("major", c_int32), ("minor", c_int32), ("context", c_void_p), ("deleter", _Deleter),
        ("flags", c_uint64), ("tensor", _DLTensor),
    ]  # fmt: skip


#: The version of what we hand over; a greater first number is another layout.
_VERSION = (1, 0)
_READ_ONLY, _IS_COPY = 1, 2
#: The newest version that is understood.
ASKED_VERSION = (1, 1)

_python = ctypes.pythonapi
_pointer = ctypes.PYFUNCTYPE(c_void_p, py_object, c_char_p)(("PyCapsule_GetPointer", _python))
_Destructor = ctypes.CFUNCTYPE(None, c_void_p)
_new = ctypes.PYFUNCTYPE(py_object, c_void_p, c_char_p, _Destructor)(("PyCapsule_New", _python))
# A destructor runs when its object has no references: it is passed by address, not as an object.
_raw_valid = ctypes.PYFUNCTYPE(ctypes.c_int, c_void_p, c_char_p)(("PyCapsule_IsValid", _python))
_raw_pointer = ctypes.PYFUNCTYPE(c_void_p, c_void_p, c_char_p)(("PyCapsule_GetPointer", _python))

_NAME, _VERSIONED_NAME = c_char_p(b"dltensor"), c_char_p(b"dltensor_versioned")
#: What exported capsules refer to, by the address of their structure.
_exported: dict[int, tuple[Any, ...]] = {}


class CapsuleRead(NamedTuple):
    """What a capsule says. `strides` are in elements, None is row-major.

    What is read-only, or the copy of an array, is not to be written: nobody would see it.
    """

    address: int
    shape: tuple[int, ...]
    strides: tuple[int, ...] | None
    dtype: np.dtype[Any]
    device: tuple[int, int]
    is_read_only: bool


#: Those of `_DLTensor`, read at once.
_FIELDS = Struct("=QiiiBBHQQQ")
_Head = c_char * _FIELDS.size
_KINDS = {0: "i", 1: "u", _FLOAT: "f"}


def read_capsule(capsule: Any) -> CapsuleRead:
    """The array of a capsule, which lives as long as the capsule.

    Raises ValueError for what is no array of one number an element, or of a version that is not known.
    """
    at, flags = _tensor_of(capsule)
    fields = _FIELDS.unpack(string_at(at, _FIELDS.size))
    data, device_type, device, rank, code, bits, lanes, extents, steps, offset = fields
    if lanes != 1:
        raise ValueError("its elements are vectors")
    shape = _numbers(extents, rank)
    strides = _numbers(steps, rank) if steps else None
    is_bf16 = (code, bits) == (_BFLOAT, 16)
    dtype = numpy_type("bf16") if is_bf16 else np.dtype(f"{_KINDS.get(code, 'V')}{bits // 8}")
    is_read_only = bool(flags & (_READ_ONLY | _IS_COPY))
    return CapsuleRead(data + offset, shape, strides, dtype, (device_type, device), is_read_only)


class _Lent:
    """Memory of a capsule as NumPy reads it, which keeps the capsule."""

    def __init__(self, capsule: Any) -> None:
        self.capsule = capsule
        found = read_capsule(capsule)
        size, self.dtype = found.dtype.itemsize, found.dtype
        self.__array_interface__ = {
            "shape": found.shape,
            "typestr": found.dtype.str,
            # NumPy takes no address of 0, which an empty array may have.
            "data": (found.address or ctypes.addressof(_NOWHERE), found.is_read_only),
            "strides": found.strides and tuple(size * step for step in found.strides),
            "version": 3,
        }


_NOWHERE = ctypes.c_double()


def lent(value: Any) -> Any:
    """The NumPy array of an object on the host that has DLPack, in the same memory.

    It is read-only where the object says so, and where what it gives is a copy. A capsule of the version
    before 1 cannot say so: who hands one over lets it be written. Raises ValueError as `read_capsule`, and
    what the object raises.
    """
    # Before the array API of 2023 it took no such words. Some raise TypeError then, others ValueError.
    for asked in ({"max_version": ASKED_VERSION, "copy": False}, {"max_version": ASKED_VERSION}):
        with suppress(TypeError, ValueError):
            return _array(_Lent(value.__dlpack__(**asked)))
    return _array(_Lent(value.__dlpack__()))


def _array(memory: _Lent) -> Any:
    # What its interface calls a type is not enough where that is one of another package.
    return np.asarray(memory).view(memory.dtype)


def look_into(capsule: Any) -> tuple[int, tuple[Any, ...]]:
    """The address of a capsule's array, and the rest as it stands in memory, which is quicker to compare.

    Raises ValueError as `read_capsule`, BufferError for what is read-only or a copy.
    """
    at, flags = _tensor_of(capsule)
    if flags & (_READ_ONLY | _IS_COPY):
        raise BufferError
    head = _Head.from_address(at).raw
    data, _, _, rank, _, _, _, extents, steps, offset = _FIELDS.unpack(head)
    row = _row(rank)
    strides = row.from_address(steps).raw if steps else None
    return data + offset, (head[8:24], row.from_address(extents).raw, strides)


def _tensor_of(capsule: Any) -> tuple[int, int]:
    """Where the tensor of a capsule is, and its flags."""
    try:
        return _pointer(capsule, _NAME), 0
    except ValueError:
        pass
    try:
        at: int = _pointer(capsule, _VERSIONED_NAME)
    except ValueError:
        raise ValueError("the object gives no DLPack capsule") from None
    managed = _Versioned.from_address(at)
    if managed.major != _VERSION[0]:
        raise ValueError(f"its DLPack capsule is of version {managed.major}.{managed.minor}")
    return at + _Versioned.tensor.offset, managed.flags


@cache
def _row(rank: int) -> type[Array[c_char]]:
    return c_char * (8 * rank)


def _numbers(at: int, count: int) -> tuple[int, ...]:
    return unpack(f"={count}q", string_at(at, 8 * count))


def make_capsule(
    owner: Any,
    address: int,
    shape: tuple[int, ...],
    dtype: np.dtype[Any],
    device: tuple[int, int],
    is_versioned: bool = False,
    is_copy: bool = False,
) -> Any:
    """A capsule of a row-major array of floating-point numbers that keeps its owner alive."""
    count = max(len(shape), 1)
    code = _BFLOAT if dtype.kind == "V" else _FLOAT
    extents, steps = (c_int64 * count)(*shape), (c_int64 * count)(*_strides(shape))
    tensor = _DLTensor(address, *device, len(shape), code, 8 * dtype.itemsize, 1, extents, steps, 0)
    managed: _Managed | _Versioned
    if is_versioned:
        managed = _Versioned(*_VERSION, None, _deleter, _IS_COPY if is_copy else 0, tensor)
    else:
        managed = _Managed(tensor, None, _deleter)
    at = ctypes.addressof(managed)
    _exported[at] = (owner, managed, extents, steps)
    return _new(at, _VERSIONED_NAME if is_versioned else _NAME, _destructor)


def _strides(shape: tuple[int, ...]) -> list[int]:
    """Of a row-major array, in elements."""
    return [prod(shape[n + 1 :]) for n in range(len(shape))]


@_Deleter
def _deleter(at: int) -> None:
    _exported.pop(at, None)


@_Destructor
def _destructor(capsule: int) -> None:
    # Who takes the array over renames the capsule, and calls the deleter when done.
    for name in (_NAME, _VERSIONED_NAME):
        if _raw_valid(capsule, name):
            _exported.pop(_raw_pointer(capsule, name) or 0, None)
