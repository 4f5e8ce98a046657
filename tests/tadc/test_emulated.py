"""Target `emulated`: the same results as on the CPU, for values and gradients, and what it finds wrong."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tadc
from tadc.backend.cuda.images import ProgramKernel
from tadc.backend.emulator.emulated_device import emulated_device
from tadc.backend.runtime.parameters import Parameter
from tadc.backend.runtime.workspace import Temporary
from tadc.cli import main
from tadc.frontend.program import Argument
from tests.conformance import (
    test_index_maps,
    test_programs,
    test_quasi_affine,
    test_reductions,
    test_tensor_algebra,
)
from tests.reference.cases import Case

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.tad"))
#: Sizes of the examples that have symbols.
SIZES = {"N": 7, "M": 6, "K": 3, "T": 6, "D": 4, "L": 5}
MODULES = (test_programs, test_index_maps, test_quasi_affine, test_reductions, test_tensor_algebra)
CASES = [case for module in MODULES for case in module.CATALOGUE.cases]
#: Of the cases, every so-manieth runs each time.
SAMPLE = 12


def agree(f: tadc.Function, arrays: dict[str, Any], tolerance: float = 1e-12, **sizes: int) -> None:
    """Assert that the emulator and the CPU give the same."""
    given = {name: arrays[name] for name in f.inputs}
    expected, found = f(**given, **sizes), tadc.compile(f, target="emulated")(**given, **sizes)
    many = isinstance(expected, tuple)
    for want, got in zip(expected if many else [expected], found if many else [found], strict=True):
        assert got.dtype == want.dtype
        assert got.shape == want.shape
        scale = max(1.0, float(np.abs(want[np.isfinite(want)]).max(initial=0)))
        bound = tolerance if want.dtype == np.float64 else 2e-5
        np.testing.assert_allclose(got, want, rtol=bound, atol=bound * scale, err_msg=str(f))


def with_cotangents(f: tadc.Function, arrays: dict[str, Any], **sizes: int) -> dict[str, Any]:
    """The arrays and random cotangents of the outputs."""
    rng = np.random.default_rng(1)
    value = f(**arrays, **sizes)
    values = value if isinstance(value, tuple) else (value,)
    g = tadc.vjp(f)
    made = {
        g.cotangents[name]: rng.uniform(-1, 1, np.shape(v)).astype(v.dtype)
        for name, v in zip(f.outputs, values, strict=True)
    }
    return {**arrays, **made}


def check_case(case: Case) -> None:
    f = tadc.function(case.program)
    arrays = case.inputs()
    agree(f, arrays)
    agree(tadc.vjp(f), with_cotangents(f, arrays))


@pytest.mark.parametrize("case", CASES[::SAMPLE], ids=lambda case: case.name)
def test_conformance(case: Case) -> None:
    check_case(case)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_all_of_conformance(case: Case) -> None:
    check_case(case)


def drawn(argument: Argument, rng: np.random.Generator) -> np.ndarray:
    """Elements of an argument whose sizes are numbers."""
    shape = tuple(int(str(size)) for size in argument.shape)
    if argument.below is not None:
        return rng.integers(0, int(str(argument.below)), shape).astype(np.int32)
    return rng.uniform(0.1, 0.9, shape).astype({"f32": np.float32, "f64": np.float64}[argument.type])


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples(path: Path) -> None:
    """Value and gradients, for sizes as declared or small ones."""
    f = tadc.function(path.read_text(), sizes={})
    names = set(f.program.sizes) if f.per_value is None else set(f.per_value.symbols)
    f = f.at({name: SIZES.get(name, 5) for name in names})
    rng = np.random.default_rng(0)
    arrays = {a.name: drawn(a, rng) for a in f.program.arguments}
    agree(f, arrays)
    agree(tadc.vjp(f), with_cotangents(f, arrays))


def test_one_kernel_for_any_size() -> None:
    f = tadc.function("x: f64[N]; w: f64[K]; y[i: N - K + 1] = sum{k} (x[i + k] * w[k])")
    compiled = tadc.compile(f, target="emulated")
    rng = np.random.default_rng(0)
    for n, k in ((9, 3), (700, 5), (4, 4)):
        x, w = rng.uniform(size=n), rng.uniform(size=k)
        np.testing.assert_allclose(compiled(x=x, w=w), np.convolve(x, w[::-1], "valid"), rtol=1e-13)
    with pytest.raises(tadc.ArgumentError, match=r"x.*|size"):
        compiled(x=np.ones(3), w=np.ones(5))


def test_arrays_of_no_elements_launch_nothing() -> None:
    f = tadc.compile(tadc.function("x: f64[N]; f[i] = x[i]**2"), target="emulated")
    before = len(launches())
    assert f(np.zeros(0)).shape == (0,)
    assert len(launches()) == before
    assert f(np.ones(3)).tolist() == [1, 1, 1]
    assert len(launches()) > before


def launches() -> list[str]:
    return emulated_device().driver.library.launches


def test_out() -> None:
    f = tadc.compile(tadc.function("x: f64[3]; f[i] = x[i]**2; g[i] = f[i] + 1"), target="emulated")
    out = {"f": np.zeros(3), "g": np.zeros(6)[::2]}
    found = f([1, 2, 3], out=out)
    assert found.f is out["f"]
    assert found.g is out["g"]
    assert out["f"].tolist() == [1, 4, 9]
    assert out["g"].tolist() == [2, 5, 10]
    with pytest.raises(tadc.ArgumentError, match="expected"):
        f([1, 2, 3], out={"f": np.zeros(4)})


@pytest.mark.parametrize(
    ("argument", "code"), [({}, "TAD0501"), ({"x": [1.0]}, "TAD0503"), ({"x": 1, "y": 2}, "TAD0502")]
)
def test_wrong_arguments(argument: dict[str, Any], code: str) -> None:
    f = tadc.compile(tadc.function("x: f64[3]; f[i] = x[i]**2"), target="emulated")
    with pytest.raises(tadc.ArgumentError) as error:
        f(**argument)
    assert code in [d.code for d in error.value.diagnostics]


def test_an_access_out_of_bounds_is_shown_in_the_formula() -> None:
    """The store that leaves its array, in the line where it stands."""
    text = "x: f64[300]\nlet h[i] = exp(x[i])\nf[i: 200] = (h[i] *\n  h[i + 3])"
    kernel = tadc.compile(tadc.function(text, "f.tad"), target="emulated").kernel
    assert isinstance(kernel, ProgramKernel)
    x = np.linspace(0, 1, 300)
    np.testing.assert_allclose(kernel((x,))[0], np.exp(x[:200]) * np.exp(x[3:203]))
    # Too little room for `h`.
    kernel.temporaries = (Temporary(Parameter("h", "f64", (290,)), 0, 1),)
    kernel._plans.clear()
    with pytest.raises(tadc.CompileError) as error:
        kernel((x,))
    said = str(error.value)
    assert "error[TAD0708]: kernel `tad_f_0`: access out of bounds" in said
    assert "--> f.tad:2:" in said
    assert "2 | let h[i] = exp(x[i])" in said
    assert "of the nearest buffer, of 2368" in said
    assert re.search(r"in thread \(\d+, 0, 0\) of block \(\d, 0, 0\), at `st\.global", said)


def test_the_command_runs_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.save(tmp_path / "x.npy", np.arange(4.0))
    program = ["-e", "x: f64[4]; f[i] = x[i]**2", "--target", "emulated"]
    assert main([*program, "--run", f"x={tmp_path}/x.npy", "-o", f"{tmp_path}/f.npy"]) == 0
    assert np.load(tmp_path / "f.npy").tolist() == [0, 1, 4, 9]
    assert main([*program, "--wrt", "x", "--run", f"x={tmp_path}/x.npy", f"df={tmp_path}/x.npy"]) == 0
    assert "18" in capsys.readouterr().out


def test_lines_of_the_program_are_in_the_ptx() -> None:
    f = tadc.function("x: f64[4]\nf[i] = x[i]**2", "f.tad")
    assert '.file\t1 "f.tad"' in f.lower("emulated:sm_90").as_text("ptx")
    assert ".loc" not in f.lower("cuda:sm_90").as_text("ptx")
