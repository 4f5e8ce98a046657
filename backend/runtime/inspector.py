"""What checks index arrays and makes others of them: machine code of `backend/cpu/inspector.ll`, `admit.ll`.

A Python without LLVM, which runs bundles for a GPU, has the same functions in NumPy.

Arrays are of 32-bit integers, in which sizes and elements are below `INDEX_LIMIT`.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from tadc.backend.cpu.kept_code import own_code
from tadc.backend.runtime import numpy_inspector
from tadc.backend.runtime.addresses import addresses

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tadc.backend.cpu.linking import Library

Array: TypeAlias = "NDArray[Any]"

INDEX_LIMIT = 2**31
"""Elements of index arrays, and how many there are, are less."""

INDEX = np.dtype(np.int32)

#: LLVM's type of elements, how they become at least 32 bits, and how many these are.
_KINDS = {
    "int8": ("i8", "sext", 32), "uint8": ("i8", "zext", 32),
    "int16": ("i16", "sext", 32), "uint16": ("i16", "zext", 32),
    "int32": ("i32", "bitcast", 32), "uint32": ("i32", "bitcast", 32),
    "int64": ("i64", "bitcast", 64), "uint64": ("i64", "bitcast", 64),
}  # fmt: skip

#: Arrays of fewer elements are compared sooner by one thread than others wake.
_MANY = 1 << 16
#: Ranges of threads begin at multiples of so many.
_LINE = 64


def inspector_text() -> str:
    """LLVM IR of all functions."""
    text, admit = own_code("inspector.ll"), own_code("admit.ll")
    declared = [f"declare i{bits} @llvm.umax.i{bits}(i{bits}, i{bits})" for bits in (32, 64)]
    return "\n".join([text, *declared, *(_admitting(admit, name) for name in _KINDS)])


@cache
def signatures() -> dict[str, tuple[str, tuple[str, ...]]]:
    """LLVM's types of what each function returns and takes, by its name without `tadc_`."""
    heads = re.findall(r"^define (\w+) @tadc_(\w+)\((.*)\)", inspector_text(), re.M)
    return {name: (kind, tuple(p.split()[0] for p in taken.split(", "))) for kind, name, taken in heads}


def _admitting(text: str, name: str) -> str:
    element, extend, bits = _KINDS[name]
    narrow, result, broad = ("trunc", "bitcast", "zext") if bits > 32 else ("bitcast", "zext", "bitcast")
    words = {
        "NAME": name, "WIDE": f"i{bits}", "EXTEND": extend,
        "NARROW": narrow, "RESULT": result, "BROAD": broad,
    }  # fmt: skip
    for word, stands_for in words.items():
        text = text.replace(word, stands_for)
    return re.sub(r"\bT\b", element, text)


@cache
def _library() -> Library:
    from tadc.backend.cpu.kept_code import linked

    return linked(inspector_text(), [f"tadc_{name}" for name in signatures()], level=2)


def _at(array: Array) -> int | None:
    return addresses((array,))[0]


def symbols() -> dict[str, int]:
    """Where the functions are, by their symbols."""
    return dict(_library().addresses)


class _Elements:
    """How ctypes passes an array, or none: the address of its elements."""

    @staticmethod
    def from_param(array: Array | None) -> ctypes.c_void_p:
        return ctypes.c_void_p(None if array is None else addresses((array,))[0])


@cache
def inspector_function(name: str) -> Callable[..., int]:
    """A function of arrays and numbers."""
    try:
        address = _library()[f"tadc_{name}"]
    except ImportError:
        return getattr(numpy_inspector, name.partition("_")[0])
    function: Any = ctypes.CFUNCTYPE(ctypes.c_uint64)(address)
    function.argtypes = [_Elements if kind == "ptr" else ctypes.c_int64 for kind in signatures()[name][1]]
    return function


def admitted(array: Array) -> tuple[Array, int]:
    """The elements as 32-bit integers, and the largest of them, -1 of none.

    The array is contiguous, of integers in this machine's order of bytes. Where the largest is not below
    `INDEX_LIMIT`, which a negative one is not either, the elements are not those of the array.
    """
    if array.dtype is INDEX:
        made, found = array, inspector_function("admit_int32")(array, None, array.size)
    else:
        made = np.empty(array.shape, INDEX)
        found = inspector_function(f"admit_{_kind(array)}")(array, made, array.size)
    return made, found if array.size else -1


def is_same(array: Array, admitted: Array) -> bool:
    """Whether the elements of a contiguous array of integers are those of one that was admitted."""
    kind = "int32" if array.dtype is INDEX else _kind(array)
    same = inspector_function(f"same_{kind}")
    if array.size < _MANY or same is numpy_inspector.same:
        return bool(same(array, admitted, array.size))
    given = np.array([_at(array), _at(admitted), 0], np.uint64)
    _in_parallel()(_library()[f"tadc_compare_{kind}"], _at(given), array.size, _LINE, array.size)
    return not given[2]


@cache
def _in_parallel() -> Callable[[int, int | None, int, int, int], None]:
    """Runs a body on ranges of elements, as `tadc_parallel`."""
    from tadc.backend.cpu.thread_pool import address_of_pool

    kinds = (ctypes.c_void_p, ctypes.c_void_p, *[ctypes.c_int64] * 3)
    return ctypes.CFUNCTYPE(None, *kinds)(address_of_pool())


def _kind(array: Array) -> str:
    # A type of NumPy takes long to say its name.
    return f"{'uint' if array.dtype.kind == 'u' else 'int'}{8 * array.itemsize}"


def falls(array: Array) -> bool:
    """Whether an element is less than the one before."""
    return bool(inspector_function("falls")(array, array.size))


def is_long(begins: Array, ends: Array | None, length: int) -> bool:
    """Whether a range has so many elements, from one up to the next or to that of `ends` at its place."""
    return bool(inspector_function("long")(begins, ends, begins.size, length))


def sorted_places(arrays: Sequence[Array], below: Sequence[int]) -> tuple[Array, Array]:
    """The places of elements in the order of their values, the first array's before the next one's, and of
    equal ones in the order of places; of the first array, how many elements are less than 0, 1, ….

    Elements are numbered row by row. Takes O(elements + all of `below`).
    """
    order: Array | None = None
    starts = places = np.empty(0, INDEX)
    for array, bound in reversed(list(zip(arrays, below, strict=True))):
        starts, places = np.empty(bound + 1, INDEX), np.empty(array.size, INDEX)
        inspector_function("sort")(array, order, array.size, bound, starts, places)
        order = places
    return starts, places


def owners(starts: Array, count: int) -> Array:
    """For each e below `count`, the n with `starts[n] <= e < starts[n + 1]`; the number of rows for none."""
    made = np.empty(count, INDEX)
    inspector_function("owners")(starts, starts.size, count, made)
    return made
