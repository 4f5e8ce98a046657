from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tadc
from tadc.backend.runtime import free_memory as memory
from tadc.backend.runtime.addresses import _direct, addresses
from tadc.backend.runtime.free_memory import available_memory, format_bytes
from tadc.backend.runtime.host_arrays import bind
from tadc.backend.runtime.host_kernel import HostKernel
from tadc.backend.runtime.parameters import Parameter
from tadc.backend.runtime.workspace import Temporary
from tadc.frontend.diagnostics import ArgumentError, CompileError
from tests.backend.kernels import Array, compiled

TWO = [Parameter("a", "f64", (3, 5)), Parameter("b", "f32", (4,))]
A, B = np.arange(15.0).reshape(3, 5), np.arange(4, dtype=np.float32)

#: y = 2 x, through a temporary; z = the first element of x.
TEXT = """
func.func @k(%X: memref<3x5xf64> {llvm.noalias}, %Y: memref<3x5xf64> {llvm.noalias},
    %Z: memref<f64> {llvm.noalias}, %T: memref<3x5xf64> {llvm.noalias}) {
  %c0 = arith.constant 0 : index
  affine.for %i = 0 to 3 {
    affine.for %j = 0 to 5 {
      %x = memref.load %X[%i, %j] : memref<3x5xf64>
      memref.store %x, %T[%i, %j] : memref<3x5xf64>
    }
  }
  affine.for %i = 0 to 3 {
    affine.for %j = 0 to 5 {
      %x = memref.load %X[%i, %j] : memref<3x5xf64>
      %t = memref.load %T[%i, %j] : memref<3x5xf64>
      %y = arith.addf %x, %t : f64
      memref.store %y, %Y[%i, %j] : memref<3x5xf64>
    }
  }
  %first = memref.load %X[%c0, %c0] : memref<3x5xf64>
  memref.store %first, %Z[] : memref<f64>
  return
}
"""


@pytest.fixture(scope="module")
def kernel() -> HostKernel:
    x, y, z = Parameter("x", "f64", (3, 5)), Parameter("y", "f64", (3, 5)), Parameter("z", "f64", ())
    return compiled(TEXT, [x], [y, z], [Temporary(Parameter("t", "f64", (3, 5)), 0, 1)])


def problems(*args: Any, parameters: list[Parameter] = TWO, **kwargs: Any) -> list[tuple[str, str]]:
    with pytest.raises(ArgumentError) as found:
        bind(parameters, args, kwargs)
    return [(d.code, d.message) for d in found.value.diagnostics]


def helps(*args: Any, parameters: list[Parameter] = TWO, **kwargs: Any) -> list[str]:
    with pytest.raises(ArgumentError) as found:
        bind(parameters, args, kwargs)
    return [line for d in found.value.diagnostics for line in d.helps]


@pytest.mark.parametrize(
    ("args", "kwargs"), [((A, B), {}), ((A,), {"b": B}), ((), {"b": B, "a": A}), ((), {"a": A, "b": B})]
)
def test_arguments_by_position_and_by_name(args: tuple[Array, ...], kwargs: Mapping[str, Array]) -> None:
    a, b = bind(TWO, args, kwargs)
    assert a is A
    assert b is B


def read_only(x: Array) -> Array:
    x = x.copy()
    x.flags.writeable = False
    return x


def unaligned(x: Array) -> Array:
    raw = np.zeros(x.nbytes + 1, np.uint8)
    view = raw[1:].view(x.dtype).reshape(x.shape)
    view[...] = x
    return view


@pytest.mark.parametrize(
    "value",
    [
        np.asfortranarray(A),
        np.repeat(A, 2, axis=1)[:, ::2],
        A[::-1, ::-1],
        read_only(A),
        unaligned(A),
        A.astype(">f8"),
        A.astype(np.float32),
        A.astype(np.int64),
        A.astype(np.uint8),
        A.tolist(),
        tuple(map(tuple, A.tolist())),
        [row for row in A],
        A.view(np.matrix),
    ],
    ids="fortran strided reversed read-only unaligned swapped f32 int64 uint8 list tuple rows matrix".split(),
)
def test_what_converts_without_loss_does(value: Any) -> None:
    (found,) = bind(TWO[:1], [value])
    assert found.dtype is np.dtype(np.float64)
    assert found.flags.c_contiguous
    assert found.flags.aligned
    np.testing.assert_array_equal(found, np.asarray(value, np.float64))


@pytest.mark.parametrize(
    "value", [2.5, 2, True, np.float64(2.5), np.float32(2.5), np.array(2.5), np.int32(2)]
)
def test_scalars(value: Any) -> None:
    (found,) = bind([Parameter("s", "f64", ())], [value])
    assert found.shape == ()
    assert found == value


@pytest.mark.parametrize("value", [[1, 2.5, 3, True], (1.5,) * 4, B.astype(np.float16), B.astype(np.int16)])
def test_python_numbers_and_small_types_become_f32(value: Any) -> None:
    (found,) = bind(TWO[1:], [value])
    assert found.dtype is np.dtype(np.float32)
    np.testing.assert_array_equal(found, np.asarray(value, np.float32))


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0), (2, 0, 4)])
def test_arrays_without_elements(shape: tuple[int, ...]) -> None:
    (found,) = bind([Parameter("x", "f32", shape)], [np.zeros(shape, np.float32)])
    assert found.shape == shape


def test_an_empty_list_has_no_type() -> None:
    (found,) = bind([Parameter("x", "f32", (0,))], [[]])
    assert found.dtype is np.dtype(np.float32)


def test_every_problem_is_listed() -> None:
    found = problems(A.T, A=A, B=1)
    assert [code for code, _ in found] == ["TAD0501", "TAD0502", "TAD0502", "TAD0503"]
    assert "argument `b` is missing" in found[0][1]
    assert "there is no argument `A`" in found[1][1]


def test_an_argument_error_is_both_kinds() -> None:
    with pytest.raises(ArgumentError) as found:
        bind(TWO, [])
    assert isinstance(found.value, CompileError)
    assert isinstance(found.value, ValueError)
    assert "error[TAD0501]: argument `a` is missing" in str(found.value)
    assert "the function takes `a: f64[3, 5], b: f32[4]`" in str(found.value)


def test_unknown_names_bring_the_nearest() -> None:
    parameters = [Parameter("kernel", "f64", ()), Parameter("image", "f64", ())]
    assert "did you mean `kernel`?" in helps(1.0, parameters=parameters, image=1.0, kernal=1.0)


def test_too_many_and_twice() -> None:
    assert problems(A, B, B) == [("TAD0502", "3 positional arguments given, expected at most 2")]
    assert problems(A, B, a=A) == [("TAD0502", "argument `a` is given twice")]


@pytest.mark.parametrize(
    ("shape", "message", "help"),
    [
        ((5, 3), "`a` has shape (5, 3), expected (3, 5)", ["pass it transposed: `a.T`"]),
        ((15,), "`a` has 1 dimension, shape (15,), expected 2", ["the elements fit: `a.reshape(3, 5)`"]),
        ((3, 5, 2), "`a` has 3 dimensions, shape (3, 5, 2), expected 2", []),
        ((), "`a` has 0 dimensions, shape (), expected 2", []),
        ((1, 5), "`a` has shape (1, 5), expected (3, 5)", []),
    ],
)
def test_wrong_shapes(shape: tuple[int, ...], message: str, help: list[str]) -> None:
    assert problems(np.zeros(shape), B) == [("TAD0503", message)]
    assert helps(np.zeros(shape), B) == help


@pytest.mark.parametrize(
    ("value", "type"),
    [
        (B.astype(np.float64), "float64"),
        (B.astype(np.int32), "int32"),
        (B.astype(complex), "complex128"),
        (B.astype(object), "object"),
        (np.array(["1", "2", "3", "4"]), "str32"),
        (["1", "2", "3", "4"], "str"),
        ([1, 2, 3, None], "NoneType"),
        ([1, 2, 3, 4j], "complex"),
    ],
)
def test_types_that_would_lose(value: Any, type: str) -> None:
    ((code, message),) = problems(A, value)
    assert code == "TAD0504"
    assert message == f"`b` has elements of type {type}, which f32 cannot hold without loss"


def test_the_help_says_what_to_write() -> None:
    assert helps(A, B.astype(np.float64)) == ["if the loss is intended, write `b.astype(numpy.float32)`"]
    assert helps(A * 1j, B) == ["pass the real part: `a.real`"]


def test_numbers_beyond_f32_and_ragged_lists() -> None:
    assert problems(A, [1e300, 0, 0, 0]) == [("TAD0504", "`b` holds a number too large for f32")]
    assert problems(A, [[1], [2, 3], 4, 5]) == [("TAD0504", "`b` cannot be read as an array")]
    (found,) = bind(TWO[1:], [[float("inf"), float("nan"), 0, 0]])
    np.testing.assert_array_equal(found, [np.inf, np.nan, 0, 0])


def test_a_call_returns_new_arrays(kernel: HostKernel) -> None:
    y, z = kernel([A])
    np.testing.assert_array_equal(y, 2 * A)
    assert z.shape == ()
    assert kernel([A])[0] is not y


@pytest.mark.parametrize("form", ["tuple", "list", "dict"])
def test_out_is_written_and_returned(kernel: HostKernel, form: str) -> None:
    y, z = np.zeros((3, 5)), np.zeros(())
    out: Any = {"tuple": (y, z), "list": [y, z], "dict": {"z": z, "y": y}}[form]
    found = kernel([A + 1], out=out)
    assert found[0] is y
    assert found[1] is z
    np.testing.assert_array_equal(y, 2 * A + 2)
    assert z == 1


@pytest.mark.parametrize("out", [{}, {"y": None}, (None, None)])
def test_out_may_leave_outputs_to_the_call(kernel: HostKernel, out: Any) -> None:
    np.testing.assert_array_equal(kernel([A], out=out)[0], 2 * A)


def test_out_of_any_layout(kernel: HostKernel) -> None:
    wide = np.zeros((3, 10))
    for y in (wide[:, ::2], np.zeros((5, 3)).T, np.zeros((3, 5))[::-1], unaligned(A)):
        found = kernel([A], out={"y": y})
        assert found[0] is y
        np.testing.assert_array_equal(y, 2 * A)
    np.testing.assert_array_equal(wide[:, 1::2], 0)


def test_out_that_is_an_input(kernel: HostKernel) -> None:
    memory = np.arange(20.0)
    x, y = memory[:15].reshape(3, 5), memory[2:17].reshape(3, 5)
    expected = 2 * x
    kernel([x], out={"y": y})
    np.testing.assert_array_equal(y, expected)
    both = A.copy()
    kernel([both], out={"y": both})
    np.testing.assert_array_equal(both, 2 * A)


@pytest.mark.parametrize(
    ("out", "message"),
    [
        ({"y": np.zeros((5, 3))}, "`out` for `y` has shape (5, 3), expected (3, 5)"),
        ({"y": np.zeros((3, 5), np.float32)}, "`out` for `y` has elements of type float32, expected float64"),
        ({"y": np.zeros((3, 5), ">f8")}, "`out` for `y` has elements of type >f8, expected float64"),
        ({"y": read_only(A)}, "`out` for `y` is read-only"),
        ({"y": A.tolist()}, "`out` for `y` is of type list, not a NumPy array"),
        ({"Y": np.zeros((3, 5))}, "`out` names `Y`, which is not an output"),
        (np.zeros((3, 5)), "`out` gives 1 arrays for 2 outputs"),
        ((A, A, A), "`out` gives 3 arrays for 2 outputs"),
    ],
)
def test_out_that_cannot_be_written(kernel: HostKernel, out: Any, message: str) -> None:
    with pytest.raises(ArgumentError) as found:
        kernel([A], out=out)
    assert [(d.code, d.message) for d in found.value.diagnostics] == [("TAD0505", message)]


def test_outputs_that_share_memory(kernel: HostKernel) -> None:
    memory = np.zeros(15)
    with pytest.raises(ArgumentError, match="`out` for `y` and for `z` share memory"):
        kernel([A], out=(memory.reshape(3, 5), memory[3:4].reshape(())))
    # Neighbours in one buffer that do not overlap are fine.
    wide = np.zeros((3, 6))
    kernel([A], out=(wide[:, :5], wide[0, 5:].reshape(())))
    np.testing.assert_array_equal(wide[:, :5], 2 * A)


def test_one_output_takes_the_array_itself() -> None:
    body = "%c = arith.constant 2.5 : f32\nmemref.store %c, %Y[] : memref<f32>\nreturn"
    text = f"func.func @k(%Y: memref<f32>) {{\n{body}\n}}"
    y = np.zeros((), np.float32)
    (found,) = compiled(text, [], [Parameter("y", "f32", ())])(out=y)
    assert found is y
    assert y == 2.5


def test_nothing_runs_when_an_argument_is_wrong(kernel: HostKernel) -> None:
    y = np.full((3, 5), 7.0)
    with pytest.raises(ArgumentError):
        kernel([A.T], out={"y": y})
    np.testing.assert_array_equal(y, 7.0)


def test_too_little_memory_is_said_before_anything_runs() -> None:
    huge = [Parameter("y", "f64", (1 << 30, 1 << 20)), Parameter("z", "f32", (2,))]
    text = "func.func @k(%Y: memref<f64>, %Z: memref<2xf32>) {\nreturn\n}"
    with pytest.raises(ArgumentError) as found:
        compiled(text, [], huge)()
    (problem,) = found.value.diagnostics
    assert problem.code == "TAD0506"
    assert problem.message.startswith("the call needs 8.0 PiB of memory, ")
    assert problem.notes[0] == "`y: f64[1073741824, 1048576]` takes 8.0 PiB"


def test_available_memory_where_linux_does_not_say(monkeypatch: pytest.MonkeyPatch) -> None:
    measured = available_memory()
    assert measured is not None
    assert measured > 1 << 20
    monkeypatch.setattr(memory, "_linux", lambda: None)
    monkeypatch.setattr(memory, "_control_group", lambda: 12345)
    assert available_memory() == 12345


@pytest.mark.parametrize(("unused", "asks"), [(1 << 25, False), ((1 << 25) - 1, True), (None, True)])
def test_memory_that_nothing_uses_is_enough(
    unused: int | None, asks: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[bool] = []

    def available() -> int:
        asked.append(True)
        return 1 << 30

    monkeypatch.setattr(memory, "_free_pages", lambda: unused)
    monkeypatch.setattr(memory, "_first_limit", lambda: 1 << 40)
    monkeypatch.setattr(memory, "available_memory", available)
    assert memory.free_for(1 << 25) is None
    assert bool(asked) is asks


@pytest.mark.parametrize(
    ("count", "text"), [(0, "0 bytes"), (1023, "1023 bytes"), (1536, "1.5 KiB"), (3 << 40, "3.0 TiB")]
)
def test_sizes_for_people(count: int, text: str) -> None:
    assert format_bytes(count) == text


def test_calls_from_several_threads(kernel: HostKernel) -> None:
    def run(n: int) -> bool:
        return bool((kernel([A + n])[0] == 2 * (A + n)).all())

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(run, range(200)))


def test_the_runtime_imports_neither_mlir_nor_llvm(root: Path) -> None:
    code = (
        "import sys; import tadc.backend.runtime.host_kernel; "
        "print([m for m in sys.modules if m.split('.')[0] in ('mlir', 'torch_mlir', 'llvmlite')])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=root)
    assert run.stdout.strip() == "[]"


def test_more_tensors_than_ctypes_takes() -> None:
    count = 1100
    arguments = ", ".join(f"%a{n}: memref<f64>" for n in range(count))
    body = "\n".join(
        f"%v{n} = memref.load %a{n - 1}[] : memref<f64>\n"
        f"%w{n} = arith.negf %v{n} : f64\n"
        f"memref.store %w{n}, %a{n}[] : memref<f64>"
        for n in range(1, count)
    )
    parameters = [Parameter(f"a{n}", "f64", ()) for n in range(count)]
    text = f"func.func @k({arguments}) {{\n{body}\nreturn\n}}"
    between = [Temporary(p, n, n + 1) for n, p in enumerate(parameters[1:-1])]
    kernel = compiled(text, parameters[:1], parameters[-1:], between, level=1)
    assert kernel([2.5])[0] == -2.5


@pytest.mark.parametrize(
    "array",
    [
        np.zeros(3),
        np.zeros((2, 3), np.float32)[1:, 1:],
        np.zeros(5)[::-1],
        np.zeros(()),
        np.zeros((0, 3)),
        np.broadcast_to(np.zeros(1), (4,)),
        np.frombuffer(b"01234567"),
        np.zeros(3).view(np.recarray),
    ],
)
def test_addresses(array: Any) -> None:
    """NumPy says the same."""
    assert addresses([array]) == [array.ctypes.data or None]
    assert _direct([array]) == addresses([array])


def test_out_in_order_is_written_in_place() -> None:
    """Arrays that fit are written as they are: one, several in order, the result of an earlier call."""
    f = tadc.function("x: f64[N]; y: f64[N]\nz[i] = x[i]*y[i]")
    x, y, z = np.arange(5.0), np.arange(5.0) + 1, np.full(5, np.nan)
    assert f(x, y, out=z) is z
    np.testing.assert_array_equal(z, x * y)
    g = tadc.value_and_vjp(f)
    dz = np.ones(5)
    first = g(x, y, dz)
    again = g(2 * x, y, dz, out=first)
    assert all(one is other for one, other in zip(first, again, strict=True))
    np.testing.assert_array_equal(again[0], 2 * x * y)


@pytest.mark.parametrize("shift", [0, 1])
def test_out_may_be_what_is_read(shift: int) -> None:
    """An array that shares memory with an argument is written after all of that is read."""
    f = tadc.function("x: f64[N]\nz[i: N] = x[N - 1 - i]")
    both = np.arange(9.0)
    x, out = both[:8], both[shift : 8 + shift]
    expected = x[::-1].copy()
    assert f(x, out=out) is out
    np.testing.assert_array_equal(out, expected)
