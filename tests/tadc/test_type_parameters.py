"""`x: T[N]`: arrays say what T is, and each type has a kernel of its own."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import tadc
from tadc.cli import main
from tadc.frontend.diagnostics import ArgumentError, CompileError
from tadc.passes.numpy_types import numpy_type

TYPES = ("f16", "bf16", "f32", "f64")
TEXT = "x: T[N]; w: T[M, N]; y[i] = tanh(sum{k} (w[i, k] * x[k]))"


def arrays(name: str) -> tuple[Any, Any]:
    x, w = np.linspace(-1, 1, 5), np.cos(np.arange(15.0)).reshape(3, 5)
    return x.astype(np.float32).astype(numpy_type(name)), w.astype(np.float32).astype(numpy_type(name))


@pytest.mark.parametrize("name", TYPES)
def test_calls_are_those_of_the_program_with_the_type(name: str) -> None:
    """Bit by bit: values, gradients, tangents, Jacobians; of a program whose text states the type."""
    f, stated = tadc.function(TEXT), tadc.function(TEXT.replace("T[", f"{name}["))
    x, w = arrays(name)
    dy = np.ones(3, numpy_type(name))
    for both, given in (
        ((f, stated), (x, w)),
        ((tadc.vjp(f), tadc.vjp(stated)), (x, w, dy)),
        ((tadc.jvp(f, wrt="x"), tadc.jvp(stated, wrt="x")), (x, w, x)),
        ((tadc.jacobian(f, wrt="x"), tadc.jacobian(stated, wrt="x")), (x, w)),
    ):
        found, expected = (g(*given) for g in both)
        for array, other in zip(_several(found), _several(expected), strict=True):
            assert array.dtype == numpy_type(name)
            np.testing.assert_array_equal(array.astype(np.float32), other.astype(np.float32))


def _several(found: Any) -> tuple[Any, ...]:
    return tuple(found) if isinstance(found, tuple) else (found,)


def test_a_type_is_compiled_once() -> None:
    f = tadc.function("x: T[N]; y[i] = 2*x[i]")
    x = np.ones(3, np.float32)
    f(x)
    first = f.at(dtype="f32")
    f(x)
    assert f.at(dtype=np.float32) is first
    assert f.at(dtype={"T": "float32"}) is first
    assert str(f.at({"N": 4}, dtype="f16")) == "x: f16[4]\ny: f16[4]\n\ny[i] = 2 * x[i]\n"
    assert repr(f) == "<tadc.Function (x) -> (y) for each type of T>"
    assert str(f).startswith("# compiled for each type of T; this is the program for f64\nx: f64[N]\n")
    assert pickle.loads(pickle.dumps(tadc.vjp(f)))(x, x).dtype == np.float32


def test_what_has_no_type_takes_that_of_others() -> None:
    f = tadc.function("x: T[N]; w: T[N]; y[i] = x[i] * w[i]")
    assert f([1, 2], np.ones(2, np.float32)).dtype == np.float32
    assert f([1, 2], [3, 4]).dtype == np.float64
    assert f(np.arange(2, dtype=np.int8), np.ones(2, np.float16)).dtype == np.float16
    of_sizes = tadc.function("x: T[L]; size N; f[i: 3, j: N] = x[N*i + j]")
    assert of_sizes(np.arange(12, dtype=np.float32), N=4).dtype == np.float32


def test_types_beside_each_other() -> None:
    """A parameter is as wide as the type that it stands for; a stated type stays."""
    f = tadc.function(
        "x: T[N]; w: S[N]; a: f32; z: T[N]; y[i] = x[i] * w[i]; z[i] = w[i]\n"
        "let h[i]: S = x[i]; s = sum{i} (h[i] + a)"
    )
    y, z, s = f(np.ones(3, np.float32), np.ones(3, np.float64), 1)
    assert (y.dtype, z.dtype, s.dtype) == (np.float64, np.float32, np.float64)
    y, z, s = f(np.ones(3, np.float16), np.ones(3, np.float16), 1)
    assert (y.dtype, z.dtype, s.dtype) == (np.float16, np.float16, np.float32)


def test_arrays_of_two_types() -> None:
    f = tadc.function("x: T[N]; w: T[N]; y[i] = x[i] * w[i]")
    with pytest.raises(ArgumentError, match="`x` is f32 and `w` is f64, and both") as caught:
        f(np.ones(3, np.float32), np.ones(3))
    assert [d.code for d in caught.value.diagnostics] == ["TAD0512"]


def test_what_needs_a_type_first() -> None:
    f = tadc.function("x: T[N]; y[i] = 2*x[i]")
    for needs in (lambda: tadc.compile(f), lambda: f.lower(), lambda: f.at({"N": 3})):
        with pytest.raises(CompileError, match="`T` needs a type") as caught:
            needs()
        assert [d.code for d in caught.value.diagnostics] == ["TAD0215"]
    assert tadc.compile(f.at(dtype="f32"))(np.ones(3, np.float32)).dtype == np.float32


@pytest.mark.parametrize(
    ("text", "dtype", "message"),
    [
        ("x: T[N]; y[i] = x[i]", "f8", "'f8' is no element type"),
        ("x: T[N]; y[i] = x[i]", {"S": "f32"}, "no type parameter `S`"),
        ("x: T[N]; w: S[N]; y[i] = x[i] * w[i]", {"S": "f32"}, "`T` needs a type"),
        ("x: f32[N]; y[i] = x[i]", "f32", "no type parameter"),
    ],
)
def test_types_that_do_not_fit(text: str, dtype: Any, message: str) -> None:
    with pytest.raises(tadc.UsageError, match=message):
        tadc.function(text).at(dtype=dtype)


def test_errors_of_such_programs() -> None:
    with pytest.raises(CompileError, match="`N` stands for a type, and for a size"):
        tadc.function("x: N[N]; y[i] = x[i]")
    with pytest.raises(CompileError, match="unknown name `q`"):
        tadc.function("x: T[N]; y[i] = q * x[i]")


def test_commands(capsys: pytest.CaptureFixture[str]) -> None:
    given = ["emit", "tad", "-e", "x: T[N]; w: S[N]; y[i] = x[i] * w[i]"]
    assert main([*given, "--dtype", "T=f32,S=f64"]) == 0
    assert "%x: tensor<?xf32>" in capsys.readouterr().out
    assert main([*given, "--dtype", "T=f32"]) == 1
    assert "TAD0215" in capsys.readouterr().err
    for wrong, message in (("T=f8", "not of the form T=TYPE"), ("U=f32", "no type parameter `U`")):
        assert main([*given, "--dtype", wrong]) == 2
        assert message in capsys.readouterr().err
