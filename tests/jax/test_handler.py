"""The handler of XLA's foreign function interface, called with frames that XLA would not send."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

import tadc
from tadc.backend.cpu.jit import load
from tadc.backend.object_code import object_code
from tadc.jax.derived import telling
from tadc.jax.xla_kernels import SOURCE, Install, table_of
from tadc.native.door_table import door_code
from tadc.native.framed_kernels import framed_kernel

INVALID_ARGUMENT, INTERNAL = 3, 13

Words = ctypes.c_int64 * 32
KEPT: list[Any] = []
CREATE = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.POINTER(Words))
HANDLER = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)


class Xla:
    """The caller of a handler: its interface, and the errors that it was told of."""

    def __init__(self) -> None:
        self.errors: list[tuple[int, str]] = []
        create = CREATE(self._create)
        self.api = Words(200)
        self.api[6] = ctypes.cast(create, ctypes.c_void_p).value or 0
        KEPT.append(create)

    def _create(self, given: Any) -> int:
        words = given.contents
        assert words[0] == 28
        self.errors.append((words[3] & 0xFFFFFFFF, ctypes.string_at(words[2]).decode()))
        return 1

    def frame(self, size: int = 176) -> Any:
        frame = Words(size)
        frame[2] = ctypes.addressof(self.api)
        frame[4] = 3
        return frame


def buffer(array: np.ndarray[Any, Any], type: int = 12) -> Any:
    dims = (ctypes.c_int64 * 8)(*array.shape)
    made = Words(48, 0, type, array.ctypes.data, array.ndim, ctypes.addressof(dims))
    KEPT.append((dims, array, made))
    return made


def pointers(frame: Any, first: int, buffers: list[Any]) -> None:
    array = Words(*(ctypes.addressof(b) for b in buffers))
    KEPT.append(array)
    frame[first], frame[first + 2] = len(buffers), ctypes.addressof(array)


def kernel(function: tadc.Function, is_told: bool = False) -> Any:
    made = framed_kernel(function, "XLA", table_of)
    library = load(object_code(door_code(SOURCE)), ["tadc.xla.run"])
    KEPT.extend((made, library))
    kind = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_bool)
    run = kind(library["tadc.xla.run"])
    return lambda frame: run(frame, made.address, is_told)


def call(run: Any, inputs: list[Any], outputs: list[Any]) -> list[tuple[int, str]]:
    xla = Xla()
    frame = xla.frame()
    pointers(frame, 7, inputs)
    pointers(frame, 12, outputs)
    assert (run(ctypes.addressof(frame)) or 0) == len(xla.errors)
    return xla.errors


def test_kernels_report_what_does_not_fit() -> None:
    run = kernel(tadc.function("x: f64[N]; w: f64[N, 2]; y[i: N - 2] = x[i + 2]*w[i, 0] - x[i]"))
    x, w, y = np.arange(5.0), np.ones((5, 2)), np.empty(3)
    assert call(run, [buffer(x), buffer(w)], [buffer(y)]) == []
    np.testing.assert_array_equal(y, [2, 2, 2])
    message = "tadc: error[TAD0503]: dimension 1 of `w` does not fit\n"
    message += "  = note: the program declares `w: f64[N, 2]`"
    assert call(run, [buffer(x), buffer(np.ones((5, 3)))], [buffer(y)]) == [(INVALID_ARGUMENT, message)]
    ((code, said),) = call(run, [buffer(np.ones(1)), buffer(np.ones((1, 2)))], [buffer(y)])
    assert code == INVALID_ARGUMENT
    assert "not defined for these sizes" in said
    small = buffer(x)
    small[0] = 40
    for inputs, outputs, says in (
        ([buffer(x)], [buffer(y)], "a tensor cannot be read"),  # one too few
        ([buffer(x), buffer(w)], [], "a tensor cannot be read"),
        ([buffer(x), buffer(w)], [buffer(y, 11)], "or results of another type"),
        ([buffer(w), buffer(w)], [buffer(y)], "`x` does not have 1 dimensions"),
        ([buffer(x), buffer(w, 11)], [buffer(y)], "the elements of `w` are not of type f64"),
        ([small, buffer(w)], [buffer(y)], "a tensor cannot be read"),  # it ends before what is read
    ):
        ((code, said),) = call(run, inputs, outputs)
        assert code == INTERNAL
        assert says in said


def test_extents_as_elements_of_a_vector() -> None:
    function = telling(tadc.function("size A; size B; x: f64[N]; y[i] = x[i]*A + B"))
    run, x, y = kernel(function, is_told=True), np.arange(4.0), np.empty(4)
    numbers = np.array([3, 70_000], np.int32)
    assert call(run, [buffer(x), buffer(numbers, 4)], [buffer(y)]) == []
    np.testing.assert_array_equal(y, 3 * x + 70_000)
    for wrong, type in ((numbers[:1], 4), (numbers.reshape(2, 1), 4), (numbers, 2)):
        ((code, said),) = call(run, [buffer(x), buffer(wrong, type)], [buffer(y)])
        assert code == INTERNAL
        assert "a tensor cannot be read" in said


def loaded(minor: int) -> Any:
    library, table = load(object_code(door_code(SOURCE)), ["tadc.xla", "tadc.install"]), Words(0)
    KEPT.extend((library, table))
    Install(library["tadc.install"])(ctypes.addressof(table), 0, 0, minor)
    return HANDLER(library["tadc.xla"])


def test_the_handler_tells_its_version() -> None:
    run = loaded(3)
    frame = Xla().frame()
    answer = Words(36, 24, *[-1] * 6)
    question = Words(32, 1, 0, ctypes.addressof(answer))
    before = Words(24, 7, ctypes.addressof(question))  # an extension that is not known
    frame[1] = ctypes.addressof(before)
    assert run(ctypes.addressof(frame)) is None
    assert answer[3] == 3 << 32  # major 0, minor 3
    assert answer[4] & 0xFFFFFFFF == 0
    assert answer[5] == -1  # nothing behind what it said it has
    answer[0], answer[3] = 28, -1
    assert run(ctypes.addressof(frame)) is None
    assert answer[3] == -1


def test_the_handler_refuses_frames_that_it_cannot_read() -> None:
    run, xla = loaded(1), Xla()
    frame = xla.frame(160)
    assert run(ctypes.addressof(frame)) == 1
    assert xla.errors == [(INTERNAL, "tadc: this version of XLA passes too little")]
    frame[0] = 168
    assert run(ctypes.addressof(frame)) == 1
    assert xla.errors[1] == (INVALID_ARGUMENT, "tadc: a call has no kernel")
