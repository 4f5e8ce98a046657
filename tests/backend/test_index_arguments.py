"""Calls of kernels with index arrays: what is checked, what is made of them, what is kept."""

from __future__ import annotations

import gc
import json
from typing import Any

import numpy as np
import pytest

from tadc.backend.llvm_ir import complete
from tadc.backend.object_code import object_code
from tadc.backend.runtime import index_arguments, kept_indices, known_arrays
from tadc.backend.runtime.call_sizes import SizeSymbols
from tadc.backend.runtime.host_kernel import HostKernel, loaded
from tadc.backend.runtime.interface import Interface
from tadc.backend.runtime.kept_indices import Relation
from tadc.backend.runtime.parameters import Parameter
from tadc.frontend.diagnostics import ArgumentError
from tadc.frontend.program import Inspected
from tadc.lattice.affine import Affine
from tests.backend.kernels import Array, llvm_text

N, E = Affine.var("N"), Affine.var("E")

#: y[n] = the sum of x[e] over the e with dst[e] = n, by fibres, of arrays of any size up to this one.
TEXT = """
func.func @k(%x: memref<4096xf64>, %dst: memref<4096xi32>, %ptr: memref<4096xi32>, %perm: memref<4096xi32>,
    %y: memref<4096xf64>, %N: index, %E: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  scf.for %n = %c0 to %N step %c1 {
    %m = arith.addi %n, %c1 : index
    %a = memref.load %ptr[%n] : memref<4096xi32>
    %b = memref.load %ptr[%m] : memref<4096xi32>
    %begin = arith.index_cast %a : i32 to index
    %end = arith.index_cast %b : i32 to index
    %sum = scf.for %q = %begin to %end step %c1 iter_args(%s = %zero) -> f64 {
      %p = memref.load %perm[%q] : memref<4096xi32>
      %e = arith.index_cast %p : i32 to index
      %v = memref.load %x[%e] : memref<4096xf64>
      %t = arith.addf %s, %v : f64
      scf.yield %t : f64
    }
    memref.store %sum, %y[%n] : memref<4096xf64>
  }
  return
}
"""

X, DST = Parameter("x", "f64", (E,)), Parameter("dst", "i32", (E,), N)
PTR = Parameter("dst.ptr", "i32", (N + 1,), E + 1, True, Inspected("ptr", ("dst",)))
PERM = Parameter("dst.perm", "i32", (E,), E, False, Inspected("perm", ("dst",)))
Y = Parameter("y", "f64", (N,))
INTERFACE = Interface("k", (X, DST, PTR, PERM), (Y,), (), ("N", "E"))


@pytest.fixture(scope="module")
def kernel() -> HostKernel:
    return loaded(INTERFACE, object_code(complete(llvm_text(TEXT))))


def expected(x: Array, dst: Any, n: int) -> Array:
    return np.bincount(np.asarray(dst), x, n)


def problem(kernel: HostKernel, *args: Any, **kwargs: Any) -> str:
    with pytest.raises(ArgumentError) as found:
        kernel(args, kwargs)
    return "\n".join(str(found.value).splitlines())


def test_what_is_inspected_is_no_argument(kernel: HostKernel) -> None:
    assert [p.name for p in kernel.inputs] == ["x", "dst"]
    assert [str(p) for p in kernel.inputs] == ["x: f64[E]", "dst: index[E] in N"]


def test_an_interface_is_read_back() -> None:
    assert Interface.from_json(json.loads(json.dumps(INTERFACE.as_json()))) == INTERFACE


@pytest.mark.parametrize("kind", ["int8", "uint8", "int16", ">i4", "int32", "uint32", "int64", ">u8", "list"])
def test_integers_of_any_type_are_taken(kernel: HostKernel, kind: str) -> None:
    x, dst = np.arange(6.0), [3, 0, 3, 1, 0, 3]
    given = dst if kind == "list" else np.array(dst, kind)
    for _ in range(2):
        np.testing.assert_array_equal(kernel((x, given), {"N": 5})[0], expected(x, dst, 5))


def test_strided_and_misaligned_arrays_are_taken(kernel: HostKernel) -> None:
    x, dst = np.arange(4.0), np.array([2, 9, 1, 9, 2, 9, 0, 9])
    np.testing.assert_array_equal(kernel((x, dst[::2]), {"N": 3})[0], expected(x, dst[::2], 3))
    bytes_ = np.frombuffer(b"\0" + dst[::2].astype(np.int32).tobytes(), np.uint8)
    odd = bytes_[1:].view(np.int32)
    np.testing.assert_array_equal(kernel((x, odd), {"N": 3})[0], expected(x, dst[::2], 3))


@pytest.mark.parametrize(("e", "n"), [(0, 0), (0, 3), (1, 1)])
def test_small_sizes(kernel: HostKernel, e: int, n: int) -> None:
    x, dst = np.ones(e), np.zeros(e, np.int64)
    np.testing.assert_array_equal(kernel((x, dst), {"N": n})[0], expected(x, dst, n))
    np.testing.assert_array_equal(kernel((x, list(dst)), {"N": n})[0], expected(x, dst, n))


@pytest.mark.parametrize("is_read_only", [True, False])
def test_an_element_out_of_range_is_named(kernel: HostKernel, is_read_only: bool) -> None:
    x, dst = np.arange(20.0), np.zeros(20, np.int32)
    dst[17] = 5
    dst.flags.writeable = not is_read_only
    for _ in range(2):
        found = problem(kernel, x, dst, N=5)
        assert "TAD0511" in found
        assert "`dst[17]` is 5, but must be below N = 5" in found
        assert "`dst: index[E] in N`" in found
        np.testing.assert_array_equal(kernel((x, dst), {"N": 6})[0], expected(x, dst, 6))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (-1, "`dst[1]` is -1, but must be at least 0"),
        (2**32, "`dst[1]` is 4294967296, but must be below N = 5"),
        (-(2**32), "`dst[1]` is -4294967296, but must be at least 0"),
    ],
)
def test_what_is_no_index(kernel: HostKernel, value: int, text: str) -> None:
    assert text in problem(kernel, np.zeros(3), np.array([0, value, 1]), N=5)


def test_an_index_that_32_bits_do_not_hold() -> None:
    parameters = [Parameter("i", "i32", (), 2**40)]
    with pytest.raises(ArgumentError, match=r"`i` is 2147483648, but must be below 2\*\*31"):
        index_arguments.IndexArguments(parameters, [], {}).complete([np.array(2**31)])


def test_how_many_more_are_out_of_range(kernel: HostKernel) -> None:
    assert "so are 2 more of its 4 elements" in problem(kernel, np.zeros(4), [9, 0, 8, -7], N=5)


@pytest.mark.parametrize(
    ("dst", "text"),
    [
        (np.zeros(3), "elements of type float64, but indices are integers"),
        ([0.0, 1.0, 2.0], "elements of type float64, but indices are integers"),
        (np.zeros(3, bool), "numpy.flatnonzero(dst)"),
        ([True, False, True], "elements of type bool"),
        (["a", "b", "c"], "but indices are integers"),
        ([0, 10**30, 2], f"`dst[1]` is {10**30}, but must be below N"),
        (np.zeros((3, 1), np.int32), "2 dimensions"),
    ],
)
def test_what_is_no_index_array(kernel: HostKernel, dst: Any, text: str) -> None:
    assert text in problem(kernel, np.zeros(3), dst, N=5)


def test_an_array_that_falls_names_the_place() -> None:
    increasing = [Parameter("ptr", "i32", (4,), 10, True)]
    arguments = index_arguments.IndexArguments(increasing, [], {})
    assert len(arguments.complete([np.array([0, 3, 3, 9])])) == 1
    with pytest.raises(ArgumentError, match=r"`ptr\[2\]` is 2, less than `ptr\[1\]`, which is 3"):
        arguments.complete([np.array([0, 3, 2, 9])])


def test_a_scalar_index() -> None:
    arguments = index_arguments.IndexArguments([Parameter("s", "i32", (), N)], [], {"N": 4})
    (found,) = arguments.complete([np.array(3)])
    assert found.dtype == np.int32
    with pytest.raises(ArgumentError, match="`s` is 4, but must be below N = 4"):
        arguments.complete([np.array(4)])


STARTS = np.array([3, 3, 12, 14, 18])


def test_long_ranges_are_for_another_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index_arguments, "LONG", 9)
    arguments = index_arguments.IndexArguments([Parameter("ptr", "i32", (5,), 21, True)], [], {})
    kept = Relation(STARTS, 21)
    given, made, is_long = arguments.anew([kept])
    assert is_long
    assert arguments.again([kept]) == (given, made, is_long)
    (related,) = arguments.related([STARTS], given)
    assert related.kept is kept.kept
    assert not arguments.anew([np.minimum(STARTS, 11)])[-1]


@pytest.mark.parametrize("kinds", [("ptr",), ("before", "until")])
def test_long_ranges_of_pairs(monkeypatch: pytest.MonkeyPatch, kinds: tuple[str, ...]) -> None:
    """Nine pairs are equal."""
    monkeypatch.setattr(index_arguments, "LONG", 9)
    of = ("row", "col") if kinds == ("ptr",) else ("row", "col", "row", "col")
    shape = (3, 4) if kinds == ("ptr",) else (12,)
    made = [Parameter(kind, "i32", shape, 13, False, Inspected(kind, of)) for kind in kinds]  # type: ignore[arg-type]
    arguments = index_arguments.IndexArguments(
        [Parameter(name, "i32", (12,), 3) for name in ("row", "col")], made, {}
    )
    row = np.array([0, 1] + 10 * [2])
    assert arguments.anew([row, np.array([0, 1, 0] + 9 * [1])])[-1]
    assert not arguments.anew([row, np.array([0, 1, 0, 2] + 8 * [1])])[-1]


def test_a_size_that_only_the_inspector_tells() -> None:
    count, rows = Affine.var("i.count"), Affine.var("R")
    i = Parameter("i", "i32", (rows, 3), 9)
    perm = Parameter("p", "i32", (count,), rows, False, Inspected("perm", ("i",)))
    sizes = SizeSymbols(("R", "i.count"), (i, perm))
    assert sizes.untold == ()
    assert sizes.values([(4, 3)], {}) == {"R": 4, "i.count": 12}


def count_sorts(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    calls: list[int] = []
    function = index_arguments.inspector_function

    def counted(name: str) -> Any:
        calls.extend([1] if name == "sort" else [])
        return function(name)

    monkeypatch.setattr(index_arguments, "inspector_function", counted)
    return calls


@pytest.mark.parametrize("kind", [np.int32, np.int64, np.uint8])
def test_elements_that_stay_are_sorted_once(
    kernel: HostKernel, monkeypatch: pytest.MonkeyPatch, kind: type
) -> None:
    calls = count_sorts(monkeypatch)
    x, dst = np.arange(6.0), np.array([3, 0, 3, 1, 0, 3], kind)
    for given in (Relation(dst.copy(), 5), dst):
        for n, times in ((5, 1), (5, 1), (7, 2)):
            np.testing.assert_array_equal(kernel((x, given), {"N": n})[0], expected(x, dst, n))
            assert len(calls) == times
        calls.clear()
    kernel((x, dst[:]), {"N": 5})
    assert not calls


@pytest.mark.parametrize("kind", [np.int32, np.int64, np.uint8])
def test_an_array_that_changes_is_looked_at_again(kernel: HostKernel, kind: type) -> None:
    x, dst = np.arange(6.0), np.zeros(6, kind)
    view = dst[:]
    view.flags.writeable = False
    for value in (1, 2, 3):
        dst[value] = value
        for given in (dst, view):
            np.testing.assert_array_equal(kernel((x, given), {"N": 5})[0], expected(x, dst, 5))
    fixed = np.zeros(6, kind)
    for value in (1, 2):
        fixed.flags.writeable = True
        fixed[:] = value
        fixed.flags.writeable = False
        np.testing.assert_array_equal(kernel((x, fixed), {"N": 5})[0], expected(x, fixed, 5))
    dst[5] = 9
    for _ in range(2):
        with pytest.raises(ArgumentError, match="is 9"):
            kernel((x, dst), {"N": 5})


@pytest.mark.parametrize("kind", [np.int32, np.int64])
def test_what_is_kept_goes_with_the_array(kernel: HostKernel, kind: type) -> None:
    gc.collect()
    before = len(known_arrays._KNOWN)
    dst = np.zeros(6, kind)
    kernel((np.zeros(6), dst[:]), {"N": 5})
    assert len(known_arrays._KNOWN) == before + 1
    del dst
    gc.collect()
    assert len(known_arrays._KNOWN) == before


@pytest.mark.parametrize(
    "strided", [lambda a: a[::2], lambda a: a[5::-1], lambda a: np.broadcast_to(a[:1], 6)]
)
def test_what_begins_at_the_same_place_is_not_the_same(kernel: HostKernel, strided: Any) -> None:
    x, dst = np.arange(6.0), np.array([0, 1, 1, 2, 2, 3, 3, 4, 4, 0, 0, 1])
    for start in (0, 5):
        kernel((x, dst[start : start + 6]), {"N": 5})
    given = strided(dst)
    np.testing.assert_array_equal(kernel((x, given), {"N": 5})[0], expected(x, given, 5))


def test_few_parts_of_an_array_are_kept() -> None:
    dst = np.arange(200, dtype=np.int32)
    before = len(known_arrays._KNOWN)
    for n in range(100):
        known_arrays.index_array_of(dst[n : n + 50])
    assert len(known_arrays._KNOWN) <= before + known_arrays._VIEWS


def test_an_array_that_was_mended(kernel: HostKernel) -> None:
    x, dst = np.arange(3.0), np.array([2**32 + 1, 0, 2])
    with pytest.raises(ArgumentError, match="4294967297"):
        kernel((x, dst), {"N": 5})
    dst[0] = 1
    np.testing.assert_array_equal(kernel((x, dst), {"N": 5})[0], expected(x, dst, 5))


def test_few_arrays_are_kept_by_another() -> None:
    first = kept_indices.KeptIndexArray(np.arange(4, dtype=np.int32))
    for n in range(50):
        other = kept_indices.KeptIndexArray(np.arange(4, dtype=np.int32))
        first.keep((n, other), np.zeros(1), [other])
        first.keep_call(n, [other])
    assert len(first.made) <= 8
    assert len(first.calls) <= 8


def test_without_memory_for_a_copy_nothing_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(known_arrays, "_LARGE", 0)
    monkeypatch.setattr(known_arrays, "free_for", lambda _: 0)
    dst = np.arange(6, dtype=np.int32)
    assert known_arrays.index_array_of(dst).array is dst
    assert known_arrays.known(dst) is None


def test_elements_read_in_another_shape_are_looked_at_again() -> None:
    dst = np.arange(6, dtype=np.int32)
    first = known_arrays.index_array_of(dst)
    assert known_arrays.index_array_of(dst) is first
    assert known_arrays.index_array_of(dst.reshape(2, 3)) is not first


def test_a_call_with_a_relation_is_direct(kernel: HostKernel) -> None:
    x, relation = np.arange(3.0), Relation(np.array([1, 0, 1]), 2)
    kernel((x, relation), {"N": 2})
    found = kernel.again((x, relation), {"N": 2})
    assert found is not None
    np.testing.assert_array_equal(found[0], [1.0, 2.0])
    assert kernel.again((x, Relation(np.array([1, 0, 1]), 2)), {"N": 2}) is None


def test_a_call_with_new_arrays_is_direct(kernel: HostKernel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(HostKernel, "_run_into", None)
    for n in (2, 3):
        x, dst = np.arange(4.0), np.array([1, 0, 1, 1])
        np.testing.assert_array_equal(kernel((x, dst), {"N": n})[0], expected(x, dst, n))
