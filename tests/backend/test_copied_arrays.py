"""Arguments that are copied, and `out=`: what there is no room for, what would change, what overlaps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

import tadc
from tadc.backend.runtime.copied_arrays import inexact
from tadc.backend.runtime.outputs import overlaps_itself
from tadc.backend.runtime.parameters import Parameter

F = tadc.function("x: f64[N]; y[i] = 2*x[i]")
SUM = tadc.function("x: f64[N, M]; s = sum{i, j} (x[i, j])")


def problem_of(f: tadc.Function, *args: Any, **how: Any) -> Any:
    with pytest.raises(tadc.ArgumentError) as found:
        f(*args, **how)
    (problem,) = found.value.diagnostics
    return problem


@pytest.mark.parametrize(
    ("element", "bytes"), [(np.float64(1), "8.0 PiB"), (np.float32(1), "8.0 PiB"), (np.int64(1), "8.0 PiB")]
)
def test_what_is_repeated_more_often_than_there_is_room_for(element: Any, bytes: str) -> None:
    problem = problem_of(SUM, np.broadcast_to(element, (1 << 30, 1 << 20)))
    assert problem.code == "TAD0506"
    assert problem.message.startswith(f"`x` must be copied, which needs {bytes} of memory: ")
    assert problem.notes[-1] == "the program declares `x: f64[N, M]`"
    assert problem.helps == [
        "its elements are repeated: pass them once, and let the formula read them more often"
    ]


def test_indices_that_are_repeated() -> None:
    f = tadc.function("at: index[E] in N; x: f64[N]; s = sum{e} (x[at[e]])")
    assert problem_of(f, np.broadcast_to(np.int64(0), 1 << 50), np.ones(3)).code == "TAD0506"


def test_a_process_with_less_memory_than_the_system(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(np, "require", refuse)
    problem = problem_of(F, np.ones(6)[::2])
    assert problem.message == "`x` must be copied, which needs 24 bytes of memory: there is no room for it"
    assert problem.notes[0] == "it has strides (16,)"


#: Integers of 64 bits near those that an f64 has.
NEAR = sorted(
    {s * (2**k + d) for k in (31, 52, 53, 54, 60, 62, 63) for d in (-1025, -1, 0, 1, 1024) for s in (1, -1)}
)


@pytest.mark.parametrize("type", [np.int64, np.uint64])
def test_integers_that_an_f64_does_not_hold(type: Any) -> None:
    """Python's own integers say which."""
    limits = np.iinfo(type)
    for number in [*NEAR, int(limits.min), int(limits.max)]:
        if limits.min <= number <= limits.max:
            array = np.array([0, number, 3], type)
            problem = inexact(Parameter("x", "f64", (4,)), array, array.astype(np.float64))
            assert (problem is None) == (int(float(number)) == number), number
            if problem is None:
                assert F(array).tolist() == [0, 2.0 * number, 6]
                continue
            assert problem.message == f"`x[1]` is {number}, which f64 cannot hold without loss"
            assert problem.notes[0].startswith(f"the nearest f64 is {int(float(number))}; ")
            assert problem_of(F, array).code == "TAD0504"


def test_places_and_numbers_that_round() -> None:
    scalar = tadc.function("a: f64; b: f64[2, 2]; y = a*b[1, 0]")
    b = np.zeros((2, 2), np.int64)
    b[1, 0] = 2**60 + 1
    assert problem_of(scalar, 1.0, b).message.startswith("`b[1, 0]` is 1152921504606846977, ")
    assert problem_of(scalar, np.int64(2**60 + 1), np.ones((2, 2))).message.startswith("`a` is 115292150460")
    # Numbers of Python are rounded, as they are to f32.
    assert scalar(2**60 + 1, np.ones((2, 2))) == 2.0**60
    assert F(np.zeros(0, np.int64)).tolist() == []


def overlap(array: np.ndarray[Any, Any]) -> bool:
    """By the addresses of all bytes of all elements."""
    places = [
        sum(i * s for i, s in zip(index, array.strides, strict=True)) for index in np.ndindex(array.shape)
    ]
    return len({place + b for place in places for b in range(array.itemsize)}) < array.nbytes


def test_elements_that_overlap_are_found() -> None:
    rng, memory = np.random.default_rng(0), np.zeros(4096, np.uint8)
    seen: list[bool] = []
    for _ in range(400):
        ndim, kind = rng.integers(1, 4), np.float64 if rng.random() < 0.5 else np.float32
        shape, strides = rng.integers(0, 5, ndim), rng.integers(-12, 13, ndim) * 4
        start = memory[2048:].view(kind)
        array = as_strided(start, tuple(map(int, shape)), tuple(map(int, strides)))
        seen.append(overlap(array))
        assert overlaps_itself(array) == seen[-1], (shape, strides)
    assert 50 < sum(seen) < 350


@pytest.mark.parametrize("strides", [(4,), (0,), (-4,)])
def test_out_whose_elements_overlap(strides: tuple[int, ...]) -> None:
    out = as_strided(np.zeros(16)[8:], (5,), strides)
    problem = problem_of(F, np.ones(5), out=out)
    assert problem.code == "TAD0505"
    assert problem.message == "elements of `out` for `y` overlap"


def test_out_with_gaps_is_written() -> None:
    memory = np.zeros((4, 6))
    x = np.arange(8.0).reshape(4, 2)
    f = tadc.function("x: f64[N, M]; y[i, j] = 2*x[i, j]")
    for out in (memory[:, ::3], memory[::-1, 1:5:2], memory.reshape(3, 8)[:2, ::2].T, memory[:, 4:]):
        f(x, out=out)
        np.testing.assert_array_equal(out, 2 * x)
