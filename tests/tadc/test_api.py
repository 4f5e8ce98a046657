"""The Python API, from the outside."""

import threading

import numpy as np
import pytest

import tadc
from tadc.dialect.mlir import ir

TEXT = "x: f64[3]; y: f64[3]; f[i] = x[i] * y[i]; g = sum{i} (f[i])"


@pytest.fixture
def f():
    return tadc.function(TEXT)


X, Y = np.array([1.0, 2.0, 3.0]), np.array([4.0, 5.0, 6.0])


def test_calls(f):
    assert f.inputs == ("x", "y")
    assert f.outputs == ("f", "g")
    for r in (f(X, Y), f(X, y=Y), f(y=Y, x=X), f([1, 2, 3], [4, 5, 6])):
        np.testing.assert_array_equal(r.f, X * Y)
        assert r.g == 32
        assert r._fields == ("f", "g")
    one = tadc.function("x: f64[3]; f[i] = 2*x[i]")(X)
    assert isinstance(one, np.ndarray)


def test_str_is_a_program(f):
    assert str(tadc.function(str(f))) == str(f)


def test_out(f):
    target = np.zeros(3)
    one = tadc.function("x: f64[3]; f[i] = 2*x[i]")
    assert one(X, out=target) is target
    np.testing.assert_array_equal(target, 2 * X)
    same = X.copy()
    one(same, out=same)
    np.testing.assert_array_equal(same, 2 * X)
    scalar = np.zeros(())
    r = f(X, Y, out={"f": target, "g": scalar})
    assert r.f is target
    assert scalar == 32


@pytest.mark.parametrize("order", ["C", "F"])
def test_arrays_of_any_layout(order):
    f = tadc.function("x: f64[4, 6]; f[i, j] = x[i, j] + 10*i + j")
    x = np.asarray(np.arange(24.0).reshape(4, 6), order=order)
    expected = x + 10 * np.arange(4)[:, None] + np.arange(6)
    for array in (x, np.repeat(np.repeat(x, 2, 0), 3, 1)[::2, ::3], x.astype(">f8"), x.astype(np.int32)):
        np.testing.assert_array_equal(f(array), expected)
    x.flags.writeable = False
    np.testing.assert_array_equal(f(x), expected)


def test_size_zero():
    f = tadc.function("x: f64[0]; f[i] = x[i]; g = sum{i} (x[i]) + 1")
    r = f(np.zeros(0))
    assert r.f.shape == (0,)
    assert r.g == 1
    assert tadc.vjp(f)(np.zeros(0), np.zeros(0), 1.0).shape == (0,)


def test_all_problems_at_once(f):
    with pytest.raises(tadc.ArgumentError) as problem:
        f(np.zeros(2), z=3)
    codes = sorted(d.code for d in problem.value.diagnostics)
    assert codes == ["TAD0501", "TAD0502", "TAD0503"]
    assert isinstance(problem.value, tadc.CompileError)
    assert isinstance(problem.value, ValueError)


def test_errors_have_the_command_s_text():
    with pytest.raises(tadc.CompileError) as problem:
        tadc.function("x: f64[3]\nf[i: 4] = x[i]")
    assert "error[TAD0302]" in str(problem.value)
    assert "2 | f[i: 4] = x[i]" in str(problem.value)


def test_lower(f):
    low = f.lower(target="cpu")
    assert "scf.for" in low.as_text("loops")
    assert "tad.map" in low.as_text()
    assert "define" in low.as_text("llvm")
    assert "Define f" in low.as_text("ast")
    assert low.module.operation.verify()
    np.testing.assert_array_equal(low.compile()(X, Y).f, X * Y)
    assert ".target sm_90" in f.lower("cuda:sm_90").as_text("ptx")
    with pytest.raises(ValueError, match="the stages are"):
        low.as_text("ptx")


def test_compile_ahead(f):
    k = tadc.compile(f, target="cpu", sizes={})
    assert k(X, Y).g == 32
    with pytest.raises(tadc.CompileError, match="unknown target"):
        tadc.compile(f, target="cuda:sm_9")
    with pytest.raises(tadc.CompileError, match="no size symbol"):
        tadc.compile(f, sizes={"N": 3})


def test_value_and_vjp_is_one_unit(f):
    both = tadc.value_and_vjp(f, "x")
    assert both.inputs == ("x", "y", "df", "dg")
    r = both(X, Y, np.ones(3), 2.0)
    assert r._fields == ("f", "g", "dx")
    np.testing.assert_array_equal(r.dx, 3 * Y)


def test_inside_another_compiler(f):
    """Its context, its module, its own function beside ours."""
    context = ir.Context()
    tadc.load_dialect(context)
    tadc.load_dialect(context)
    with context:
        module = ir.Module.parse("func.func @theirs(%a: i32) -> i32 { return %a : i32 }")
    tadc.build(f, module)
    tadc.build(tadc.function("x: f64[3]; h[i: 2] = x[i + 1]"), module, name="second")
    assert module.operation.verify()
    tadc.run_passes(module, "tad-reverse-diff{wrt=x},tad-cancel-deltas,canonicalize,cse")
    text = str(module)
    assert "@theirs" in text
    assert "@f_vjp" in text
    assert "@second_vjp" in text
    assert module.context is context or module.context == context


def test_several_contexts_at_once(f):
    modules = []
    for _ in range(3):
        context = ir.Context()
        with context, ir.Location.unknown():
            modules.append(ir.Module.create())
    for module in modules:
        tadc.build(f, module)
    for module in reversed(modules):
        tadc.run_passes(module, "tad-reverse-diff,tad-cancel-deltas,tad-simplify")
    assert len({str(module) for module in modules}) == 1


def test_threads():
    """Functions compile and run from several threads at once."""
    f = tadc.function("x: f64[50]; f[i] = exp(sin(x[i]))")
    x = np.linspace(-1, 1, 50)
    results = []

    def work():
        for _ in range(5):
            results.append((f(x), tadc.vjp(f)(x, np.ones(50))))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 20
    for value, gradient in results:
        np.testing.assert_allclose(value, np.exp(np.sin(x)), rtol=1e-14)
        np.testing.assert_allclose(gradient, np.exp(np.sin(x)) * np.cos(x), rtol=1e-13)


def test_import_is_cheap():
    import subprocess
    import sys

    program = "import sys, tadc; assert not [m for m in sys.modules if 'mlir' in m.lower() or m == 'numpy']"
    subprocess.run([sys.executable, "-c", program], check=True)


def test_masked_and_broadcast_arrays():
    """A masked element has no value, and an output has a place for each element."""
    f = tadc.function("x: f64[3]; f[i] = 2*x[i]")
    with pytest.raises(tadc.ArgumentError, match="masked elements"):
        f(np.ma.masked_array(X, mask=[False, True, False]))
    np.testing.assert_array_equal(f(np.ma.masked_array(X, mask=False)), 2 * X)
    with pytest.raises(tadc.ArgumentError, match=r"elements of `out` for `.*` overlap"):
        f(X, out=np.lib.stride_tricks.as_strided(np.zeros(1), (3,), (0,)))


def test_out_without_elements() -> None:
    """NumPy gives an array without elements no strides."""
    out = np.full_like(np.empty((0, 3)), np.nan)
    assert tadc.function("x: f64[4]; f[i: 0, j: 3] = x[i + j]")(np.ones(4), out=out) is out


def test_pickle_and_copy():
    """A function travels as its text; what a derivative's names stand for goes with it."""
    import copy
    import pickle

    g = tadc.vjp(tadc.function("x: f64[4]; f[i: 3] = x[i + 1]**2"))
    for other in (pickle.loads(pickle.dumps(g)), copy.deepcopy(g)):
        assert other.cotangents == {"f": "df"}
        assert other.gradients == {"x": "dx"}
        np.testing.assert_array_equal(other(np.ones(4), np.ones(3)), [0, 2, 2, 2])


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("function", (None,)),
        ("vjp", ("x",)),
        ("vjp", (tadc.function(TEXT), 3)),
        ("vjp", (tadc.function(TEXT), ["x", 3])),
        ("compile", (tadc.function(TEXT), None)),
    ],
)
def test_wrong_types(name, arguments):
    with pytest.raises(TypeError, match=r"not|has"):
        getattr(tadc, name)(*arguments)


def test_stages_of_a_derivative(f):
    """The delta is there before it is cancelled."""
    low = tadc.vjp(f).lower()
    assert "==" in low.as_text("diff")
    assert "==" not in low.as_text("cancel")


def test_names_that_python_uses():
    f = tadc.function("self: f64; args: f64; kwargs: f64; count = self + args * kwargs; index = self")
    r = f(self=1, args=2, kwargs=3)
    assert r.count == 7
    assert r.index == 1


def test_no_elements_in_any_dimension():
    f = tadc.function("x: f64[3, 0]; y: f64[0, 2, 3]; f[i] = sum{j} (x[i, j]) + 1; g[i, j] = x[i, j]")
    r = f(np.zeros((3, 0)), np.zeros((0, 2, 3)))
    np.testing.assert_array_equal(r.f, np.ones(3))
    assert r.g.shape == (3, 0)
    assert tadc.vjp(f)(np.zeros((3, 0)), np.zeros((0, 2, 3)), np.ones(3), np.zeros((3, 0))).dy.shape == (
        0,
        2,
        3,
    )
