"""Kernels as functions of addresses and extents alone."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import tadc
from tadc.api.execute import unit_of
from tadc.backend.cpu import scratch_memory
from tadc.backend.cpu.jit import load
from tadc.backend.object_code import object_code
from tadc.backend.runtime.call_checks import EXTENT, SIZES, CallCheck
from tadc.backend.runtime.workspace import slots_of
from tadc.compiler.compile_options import Options
from tadc.native.entry import entry_of, joined

Code = tuple[Any, Any, Any]
KEPT: list[Any] = []


def code_of(f: tadc.Function) -> Code:
    """The interface, and the two functions."""
    unit = unit_of(f.program, Options())
    entry = entry_of(unit.interface)
    symbols = [entry.symbol, entry.shapes_symbol]
    library = load(object_code(joined(unit.llvm_ir, entry.text)), symbols, scratch_memory.addresses())
    kind = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p)
    run, shapes = (kind(library[symbol]) for symbol in symbols)
    KEPT.append(library)
    return unit.interface, run, shapes


def dims_of(interface: Any, arrays: Sequence[Any], sizes: Mapping[str, int]) -> np.ndarray[Any, Any]:
    """What is given of extents."""
    extents = [n for array in arrays for n in array.shape]
    return np.array([*extents, *sizes.values(), 0], np.int64)


def called(code: Code, arrays: Sequence[Any], sizes: Mapping[str, int] | None = None) -> Any:
    """The results, or what does not hold."""
    interface, run, shapes = code
    arrays = [np.array(array, np.float64, order="C") for array in arrays]
    dims = dims_of(interface, arrays, sizes or {})
    extents = np.full(64, -7, np.int64)
    found = shapes(dims.ctypes.data, extents.ctypes.data)
    if found:
        places = np.zeros(len(interface.inputs) + len(interface.outputs), np.int64)
        assert run(places.ctypes.data, dims.ctypes.data) == found
        return interface.checks[found - 1]
    outputs: list[Any] = []
    for parameter in interface.outputs:
        rank = len(parameter.shape)
        outputs.append(np.full(extents[:rank], np.nan))
        extents = extents[rank:]
    assert extents[0] == -7
    data = np.array([array.ctypes.data for array in [*arrays, *outputs]], np.int64)
    assert run(data.ctypes.data, dims.ctypes.data) == 0
    return outputs


PROGRAMS = [
    ("x: f64[5]; y[i] = 2*x[i]", [(5,)]),
    ("x: f64; y = x**2", [()]),
    ("x: f64[2*N + 1, M]; y[i: N, j: M] = x[2*i + 1, j]; s = sum{i, j} (x[i, j])", [(7, 3)]),
    ("y[i: N] = M*x[i]; x: f64[N + M]; s: f64[N - M]; z = sum{k} (s[k])", [(7,), (3,)]),
    ("x: f64[N, M]; w: f64[M // 2]; y[i: N] = sum{k: M // 2} (w[k]*x[i, 2*k])", [(4, 9), (4,)]),
    ("a: f64[N, K]; b: f64[M, K]; f[i, j] = exp(-sum{k} ((a[i, k] - b[j, k])**2))", [(9, 3), (5, 3)]),
    ("x: f64[N]; let u[i: N, j: N] = sin(x[i] + x[j]); let v[i: N] = sum{j} (u[i, j]*u[j, i]);"
     " let w[i: N, j: N] = v[i]*exp(v[j]); y[i: N] = sum{j} (w[j, i]*w[i, j])", [(30,)]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "shapes"), PROGRAMS)
def test_values_and_gradients(text: str, shapes: Sequence[tuple[int, ...]]) -> None:
    f = tadc.function(text)
    random = np.random.default_rng(0)
    for g in (f, tadc.value_and_vjp(f)):
        arrays = [random.uniform(-1, 1, shape) for shape in shapes]
        if g is not f:
            values = f(*arrays)
            values = [*values] if isinstance(values, tuple) else [values]
            arrays += [random.uniform(-1, 1, np.shape(value)) for value in values]
        expected = g(*arrays)
        found = called(code_of(g), arrays)
        for one, other in zip(found, expected if isinstance(expected, tuple) else [expected], strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12)


def test_what_is_refused() -> None:
    code = code_of(tadc.function("x: f64[2*N + 1, 3]; w: f64[N]; y[i: N] = x[2*i, 0]*w[i]"))
    assert isinstance(called(code, [np.ones((5, 3)), np.ones(2)]), list)
    assert called(code, [np.ones((5, 4)), np.ones(2)]) == CallCheck(EXTENT, 0, 1)
    assert called(code, [np.ones((6, 3)), np.ones(2)]) == CallCheck(EXTENT, 0, 0)
    assert called(code, [np.ones((5, 3)), np.ones(3)]) == CallCheck(EXTENT, 0, 0)
    code = code_of(tadc.function("x: f64[N + M]; w: f64[N - M]; y[i: N] = x[i] + w[0]"))
    assert isinstance(called(code, [np.ones(7), np.ones(3)]), list)
    assert called(code, [np.ones(7), np.ones(2)]) == CallCheck(EXTENT, 0, 0)
    assert called(code, [np.ones(3), np.ones(7)]) == CallCheck(EXTENT, 0, 0)


def test_sizes_that_are_excluded() -> None:
    code = code_of(tadc.function("x: f64[N]; y[i: N - 2] = x[i + 2] - x[i]"))
    assert called(code, [np.ones(1)]) == SIZES
    (found,) = called(code, [np.arange(4.0)])
    np.testing.assert_array_equal(found, [2, 2])


def test_a_size_that_no_input_tells() -> None:
    code = code_of(tadc.function("x: f64; size N; y[i: N] = x*i"))
    (found,) = called(code, [np.array(2.0)], {"N": 4})
    np.testing.assert_array_equal(found, [0, 2, 4, 6])


def test_calls_from_several_threads_have_memory_of_their_own() -> None:
    code = code_of(tadc.function(PROGRAMS[-1][0]))
    assert slots_of(code[0].temporaries)
    given = [np.random.default_rng(n).uniform(-1, 1, 20 + n % 7) for n in range(200)]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda x: called(code, [x]), given))
    for one, x in zip(found, given, strict=True):
        np.testing.assert_array_equal(one[0], called(code, [x])[0])


def test_tensors_that_are_not_in_use_at_a_time_share_a_slot() -> None:
    text = "x: f64[N]\n" + "".join(
        f"let v{n}[i: N] = sum{{j: N}} (sin({'x' if n == 0 else f'v{n - 1}'}[j] + i))\n" for n in range(6)
    )
    interface = unit_of(tadc.function(text + "y[i: N] = v5[i]").program, Options()).interface
    assert len(interface.temporaries) == 5
    assert len(slots_of(interface.temporaries)) == 2
