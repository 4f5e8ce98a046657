"""What `import tadc` offers: its names, each with an example that runs, their signatures and reprs."""

from __future__ import annotations

import doctest
import inspect
import traceback
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import curve_fit

import tadc
from tadc.caller.boundary import public

#: Names whose example needs a GPU, or is on a page of `docs/`, or is that of the function which returns it.
WITHOUT = {
    *("Bundle", "DeviceArray", "load_bundle"),
    *("BackendError", "Pass", "dual", "register_pass"),
    *("Budget", "Certificates", "Profile", "Statistics", "Structure", "Tuned"),
}

EXAMPLES = [("tadc", tadc), *((f"dual.{name}", getattr(tadc.dual, name)) for name in tadc.dual.__all__)]
EXAMPLES += [(name, getattr(tadc, name)) for name in tadc.__all__ if name not in WITHOUT]


@pytest.mark.parametrize(("name", "value"), EXAMPLES, ids=[name for name, _ in EXAMPLES])
def test_the_example_of_a_name(
    name: str, value: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if name == "from_torch":
        pytest.importorskip("torch")
    monkeypatch.chdir(tmp_path)
    runner = doctest.DocTestRunner()
    texts = [inspect.getdoc(value) or ""]
    if inspect.isclass(value):
        texts += [inspect.getdoc(member) or "" for n, member in vars(value).items() if n[0] != "_"]
    tests = [doctest.DocTestParser().get_doctest(text, {}, name, None, 0) for text in texts]
    assert any(test.examples for test in tests)
    said: list[str] = []
    for test in tests:
        runner.run(test, out=said.append)
    assert not runner.failures, "".join(said)


def test_names_are_public() -> None:
    assert set(dir(tadc)) == {*tadc.__all__, "__version__"}
    assert all(getattr(tadc, name) is not None for name in tadc.__all__)
    assert all(inspect.getdoc(getattr(tadc, name)) for name in tadc.__all__)
    names = [name for name in dir(tadc.jacobian(tadc.function("x: f64[3]; f[i] = x[i]"))) if name[0] != "_"]
    assert names == sorted(
        "at block compiled compressed cotangents dask explain gradients inputs jax latex lower "
        "output_tangents outputs program structure tangents torch toscipy".split()
    )
    with pytest.raises(AttributeError, match="did you mean `jacobian`"):
        tadc.jacobien


def test_signatures() -> None:
    f = tadc.function("size M; x: f64[N]; a: f32; class: f64; y[i: M] = a*x[0] + class; s = a")
    assert str(inspect.signature(f)) == (
        "(x: 'f64[N]', a: 'f32', class_: 'f64', /, *, M: int, out=None, stream=None) -> 'y: f64[M], s: f32'"
    )
    assert f(np.ones(2), 1, 2, M=2).s == 1
    plain = tadc.function("x: f64[3]; f[i] = x[i]")
    assert list(inspect.signature(plain).parameters) == ["x", "out", "stream"]
    assert list(inspect.signature(tadc.vjp(plain)).parameters)[:2] == ["x", "df"]
    assert "make" in inspect.signature(tadc.Function).parameters


def test_scipy_fits_a_function() -> None:
    f = tadc.function("t: f64[N]; a: f64; b: f64; y[i] = a * exp(-b * t[i])")
    t = np.linspace(0, 2, 20)
    found, _ = curve_fit(f, t, f(t, 2.5, 1.5), p0=(1, 1))
    np.testing.assert_allclose(found, (2.5, 1.5))


def test_load(tmp_path: Path) -> None:
    path = tmp_path / "f.tad"
    path.write_text("x: f64[N]\nf[i: 3] = x[i + 1]\n")
    assert tadc.load(path).inputs == ("x",)
    assert tadc.load(str(path), sizes={"N": 4})(np.arange(4.0)).tolist() == [1, 2, 3]
    path.write_text("x: f64[3]\nf[i] = x[i + 1")
    with pytest.raises(tadc.CompileError, match=r"f\.tad:2:9"):
        tadc.load(path)
    for wrong in ("missing.tad", tmp_path, "nul\0.tad"):
        with pytest.raises(tadc.CompileError) as problem:
            tadc.load(wrong)
        assert problem.value.diagnostics[0].code == "TAD0801"


def test_reprs_say_types() -> None:
    f = tadc.function("x: f64[N, 3]; s = sum{i, j} (x[i, j])")
    assert repr(tadc.grad(f)) == "<tadc.Function (x: f64[N, 3]) -> (dx: f64[N, 3])>"
    assert repr(tadc.jacobian(f)) == "<tadc.Jacobian (x: f64[N, 3]) -> (ds_dx: f64[N, 3])>"
    per_value = tadc.function("x: f64[N, M]; y: f64[K]; s = sum{i: N, j: M} (x[i, j] * y[M*i + j])")
    assert repr(per_value) == "<tadc.Function (x, y) -> (s) for each value of M>"
    many = tadc.function("; ".join(f"x{n}: f64" for n in range(20)) + "; s = x0")
    assert "x11: f64, … 8 more) -> (s: f64)" in repr(many)
    r = tadc.propagate(tadc.grad(f), {"x": np.ones((2, 3))}, u={"x": 0.1})
    assert repr(r) == "<tadc.Result dx: float64[2, 3]; first order (GUM), k = 2>"


def frames(error: BaseException) -> list[str]:
    """The files of the frames of tadc that the caller sees."""
    found = [frame.filename for frame in traceback.extract_tb(error.__traceback__)]
    return [Path(name).name for name in found if "/tests/" not in name]


def test_the_caller_sees_the_own_line_and_not_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    f = tadc.function("x: f64[3]; s = sum{i} (x[i]**2)")
    with pytest.raises(tadc.CompileError) as error:
        tadc.function("f[i] = x[i]")
    assert frames(error.value) == []
    with pytest.raises(tadc.ArgumentError) as error:
        f(np.ones(4))
    assert frames(error.value) == []
    with pytest.raises(tadc.ArgumentError) as error:
        tadc.compile(f)(np.ones(4))
    assert frames(error.value) == []
    with pytest.raises(tadc.CompileError) as error:
        tadc.hessian(f, "y")
    assert frames(error.value) == []

    def broken(*_: object) -> None:
        raise KeyError("a bug")

    monkeypatch.setattr("tadc.api.derivatives.Origin", broken)
    with pytest.raises(KeyError) as bug:
        tadc.vjp(f)
    assert "derivatives.py" in frames(bug.value)


def test_a_warning_shows_the_line_of_the_caller() -> None:
    f = tadc.function("x: f64[3]; s = sum{i} (floor(x[i]))")
    for derivative in (tadc.vjp, tadc.grad, tadc.hessian):
        with pytest.warns(tadc.CompileWarning) as seen:
            derivative(f)
        assert {warning.filename for warning in seen} == {__file__}


def test_a_bug_keeps_what_led_to_it() -> None:
    @public
    def broken() -> None:
        try:
            raise KeyError("a")
        except KeyError:
            repr(1 / 0)

    with pytest.raises(ZeroDivisionError) as seen:
        broken()
    assert isinstance(seen.value.__context__, KeyError)
    assert not seen.value.__suppress_context__
