"""`out` names outputs, intermediates and indices, but no argument, as calls have `out=`."""

from pathlib import Path

import numpy as np
import pytest

import tadc
from tadc.cli import main

X = np.array([1.0, 2.0, 4.0])
PROGRAMS = [
    ("x: f64[3]; out[i] = x[i]**2", X**2),
    ("x: f64[3]; out: f64[3]; out[i] = x[i]**2", X**2),
    ("x: f64[3]; let out[i] = x[i]**2; y[i] = out[i]", X**2),
    ("x: f64[3]; y[out] = x[out]**2", X**2),
    ("x: f64[3]; y[i: 3] = x[i]**2 * sum{out: 3} (out) / 3", X**2),
    ("x: f64[3]; scan{i} out[i: 3] = if {i = 0} then (x[0]) else (out[i - 1] * x[i])", np.cumprod(X)),
]


@pytest.mark.parametrize(("program", "wanted"), PROGRAMS)
def test_names(program: str, wanted: np.ndarray) -> None:
    f = tadc.function(program)
    (name,) = f.outputs
    np.testing.assert_array_equal(f(x=X), wanted)
    written = np.zeros(3)
    f(X, out={name: written})
    np.testing.assert_array_equal(written, wanted)
    g = tadc.vjp(f)
    assert str(tadc.function(str(g))) == str(g)
    found = g(X, np.ones(3))
    along = tadc.jvp(f)(X, np.ones(3))
    np.testing.assert_allclose(found.sum(), along[1].sum(), rtol=1e-14)


def test_doors() -> None:
    f = tadc.function("x: f64[3]; out[i] = x[i] + 0.5*x[i]; y = x[0]")
    np.testing.assert_array_equal(f(X).out, 1.5 * X)
    np.testing.assert_array_equal(f.jax(X).out, 1.5 * X)
    np.testing.assert_array_equal(tadc.jacobian(f)(X).dout_dx, 1.5 * np.eye(3))
    inverse = tadc.inverse(tadc.function("x: f64[3]; out[i] = x[i] + 0.5*x[i]"))
    np.testing.assert_allclose(inverse.jinv((X,), (X,)), X / 1.5, rtol=1e-15)


@pytest.mark.parametrize(
    "program", ["out: f64[3]; y[i] = out[i]", "x: f64[out]; y[i] = x[i]", "size out; y[i: out] = i"]
)
def test_what_calls_take_is_not_named_out(program: str) -> None:
    with pytest.raises(
        tadc.CompileError, match=r"TAD0106(.|\n)*an output, a `let` or an index may have this name"
    ):
        tadc.function(program)


def test_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    Path("f.tad").write_text("x: f64[N]\nout[i] = x[i]**2")
    np.save("x.npy", X)
    assert main(["run", "f.tad", "x=x.npy", "-o", "found.npz"]) == 0
    with np.load("found.npz") as found:
        np.testing.assert_array_equal(found["out"], X**2)
    assert main(["emit", "h", "f.tad", "-o", "f.h"]) == 0
    assert "double *out" in Path("f.h").read_text()
    assert main(["-e", "out: f64; f = out", "--wrt", "out"]) == 1
    assert "TAD0106" in capsys.readouterr().err
