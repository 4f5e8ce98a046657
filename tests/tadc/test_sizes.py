"""Size symbols from the outside: calls, mistakes, the command line."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tadc
from tadc.backend.runtime.workspace import workspace
from tadc.cli import main
from tests.backend.kernels import on_host

WINDOW = "x: f64[M]\nsize N\nf[i: N] = x[i + 2]"
CONVOLUTION = "x: f64[N]\nw: f64[K]\ny[i: N - K + 1] = sum{k} (x[i + k] * w[k])"


def wrong(text: str, *args: Any, **kwargs: Any) -> list[tuple[str, str]]:
    f = tadc.function(text)
    with pytest.raises(tadc.ArgumentError) as found:
        f(*args, **kwargs)
    return [(d.code, d.message) for d in found.value.diagnostics]


def test_arrays_that_disagree() -> None:
    two = "x: f64[N, M]\ny: f64[M]\nf[i] = sum{j} (x[i, j] * y[j])"
    assert wrong(two, np.ones((3, 4)), np.ones(5)) == [
        ("TAD0503", "dimension 0 of `y` has 5 elements, expected 4")
    ]
    f = tadc.function(two)
    with pytest.raises(tadc.ArgumentError) as found:
        f(np.ones((3, 4)), np.ones(5))
    assert "`M` is 4, from dimension 1 of `x`" in str(found.value)


def test_rank_and_fixed_extents() -> None:
    text = "x: f64[N, 3]\nf[i] = x[i, 0]"
    assert wrong(text, np.ones(3))[0][1] == "`x` has 1 dimension, shape (3,), expected 2"
    assert wrong(text, np.ones((2, 4))) == [("TAD0503", "`x` has shape (2, 4), expected (N, 3)")]


def test_an_extent_that_is_an_expression() -> None:
    text = "x: f64[2*N + 1]\nf[i: N] = x[2*i] * x[2*i + 1]"
    np.testing.assert_array_equal(tadc.function(text)(np.arange(5.0)), [0, 6])
    assert wrong(text, np.ones(4)) == [
        ("TAD0503", "dimension 0 of `x` has 4 elements, which `2*N + 1` cannot be")
    ]
    assert wrong(text, np.ones(0))[0][0] == "TAD0503"


def test_dimensions_that_tell_sizes_together() -> None:
    f = tadc.function("x: f64[N + M]\ny: f64[N - M]\nf[i: N] = x[i] + M*y[0]")
    np.testing.assert_array_equal(f(np.arange(7.0), np.ones(3)), [2, 3, 4, 5, 6])
    for sizes in ((7, 2), (3, 7)):
        with pytest.raises(tadc.ArgumentError) as found:
            f(*map(np.ones, sizes))
        (problem,) = found.value.diagnostics
        assert problem.code == "TAD0503"
        assert problem.message == f"dimension 0 of `x` has {sizes[0]} elements, which `M + N` cannot be"
        assert problem.notes[0] == f"dimension 0 of `y` has {sizes[1]}"


def test_sizes_by_name() -> None:
    assert wrong(WINDOW, np.ones(5)) == [("TAD0501", "size `N` is missing")]
    assert wrong(WINDOW, np.ones(5), N=2.0) == [("TAD0508", "size `N` must be an integer, not float")]
    assert wrong(WINDOW, np.ones(5), N=-1)[0] == ("TAD0508", "size `N` cannot be -1")
    assert wrong(WINDOW, np.ones(5), N=2**40)[0][0] == "TAD0508"
    assert wrong(WINDOW, np.ones(5), N=[1])[0][0] == "TAD0508"
    assert wrong(WINDOW, np.ones(5), N=3, K=2)[0] == ("TAD0502", "there is no argument `K`")
    f = tadc.function(WINDOW)
    np.testing.assert_array_equal(f(np.arange(5.0), N=np.int32(2)), [2, 3])
    np.testing.assert_array_equal(f(np.arange(5.0), N=2, M=5), [2, 3])
    assert wrong(WINDOW, np.ones(5), N=2, M=6)[0][1] == "dimension 0 of `x` has 5 elements, expected 6"


def test_sizes_without_a_meaning() -> None:
    f = tadc.function(WINDOW)
    with pytest.raises(tadc.ArgumentError) as found:
        f(np.ones(5), N=4)
    (diagnostic,) = found.value.diagnostics
    assert (diagnostic.code, diagnostic.message) == ("TAD0507", "`x` is read past its end")
    assert diagnostic.notes == [
        "the sizes are M = 5, N = 4",
        "they must satisfy M >= N + 2 or N <= 0",
        "out of range at `i = 3`",
    ]
    assert f(np.ones(0), N=0).shape == (0,)


def test_a_derivative_refuses_the_same_sizes() -> None:
    g = tadc.vjp(tadc.function(WINDOW))
    np.testing.assert_array_equal(g(np.ones(5), np.array([1.0, 2.0])), [0, 0, 1, 2, 0])
    with pytest.raises(tadc.ArgumentError, match="TAD0507"):
        g(np.ones(5), np.ones(4))
    again = tadc.function(str(g))
    np.testing.assert_array_equal(again(np.ones(5), np.array([1.0, 2.0])), [0, 0, 1, 2, 0])


def test_an_exact_look_allows_what_the_shadow_refuses() -> None:
    """2*i = 2*N - 3 has no integer solution, which the rational shadow does not see."""
    f = tadc.function("x: f64[N]\ny: f64[M]\nf[i: N] = if {2*i = 2*N - 3} then (y[i]) else (x[i])")
    np.testing.assert_array_equal(f(np.arange(4.0), np.zeros(0)), np.arange(4.0))


def test_what_the_shadow_refuses_is_no_fact() -> None:
    """The shadow refuses M = 1, where both factors are v[0]: its gradient is 2*v[0]."""
    f = tadc.function("v: f64[M]\nu = prod{n}_(M + 1)^3 (v[n - (n + 2) % 3 + M - 2])")
    for g in (tadc.vjp(f), tadc.function(str(tadc.vjp(f)))):
        np.testing.assert_array_equal(g(np.array([0.5]), np.array(1.0)), [1.0])


def test_out_and_temporaries() -> None:
    f = tadc.function("x: f64[N]\nlet h[i] = x[i]**2\nf[i: N - 1] = h[i] * h[i + 1]")
    for n in (1, 2, 5):
        x, out = np.arange(float(n)), np.empty(n - 1)
        assert f(x, out=out) is out
        np.testing.assert_array_equal(out, x[:-1] ** 2 * x[1:] ** 2)
    with pytest.raises(tadc.ArgumentError, match="TAD0505"):
        f(np.ones(4), out=np.empty(4))
    with pytest.raises(tadc.ArgumentError, match="TAD0507"):
        f(np.ones(0))


def test_pickled() -> None:
    x, w = np.arange(5.0), np.ones(2)
    for f in (tadc.function(CONVOLUTION), tadc.vjp(tadc.function(CONVOLUTION), "w")):
        given = {"x": x, "w": w, "dy": np.ones(4)}
        arguments = [given[name] for name in f.inputs]
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(f))(*arguments), f(*arguments))
    g = tadc.vjp(tadc.function("x: f64[P]\nsize N\nf[i: 2, j: N] = x[N*i + j]"))
    found = pickle.loads(pickle.dumps(g))(np.ones(6), np.ones((2, 3)), N=3)
    np.testing.assert_array_equal(found, np.ones(6))


def test_memory_is_asked_for_before_a_call() -> None:
    f = tadc.function("size N\nf[i: N, j: N] = i + j")
    with pytest.raises(tadc.ArgumentError, match="TAD0506"):
        f(N=10**8)


def test_specialising_checks_what_is_given() -> None:
    f = tadc.function(WINDOW)
    given: list[tuple[dict[str, Any], str]] = [
        ({"Q": 1}, "TAD0209"),
        ({"N": 1.5}, "TAD0508"),
        ({"N": 4, "M": 5}, "TAD0507"),
    ]
    for sizes, code in given:
        with pytest.raises(tadc.CompileError) as found:
            tadc.compile(f, sizes=sizes)
        assert [d.code for d in found.value.diagnostics] == [code]
    assert str(f.at({"N": 3})) == "x: f64[M]\nf: f64[3]\n\nf[i] = x[i + 2]\n"
    lowered = tadc.vjp(f).lower(sizes={"N": 3, "M": 9})
    assert "?" not in lowered.as_text("diff") + lowered.as_text("opt")


def run(*argv: str) -> int:
    return main(list(argv))


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.save(tmp_path / "x.npy", np.arange(6.0))
    x = f"x={tmp_path / 'x.npy'}"
    assert run("-e", WINDOW, "--run", x, "N=3", "-o", str(tmp_path / "f.npy")) == 0
    np.testing.assert_array_equal(np.load(tmp_path / "f.npy"), [2, 3, 4])
    assert run("-e", WINDOW, "--size", "N=2", "--run", x, "-o", str(tmp_path / "f.npy")) == 0
    np.testing.assert_array_equal(np.load(tmp_path / "f.npy"), [2, 3])
    assert run("-e", WINDOW, "--size", "N=2", "--wrt", "x") == 0
    assert "df: f64[2]" in capsys.readouterr().out
    assert run("-e", WINDOW, "--check-gradient") == 0
    assert run("-e", CONVOLUTION, "--check-gradient", "--size", "N=7,K=2") == 0
    assert "7x" not in capsys.readouterr().err
    assert run("-e", CONVOLUTION, "--emit", "asm", "--size", "N=7", "--size", "K=2") == 0
    capsys.readouterr()
    for option in ("N", "N=", "=3", "N=-1", "N=a"):
        assert run("-e", WINDOW, "--size", option) == 2
    assert run("-e", WINDOW, "--size", "N=1,N=2") == 2
    assert run("-e", WINDOW, "--size", "Q=1") == 1


def test_ir_goes_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A module of any stage holds the sizes, their conditions and the shapes."""
    file = tmp_path / "f.mlir"
    assert run("-e", WINDOW, "--wrt", "x", "--emit", "cancel", "-o", str(file)) == 0
    np.save(tmp_path / "x.npy", np.arange(6.0))
    np.save(tmp_path / "df.npy", np.arange(3.0))
    arrays = [f"{name}={tmp_path / name}.npy" for name in ("x", "df")]
    assert run(str(file), "--run", *arrays, "-o", str(tmp_path / "dx.npy")) == 0
    np.testing.assert_array_equal(np.load(tmp_path / "dx.npy"), [0, 0, 0, 1, 2, 0])
    np.save(tmp_path / "df.npy", np.arange(5.0))
    assert run(str(file), "--run", *arrays) == 1
    assert "they must satisfy M >= N + 2 or N <= 0" in capsys.readouterr().err
    assert run(str(file), "--emit", "asm") == 0
    capsys.readouterr()
    assert run(str(file), "--size", "N=3,M=6", "--emit", "opt") == 0
    assert "?" not in capsys.readouterr().out
    assert run(str(file), "--size", "N=5,M=6") == 1
    assert "they must satisfy M >= N + 2 or N <= 0" in capsys.readouterr().err
    assert run(str(file), "--size", "Q=5") == 1


def test_ir_that_reads_out_of_range_at_some_sizes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "f.mlir"
    assert run("-e", WINDOW, "--emit", "tad", "-o", str(file)) == 0
    assert run(str(file)) == 0
    file.write_text(file.read_text().replace("tad.excluded", "other.excluded"))
    capsys.readouterr()
    assert run(str(file)) == 1
    assert "TAD0607" in capsys.readouterr().err


SHUFFLE = "x: f64[L]; size M; f[i: 3, j: M] = x[M*i + j]"


@pytest.mark.parametrize(
    ("value", "code"),
    [
        (-4, "TAD0508"),
        (2**40, "TAD0508"),
        ("a", "TAD0508"),
        (None, "TAD0508"),
        ([2], "TAD0508"),
        (4.0, "TAD0508"),
    ],
)
def test_what_is_no_size_where_it_multiplies(value: Any, code: str) -> None:
    f = tadc.function(SHUFFLE)
    f(np.ones(12), M=4)
    for call in (
        lambda: f(np.ones(12), M=value),
        lambda: f.at({"M": value}),
        lambda: tadc.compile(f, sizes={"M": value}),
    ):
        with pytest.raises(tadc.CompileError) as found:
            call()
        assert [d.code for d in found.value.diagnostics] == [code]


def test_an_answer_does_not_depend_on_earlier_calls() -> None:
    f = tadc.function("size M; f[i: M] = i")
    assert f(M=np.array(4)).shape == (4,)
    for value in (4.0, 4 + 0j):
        with pytest.raises(tadc.ArgumentError, match="TAD0508"):
            f(M=value)
    g = tadc.function("x: f64[L]; size M; size K; f[i: 3, j: M] = x[M*i + j + K]")
    assert g.at({"M": 3, "K": 0}) is g.at({"K": 0, "M": 3})


def test_all_that_is_wrong_with_a_call() -> None:
    text = "x: f64[N]; size rows; f[i: rows] = x[i]"
    found = wrong(text, np.ones(4), row=3)
    assert [code for code, _ in found] == ["TAD0502", "TAD0501"]
    with pytest.raises(tadc.ArgumentError, match="did you mean `rows`"):
        tadc.function(text)(np.ones(4), row=3)
    assert [code for code, _ in wrong(text, np.ones(4, complex), rows="q")] == ["TAD0504", "TAD0508"]


def test_an_example_is_found_for_sizes_that_differ() -> None:
    for text in (
        "x: f64[N]; size A; size B; f[i: A - B - 1] = x[A*i + B*i]",
        "x: f64[N]; size A; f[i: A - 70, j: 2] = x[A*i + j]",
        "x: f64[N]; size A; f[i: 2] = x[A*i + A - 20]",
    ):
        assert tadc.function(text).per_value is not None
    with pytest.raises(tadc.CompileError, match="others that were tried"):
        tadc.function("x: f64[N]; size A; f[i: 2] = x[A*i - A - 1]")
    text = "x: f64[N]; size A; f[i: 2] = x[A*i + A - 12345678901]"
    assert tadc.function(text, sizes={"A": 12345678901}).program.sizes == ("N",)


def test_no_warning_for_a_derivative_that_is_zero_at_one_value(recwarn: pytest.WarningsRecorder) -> None:
    g = tadc.vjp(tadc.function("x: f64[N]; size M; f[i: 2] = if {M*i >= 5} then (x[M*i]) else (0)"))
    assert not recwarn.list
    np.testing.assert_array_equal(g(np.ones(9), np.ones(2), M=8), [0] * 8 + [1])


def test_a_cotangent_tells_a_size_too() -> None:
    g = tadc.vjp(tadc.function(SHUFFLE))
    np.testing.assert_array_equal(g(np.ones(12), np.ones((3, 4))), np.ones(12))


def test_sizes_that_a_kernel_is_compiled_for() -> None:
    f = tadc.compile(tadc.function(CONVOLUTION), sizes={"K": 3})
    np.testing.assert_array_equal(f(np.ones(4), np.ones(3), K=3), [3, 3])
    with pytest.raises(tadc.ArgumentError, match="the kernel is compiled for K = 3"):
        f(np.ones(4), np.ones(3), K=4)


def test_a_kernel_for_all_its_sizes_still_knows_them() -> None:
    f = tadc.compile(tadc.function(CONVOLUTION), sizes={"N": 4, "K": 3})
    out = np.empty(2)
    for given in ({}, {"K": 3}, {"N": 4, "K": 3}, {"out": out}, {"K": 3, "out": out}):
        np.testing.assert_array_equal(f(np.ones(4), np.ones(3), **given), [3, 3])
    for wrong in ({"K": 4}, {"N": 3, "K": 3}):
        with pytest.raises(tadc.ArgumentError, match="the kernel is compiled for"):
            f(np.ones(4), np.ones(3), **wrong)
    with pytest.raises(tadc.ArgumentError, match="must be an integer"):
        f(np.ones(4), np.ones(3), K="3")
    with pytest.raises(tadc.ArgumentError, match=r"(?s)no argument `L`.*its sizes are"):
        f(np.ones(4), np.ones(3), L=3)
    with pytest.raises(tadc.ArgumentError, match=r"has shape \(5,\)"):
        f(np.ones(5), np.ones(3))


def test_conditions_read_well() -> None:
    with pytest.warns(tadc.CompileWarning, match="`M` can be at most 9"):
        f = tadc.function("x: f64[9]; size M; f[i: M] = x[i]")
    with pytest.raises(tadc.ArgumentError, match="they must satisfy M <= 9"):
        f(np.ones(9), M=10)


def test_an_excluded_set_that_is_an_equation_is_no_bound() -> None:
    """`M = N` alone is excluded where N is 5: that says nothing of other sizes."""
    f = tadc.function(
        "x: f64[4]; size M; size N\n"
        "f = (if {M = N} then (x[N]) else (0)) + sum{k}_(max [0; 5 - M])^(3) (x[k])"
    )
    for given in (f, tadc.compile(f, sizes={"N": 5})):
        for m in (2, 4, 6, 60):
            assert given(np.arange(1.0, 5), M=m, N=5) == sum(k + 1 for k in range(max(0, 5 - m), 4))


def test_tensors_in_between_share_memory() -> None:
    """Each of a chain is used by the next alone: at any size two have memory at once.

    The first is no tensor.
    """
    chain = "\n".join(f"let h{n}[i: N] = sin(2*h{n - 1}[N - 1 - i])" for n in range(1, 7))
    f = tadc.function(f"x: f64[N]\nlet h0[i] = x[i] + 1\n{chain}\nf[i: N] = h6[N - 1 - i]")
    kernel = on_host(f.compiled().kernel)
    assert len(kernel.temporaries) == 6
    for n in (1, 8, 1000, 70001):
        x = np.linspace(-1, 1, n)
        expected = x + 1
        for _ in range(6):
            expected = np.sin(2 * expected[::-1])
        np.testing.assert_allclose(f(x), expected[::-1], rtol=1e-13)
        room = workspace([t.at({"N": n}) for t in kernel.temporaries])
        assert room.bytes == 2 * -(-8 * n // 64) * 64
