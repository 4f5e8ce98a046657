"""Each kind of index array that is made of others, as every side makes it, against NumPy and loops.

Machine code in this process, NumPy where there is no LLVM, a function in LLVM IR around a kernel, and kernels
of a GPU do the same calls.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise, product
from math import prod
from typing import Any, get_args

import numpy as np
import pytest

from tadc.backend.cpu.linking import link
from tadc.backend.cuda.device import cuda_device
from tadc.backend.cuda.device_arrays import DeviceArray, copied_in, view_of
from tadc.backend.cuda.device_indices import DeviceIndices
from tadc.backend.emulator.emulated_device import emulated_device
from tadc.backend.object_code import object_code
from tadc.backend.runtime import inspector, numpy_inspector
from tadc.backend.runtime.index_arguments import IndexArguments
from tadc.backend.runtime.inspector_calls import KINDS
from tadc.backend.runtime.interface import Interface
from tadc.backend.runtime.parameters import Parameter
from tadc.frontend.diagnostics import CompileError
from tadc.frontend.extents import shape_at
from tadc.frontend.program import Inspected, Made
from tadc.lattice.affine import Affine, Lookup
from tadc.native.inspection import NativeInspection
from tadc.native.ir_lines import Lines
from tests.backend.kernels import Array

Make = Callable[[Sequence[Parameter], Sequence[Parameter], Sequence[Array]], list[Array]]


def no_llvm() -> None:
    raise ImportError


def of_python(given: Sequence[Parameter], made: Sequence[Parameter], arrays: Sequence[Array]) -> list[Array]:
    """What a call from Python makes."""
    return IndexArguments(given, made, {}).complete(arrays)[len(given) :]


def of_native(given: Sequence[Parameter], made: Sequence[Parameter], arrays: Sequence[Array]) -> list[Array]:
    """What LLVM IR of calls makes, in memory of these extents."""
    inspection, lines = NativeInspection(Interface("k", (*given, *made), ())), Lines()
    buffers = [np.full(shape_at(t.tensor.shape, {}), 77, np.int32) for t in inspection.buffers]
    held = [*(np.ascontiguousarray(array, np.int32) for array in arrays), *buffers]
    names = [f"%a{n}" for n in range(len(held))]
    by_name = {p.name: name for p, name in zip(given, names, strict=False)}
    assert inspection.run(lines, by_name, names[len(given) :], {}) == names[len(given) :][: len(made)]
    lines.do("ret void")
    function = lines.function(f"void @made({', '.join(f'ptr {name}' for name in names)})", {})
    text = "\n".join([*inspection.declarations(), function])
    library = link(object_code(text), ["made"], inspector.symbols())
    kind = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * len(held))
    kind(library["made"])(*(array.ctypes.data for array in held))
    return buffers[: len(made)]


def on_device(device: Any) -> Make:
    """What kernels make."""

    def make(given: Sequence[Parameter], made: Sequence[Parameter], arrays: Sequence[Array]) -> list[Array]:
        hosts = [np.ascontiguousarray(array, np.int32) for array in arrays]
        placed = [DeviceArray(copied_in(host, device, 0), host.shape, host.dtype) for host in hosts]
        views, indices = [view_of(array) for array in placed], DeviceIndices(IndexArguments(given, made, {}))
        assert indices.are_there(views)
        found = indices.complete(placed, views, device, 0)
        assert found is not None
        results = [np.empty(view.shape, np.int32) for view in found]
        for view, host in zip(found, results, strict=True):
            with device.current() as driver:
                driver.copy_out(host.ctypes.data, view.address, host.nbytes, 0)
        return results

    return make


@pytest.fixture(params=["LLVM", "NumPy", "LLVM IR", "emulated", "cuda"])
def make(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Make:
    """What makes."""
    if request.param == "NumPy":
        monkeypatch.setattr(inspector, "_library", no_llvm)
        function = inspector.inspector_function.__wrapped__
        for module in ("inspector", "index_arguments"):
            monkeypatch.setattr(f"tadc.backend.runtime.{module}.inspector_function", function)
    if request.param == "emulated":
        return on_device(emulated_device())
    if request.param == "cuda":
        try:
            return on_device(cuda_device())
        except CompileError:
            pytest.skip("no GPU")
    return of_native if request.param == "LLVM IR" else of_python


def given(name: str, array: Any, below: int, increasing: bool = False) -> Parameter:
    """An index array of a call."""
    return Parameter(name, "i32", np.shape(array), below, increasing)


def asked(
    kind: Made, of: str, shape: tuple[int, ...], below: int, axis: int = 0, form: Affine | None = None,
    name: str = "",
) -> Parameter:  # fmt: skip
    """One that is made of others."""
    about = Inspected(kind, tuple(of.split()), axis, form)
    return Parameter(name or f"{of} {kind} {axis}", "i32", shape, below, False, about)


def drawn(count: int, below: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).integers(0, max(below, 1), count, np.int32)


SIZES = [
    (0, 1), (0, 0), (0, 300), (1, 1), (7, 3), (64, 100),
    *(pytest.param(*size, marks=pytest.mark.sweep) for size in ((1500, 257), (300, 70_000), (5000, 4000))),
]  # fmt: skip


@pytest.mark.parametrize(("count", "below"), SIZES)
def test_sorting_is_stable(make: Make, count: int, below: int) -> None:
    keys = drawn(count, below)
    made = [asked("ptr", "k", (below + 1,), count + 1), asked("perm", "k", (count,), count)]
    for wanted in (made, made[:1], made[1:]):
        found = dict(
            zip((p.name for p in wanted), make([given("k", keys, below)], wanted, [keys]), strict=True)
        )
        if "k perm 0" in found:
            np.testing.assert_array_equal(found["k perm 0"], np.argsort(keys, kind="stable"))
        if "k ptr 0" in found:
            expected = np.searchsorted(np.sort(keys), np.arange(below + 1))
            np.testing.assert_array_equal(found["k ptr 0"], expected)


@pytest.mark.parametrize(("count", "below"), [size for size in SIZES if size != (0, 0)][:6])
def test_tuples_are_sorted_by_the_first_array_then_by_the_next(make: Make, count: int, below: int) -> None:
    """Pairs and triples: where they start, their places, and elements in their order."""
    arrays, bounds = [drawn(count, below), drawn(count, 5, 1), drawn(count, 3, 2)], [below, 5, 3]
    parameters = [given(n, a, b) for n, a, b in zip("abc", arrays, bounds, strict=True)]
    made = [
        asked("ptr", "a b", (below, 6), count + 1),
        asked("ptr", "a b c", (below, 5, 4), count + 1),
        asked("perm", "a b c", (count,), count),
        asked("taken", "a b c", (count,), below),
        asked("ptr", "b", (6,), count + 1),
    ]
    found = make(parameters, made, arrays)
    a, b, c = arrays
    pairs, triples = np.sort(a * 6 + b), np.sort((a * 5 + b) * 4 + c)
    np.testing.assert_array_equal(found[0].ravel(), np.searchsorted(pairs, np.arange(below * 6)))
    np.testing.assert_array_equal(found[1].ravel(), np.searchsorted(triples, np.arange(below * 20)))
    np.testing.assert_array_equal(found[2], np.lexsort(arrays[::-1]))
    np.testing.assert_array_equal(found[3], a[np.lexsort((c, b))])
    np.testing.assert_array_equal(found[4], np.searchsorted(np.sort(b), np.arange(6)))


@pytest.mark.parametrize("shape", [(3, 4), (2, 3, 5), (0, 3), (4, 1, 2)])
def test_subscripts_of_places(make: Make, shape: tuple[int, ...]) -> None:
    keys = drawn(prod(shape), 4).reshape(shape)
    made = [asked("perm", "k", (keys.size,), extent, axis) for axis, extent in enumerate(shape)]
    found = make([given("k", keys, 4)], made, [keys])
    expected = np.unravel_index(np.argsort(keys.ravel(), kind="stable"), shape)
    np.testing.assert_array_equal(np.array(found), np.array(expected))


def test_what_is_made_of_what_was_made(make: Make) -> None:
    made = [asked("perm", "i", (4,), 4, name="p"), asked("perm", "p", (4,), 4)]
    found = make([given("i", range(4), 9)], made, [np.array([7, 1, 7, 0])])
    assert [array.tolist() for array in found] == [[3, 1, 0, 2], [2, 1, 3, 0]]


@pytest.mark.parametrize("starts", [[0], [3], [0, 0, 4, 4, 9], [2, 2, 5], [2, 2, 2]])
def test_owners_of_elements(make: Make, starts: list[int]) -> None:
    count, rows = 11, len(starts) - 1
    expected = np.searchsorted(starts, np.arange(count), "right") - 1
    expected[(expected < 0) | (np.arange(count) >= starts[-1])] = rows
    made = [asked("owner", "s", (count,), rows + 1)]
    (found,) = make([given("s", starts, count + 1, True)], made, [np.array(starts)])
    np.testing.assert_array_equal(found, expected)


def parts_of(whole: Parameter, begin: str, most: int) -> list[Parameter]:
    """All that says which parts of 4 elements there are."""
    length = Affine.const(4)
    about = whole.inspected
    assert about is not None
    whole, shape = replace(whole, inspected=replace(about, form=length)), whole.shape
    of = f"{begin} {whole.name}"
    rest = asked("rest", of, shape_at(shape, {}), 4 * most + 1, form=length)
    start = asked("start", of, (most,), 4 * most - 3, form=length)
    owners = [asked("owner", whole.name, (most,), n, axis) for axis, n in enumerate(shape_at(shape, {}))]
    return [whole, rest, start, *owners]


def test_parts_of_ranges(make: Make) -> None:
    """Ranges of 0, 9, 2 and 4 elements, in parts of 4; none of no range."""
    starts = np.array([3, 3, 12, 14, 18])
    expected = [0, 0, 2, 2, 3], [3, 11, 12, 18, 0], [3, 7, 14, 0, 0], [1, 1, 3, 4, 4]
    for values, expected in ((starts, expected), (starts[:0], ([], [], [0] * 5, [-1] * 5))):
        made = parts_of(asked("whole", "ptr", (len(values),), 6, name="w"), "ptr", 5)
        found = make([given("ptr", values, 21, True)], made, [values])
        assert [array.tolist() for array in found] == [*expected]


@pytest.mark.parametrize("count", [1, 6, pytest.param(700, marks=pytest.mark.sweep)])
def test_ranges_are_cut_as_a_loop_cuts_them(make: Make, count: int) -> None:
    """What is left of each begins behind its parts."""
    values = np.sort(drawn(count, 4 * count, count))
    places = [list(range(a, b - 3, 4)) for a, b in pairwise(values.tolist())]
    made = parts_of(asked("whole", "ptr", (count,), count + 1, name="w"), "ptr", count)
    whole, rest, start, _ = make([given("ptr", values, 4 * count + 1, True)], made, [values])
    np.testing.assert_array_equal(whole, np.cumsum([0, *map(len, places)]))
    flat = [place for each in places for place in each]
    np.testing.assert_array_equal(start, [*flat, *[0] * (count - len(flat))])
    left = [a + 4 * len(each) for a, each in zip(values, places, strict=False)]
    np.testing.assert_array_equal(rest, [*left, 0])


def test_parts_of_the_ranges_of_pairs(make: Make) -> None:
    """Of 3 rows of 2 ranges: 5 and 4 elements, 1 and 0, 0 and 10."""
    ptr = np.array([[0, 5, 9], [9, 10, 10], [10, 10, 20]])
    made = parts_of(asked("whole", "ptr", (3, 3), 6, name="w"), "ptr", 5)
    found = make([given("ptr", ptr, 21)], made, [ptr])
    assert found[0].tolist() == [[0, 1, 2], [2, 2, 2], [2, 2, 4]]
    assert found[1].tolist() == [[4, 9, 9], [9, 10, 10], [10, 18, 0]]
    assert [array.tolist() for array in found[2:]] == [[0, 5, 10, 14, 0], [0, 0, 2, 2, 2], [0, 1, 1, 1, 2]]


def test_parts_of_ranges_that_overlap(make: Make) -> None:
    """Of 20 elements there are five parts: of the first two ranges, and one of two of the last."""
    arrays = [np.array([0, 20, 3, 5]), np.array([12, 10, 8, 13])]
    made = parts_of(asked("whole", "b e", (5,), 6, name="w"), "b", 5)
    found = make([given("b", arrays[0], 21), given("e", arrays[1], 21)], made, arrays)
    expected = [0, 3, 3, 4, 5], [12, 20, 7, 9, 0], [0, 4, 8, 3, 5], [0, 0, 0, 2, 3]
    assert [array.tolist() for array in found] == [*expected]


@pytest.mark.parametrize(("count", "others"), [(60, 23), (0, 4), (5, 0)])
def test_how_many_tuples_are_less_than_others(make: Make, count: int, others: int) -> None:
    arrays = [drawn(count, 5), drawn(count, 4, 1), drawn(others, 5, 2), drawn(others, 4, 3)]
    parameters = [given(n, a, b) for n, a, b in zip("abuv", arrays, (5, 4, 5, 4), strict=True)]
    kinds: tuple[Made, Made] = ("before", "until")
    found = make(parameters, [asked(kind, "a b u v", (others,), count + 1) for kind in kinds], arrays)
    a, b, u, v = arrays
    for array, side in zip(found, ("left", "right"), strict=True):
        np.testing.assert_array_equal(array, np.searchsorted(np.sort(a * 4 + b), u * 4 + v, side))  # type: ignore[call-overload]


def test_numbers_that_look_random_are_the_same_everywhere(make: Make) -> None:
    """Bits are mixed as at the end of MurmurHash3, exactly here; all are less than the longest row."""
    of = np.repeat(np.arange(4), [2, 9, 0, 4])

    def expected(seed: int, longest: int) -> list[int]:
        found: list[int] = []
        for n in range(50):
            mixed = (n * 2654435761 + seed * 2135587861) % 2**32
            for shift, factor in ((16, 2246822507), (13, 3266489909)):
                mixed = (mixed ^ mixed >> shift) * factor % 2**32
            found.append((mixed ^ mixed >> 16) * longest >> 32)
        return found

    a = np.zeros(15, np.int32)
    made = [asked("spread", "a of", (50,), 16, seed) for seed in (0, 3)]
    for keys, longest in ((of, 9), (of[:0], 1)):
        parameters = [given("a", a[: len(keys)], 50), given("of", keys, 4)]
        found = make(parameters, made, [a[: len(keys)], keys])
        assert [array.tolist() for array in found] == [expected(seed, longest) for seed in (0, 3)]


def form_of(text: str, **arrays: int) -> Affine:
    """A form of places `i, j` and of lookups in the arrays, whose elements are below these numbers."""

    def look(name: str) -> Callable[..., Affine]:
        def at(*forms: Affine | int) -> Affine:
            places = tuple(Affine.const(form) if isinstance(form, int) else form for form in forms)
            return Affine.atom(Lookup(name, places, Affine.const(arrays[name])))

        return at

    names: dict[str, Any] = {name: look(name) for name in arrays}
    return eval(text, {"i": Affine.var("#0"), "j": Affine.var("#1"), **names})


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("3*i + j + 2", lambda i, j, a, t, s, m: 3 * i + j + 2),
        ("(i + 3*j).floordiv(4)*5 + 1", lambda i, j, a, t, s, m: (i + 3 * j) // 4 * 5 + 1),
        ("(i*2 - j + 3).floordiv(2) + 7", lambda i, j, a, t, s, m: (i * 2 - j + 3) // 2 + 7),
        ("m(i, j)*3 + a(m(i, j)) + 1", lambda i, j, a, t, s, m: m[i, j] * 3 + a.get((m[i, j],), 0) + 1),
        ("a(i + j - 1)*2", lambda i, j, a, t, s, m: a.get((i + j - 1,), 0) * 2),
        ("t(a(i), j - 1) + a(t(i, j))", lambda i, j, a, t, s, m: (
            t.get((a[i,], j - 1), 0) + a.get((t.get((i, j), 0),), 0))),
        ("i + s()*3 - a(j).floordiv(3)", lambda i, j, a, t, s, m: i + s[()] * 3 - a.get((j,), 0) // 3 ),
        ("a(2*t(j, i) - 4) + 4", lambda i, j, a, t, s, m: a.get((2 * t.get((j, i), 0) - 4,), 0) + 4),
    ],
)  # fmt: skip
def test_values_of_forms(make: Make, text: str, value: Callable[..., int]) -> None:
    """A lookup that is out of range counts as 0."""
    arrays = [
        drawn(6, 9),
        drawn(12, 7, 1).reshape(4, 3),
        np.array(5, np.int32),
        drawn(20, 8, 2).reshape(4, 5),
    ]
    parameters = [given(n, a, b) for n, a, b in zip("atsm", arrays, (9, 7, 6, 8), strict=True)]
    made = asked("values", "a t s m", (4, 5), 99, form=form_of(text, a=9, t=7, s=6, m=8))
    (found,) = make(parameters, [made], arrays)
    elements = [{at: int(array[at]) for at in np.ndindex(array.shape)} for array in arrays]
    expected = [value(i, j, *elements) for i, j in product(range(4), range(5))]
    assert min(expected) >= 0
    assert found.ravel().tolist() == expected


def test_every_side_has_every_kind_and_function() -> None:
    assert set(KINDS) == set(get_args(Made))
    assert {name.partition("_")[0] for name in inspector.signatures()} - {"compare"} <= set(
        vars(numpy_inspector)
    )
