"""Programs whose tensors have names that Python keeps for itself, at every door."""

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

import tadc
from tadc.cli import main

PROGRAM = "class: f64[N]\nw: f64[N]\nlambda[i] = class[i]**2 * w[i]\nin = sum{i} (class[i] * w[i])"
FUNCTION = tadc.function(PROGRAM)
C, W = np.arange(3.0), np.array([1.0, 2.0, 4.0])


def torch_call(function: Any) -> Any:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: `make frameworks` installs it")
    return function.torch(torch.tensor(C), torch.tensor(W))


DOORS: dict[str, Callable[[], Any]] = {
    "position": lambda: FUNCTION(C, W),
    "name": lambda: FUNCTION(**{"class": C}, w=W),
    "out": lambda: FUNCTION(C, W, out={"lambda": np.zeros(3), "in": np.zeros(())}),
    "compiled": lambda: tadc.compile(FUNCTION)(C, W),
    "emulated": lambda: tadc.compile(FUNCTION, target="emulated")(C, W),
    "jvp": lambda: tadc.jvp(FUNCTION)(C, W, C, W),
    "jax": lambda: FUNCTION.jax(C, W),
    "jit": lambda: jax.jit(FUNCTION.jax)(C, W),
    "torch": lambda: torch_call(FUNCTION),
}


@pytest.mark.parametrize("door", DOORS)
def test_an_output_is_named_with_an_underscore(door: str) -> None:
    found = DOORS[door]()
    np.testing.assert_allclose(found.lambda_, C**2 * W, rtol=1e-6)
    np.testing.assert_allclose(found.in_, (C * W).sum(), rtol=1e-6)


def test_derivatives_and_their_names() -> None:
    vjp = tadc.vjp(FUNCTION)
    assert vjp.inputs == ("class", "w", "dlambda", "din")
    found = vjp(C, W, dlambda=W, din=2.0)
    np.testing.assert_allclose(found.dclass, 2 * C * W**2 + 2 * W)
    assert tadc.vjp(FUNCTION, wrt="class").outputs == ("dclass",)
    np.testing.assert_allclose(tadc.jacobian(FUNCTION)(C, W).din_dclass, W)


def test_signatures_and_errors_say_what_can_be_written() -> None:
    assert str(inspect.signature(FUNCTION)).startswith("(class_: 'f64[N]', /, w: 'f64[N]', *, out=None")
    f = tadc.function("x: f64; size in; y[i: in] = x")
    assert "in_: int" in str(inspect.signature(f))
    assert f(1.0, **{"in": 2}).tolist() == [1, 1]
    with pytest.raises(tadc.ArgumentError, match=r"`\*\*\{'class': …\}`"):
        FUNCTION(w=W)
    with pytest.raises(tadc.ArgumentError, match=r"by name it is passed as `\*\*\{'class': …\}`"):
        FUNCTION(class_=C, w=W)
    with pytest.raises(AttributeError):
        _ = FUNCTION(C, W)._0
    taken = tadc.function("x: f64; lambda = x; lambda_ = 2*x")(1.0)
    assert (taken.lambda_, taken.lambda__1) == (2, 1)


def test_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    Path("f.tad").write_text(PROGRAM)
    np.savez("in.npz", **{"class": C, "w": W})
    assert main(["run", "f.tad", "class=in.npz", "w=in.npz", "-o", "out.npz"]) == 0
    with np.load("out.npz") as found:
        np.testing.assert_array_equal(found["lambda"], C**2 * W)
    assert main(["emit", "h", "f.tad", "-o", "f.h"]) == 0
    assert "const double *class_, const double *w, double *lambda, double *in" in Path("f.h").read_text()
    assert "warning" not in capsys.readouterr().err
