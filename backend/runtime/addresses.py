"""Where the elements of an array are.

`array.ctypes.data` takes a microsecond or two; that is most of a small call. NumPy's C API promises to
compiled extensions that the address stands right after the head of the Python object; here that is checked
once, where it is not so `ctypes` is asked.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_HEAD = object.__basicsize__
_at = ctypes.c_void_p.from_address


def _direct(arrays: Iterable[NDArray[Any]]) -> list[int | None]:
    return [_at(id(array) + _HEAD).value for array in arrays]


def _asked(arrays: Iterable[NDArray[Any]]) -> list[int | None]:
    return [array.ctypes.data for array in arrays]


_PROBES = (np.zeros(3), np.zeros((4, 5), np.float32)[1:], np.zeros(()))

#: The address of the first element of each array; arrays are np.ndarray itself, kept alive by the caller.
addresses = _direct if _direct(_PROBES) == _asked(_PROBES) else _asked


def _is_as_known(array: NDArray[Any]) -> bool:
    """Whether what NumPy promises extensions to find behind the address is there, and the type before it."""
    extents = ctypes.c_void_p.from_address(id(array) + 32).value or 0
    found = (ctypes.c_ssize_t * array.ndim).from_address(extents) if array.ndim else ()
    return (
        _at(id(array) + 8).value == id(type(array))
        and ctypes.c_int.from_address(id(array) + 24).value == array.ndim
        and tuple(found) == array.shape
        and _at(id(array) + 56).value == id(array.dtype)
        and ctypes.c_int.from_address(id(array) + 64).value == array.flags.num
    )


def _holds_its_value(number: Any, kind: Any) -> bool:
    return kind.from_address(id(number) + 16).value == number


#: Whether objects are laid out as `backend/cpu/call.ll` reads them.
LAYOUT_IS_KNOWN = (
    _HEAD == 16
    and addresses is _direct
    and all([_is_as_known(array) for array in _PROBES])
    and all([_holds_its_value(number, ctypes.c_double) for number in (2.75, np.float64(2.75))])
    and _holds_its_value(np.float32(2.75), ctypes.c_float)
)


def span_of(array: NDArray[Any]) -> tuple[int, int]:
    """The first byte of a contiguous array, and the one after its last."""
    begin = addresses((array,))[0] or 0
    return begin, begin + array.nbytes


def overlap(a: tuple[int, int], b: tuple[int, int]) -> bool:
    """Whether two spans have a byte in common."""
    return a[0] < b[1] and b[0] < a[1] and a[0] < a[1] and b[0] < b[1]
