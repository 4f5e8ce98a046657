"""`tadc.debug_nans()`: the first element that is not a number, its line, and what it reads."""

from typing import Any

import numpy as np
import pytest

import tadc

RATIO = "x: f64[N]\nw: f64[N]\nlet s[i] = x[i] + 1\ny[i] = s[i] / w[i]\nz = sum{i} (x[i])"


def test_the_first_element_its_line_and_its_inputs() -> None:
    f = tadc.function(RATIO)
    x, w = np.array([1.0, 2, -1]), np.array([1.0, 2, 0])
    with tadc.debug_nans():
        assert f(x, np.ones(3)).y.tolist() == [2, 3, 0]
        with pytest.raises(tadc.CompileError) as error:
            f(x, w=w)
    (found,) = error.value.diagnostics
    assert (found.code, found.message) == ("TAD0514", "`y[2]` is not a number")
    assert found.notes == ["x[2] is -1", "w[2] is 0"]
    assert "4 | y[i] = s[i] / w[i]" in str(error.value)
    assert '`f.explain("y", i=2, x=…, w=…)`' in found.helps[0]
    assert np.isnan(f(x, w).y[2])


def test_a_block_may_be_entered_again() -> None:
    f, block = tadc.function("x: f64[3]; y[i] = sqrt(x[i])"), tadc.debug_nans()
    for _ in range(2):
        with block, pytest.raises(tadc.CompileError):
            f(-np.ones(3))
    assert np.isnan(f(-np.ones(3))).all()


def test_inputs_that_are_not_finite_come_first() -> None:
    f = tadc.function("x: f64[20]; s = sum{i} (x[i])")
    x = np.ones(20)
    x[13] = np.nan
    with tadc.debug_nans(), pytest.raises(tadc.CompileError) as error:
        f(x)
    notes = error.value.diagnostics[0].notes
    assert (notes[0], notes[-1]) == ("x[13] is nan", "12 more elements are read")


def test_gradients_are_looked_at_too() -> None:
    gradient = tadc.grad(tadc.function("x: f64[2]; y = sum{i} (sqrt(x[i])*x[i]**0.5*log(x[i]))"))
    with tadc.debug_nans(), pytest.raises(tadc.CompileError, match=r"dx\[1\]` is not a number"):
        gradient([1.0, -4.0])


def test_compiled_functions_are_looked_at_too() -> None:
    f = tadc.compile(tadc.function(RATIO))
    with tadc.debug_nans(), pytest.raises(tadc.CompileError, match=r"`y\[2\]` is not") as error:
        f(np.array([1.0, 2, -1]), w=np.array([1.0, 2, 0]))
    assert error.value.diagnostics[0].notes == ["x[2] is -1", "w[2] is 0"]


def test_an_error_that_was_caught_is_not_raised_again() -> None:
    f = tadc.function("x: f64[N]; y[i] = sqrt(x[i])")

    class WrongStepError(RuntimeError):
        """One of the caller's own."""

    @tadc.debug_nans()
    def step() -> None:
        try:
            f([-1])
        except tadc.CompileError as error:
            raise WrongStepError(f"step 3: {error}") from error

    with pytest.raises(WrongStepError, match="step 3"):
        step()


def test_narrow_arrays_of_pytorch() -> None:
    """NumPy itself cannot read them."""
    torch: Any = pytest.importorskip("torch")
    f = tadc.function("x: bf16[N]; w: f64[N]; y[i] = sqrt(x[i])*w[i]")
    g = tadc.function("x: bf16[N]; y[i] = sqrt(x[i])")
    x = torch.tensor([-1.0]).bfloat16()
    for call in (lambda: f(x, np.ones(1)), lambda: g(x)):
        with tadc.debug_nans(), pytest.raises(tadc.CompileError, match="is not a number") as error:
            call()
        assert error.value.diagnostics[0].notes[0] == "x[0] is -1"


def test_sparse_arrays() -> None:
    sparse: Any = pytest.importorskip("scipy.sparse")
    f = tadc.function(
        "row: index[E] in N; col: index[E] in M; A: f64[N, M] at (row, col); x: f64[M]\n"
        "y[i] = sum{j} (A[i, j]*sqrt(x[j]))"
    )
    a = sparse.csr_array([[1.0, 0], [2, 3]])
    with tadc.debug_nans(), pytest.raises(tadc.CompileError, match=r"`y\[1\]` is not a number"):
        f(a, [1, -1])
