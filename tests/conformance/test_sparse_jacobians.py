"""Where Jacobians are zero, their non-zeros alone, and SciPy's arrays of them, at the edges."""

from __future__ import annotations

import builtins
import pickle
import tracemalloc
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tadc
import tadc.api.jacobians
from tadc.analysis.structure import Band
from tadc.frontend import packages
from tadc.frontend.extents import shape_at
from tests.fuzz.generate import generate

#: A program of one argument x and one output f, and what is said of its pattern.
SAID = {
    "x: f64[N]\nf[i] = sin(x[i])": "diagonal: i = i_1",
    "x: f64[N]\nf[i: N - 2] = x[i] * x[i + 1] * x[i + 2]": "banded: 0 <= x_0 - i <= 2; Toeplitz pattern",
    "x: f64[N]\nf[i: N - 1] = x[i + 1]**2": "banded: x_0 = i + 1; Toeplitz pattern",
    "x: f64[N]\nf[i: N] = sum{k}_0^(i) (x[k]**2)": "lower triangular: k <= i; Toeplitz pattern",
    "x: f64[N]\nf[i: N] = sum{k}_0^(i - 1) (x[k]**2)": "lower triangular: k <= i - 1; Toeplitz pattern",
    "x: f64[N]\nf[i: N] = sum{k}_(i)^(N - 1) (x[k]**2)": "upper triangular: k >= i; Toeplitz pattern",
    "x: f64[N]\nf[i: N] = sum{k} (x[k]**2) * i": "dense",
    "x: f64[N]\nf[i: N] = x[N - 1 - i]**2": "selection: x_0 = N - i - 1",
    "x: f64[9]\nf[i: 18] = x[i // 2]**2": "selection: x_0 = i // 2",
    "x: f64[9]\nf[i: 5] = x[2*i]**2": "selection: x_0 = 2*i",
    "x: f64[2*N]\nf[i: N] = x[2*i] * x[2*i + 1]": "windowed: 2*i <= x_0 <= 2*i + 1",
    "x: f64[9]\nf[i: 5] = x[i] * x[i + 4]": "banded: 0 <= x_0 - i <= 4; Toeplitz pattern; "
    "where i + 4 = x_0 or i = x_0",
    "x: f64[4, N]\nf[i] = sum{k} (x[i, k]**2)": "block diagonal: i = i_1; Toeplitz pattern",
    "x: f64[8, 8]\nf[i: 6, j: 6] = sum{k: 3, l: 2} (x[i + k, j + l]**2)": "banded: 0 <= x_0 - i <= 2, "
    "0 <= x_1 - j <= 1; Toeplitz pattern",
    "x: f64[N]\nf[i] = if {i = 0} then (sum{k} (x[k]**2)) else (x[0] * x[i])": "sparse; "
    "where i = 0 or i = x_0 and x_0 >= 1 or i >= 1 and x_0 = 0",
    "x: f64[N]\nf[i] = x[i] - x[i]": "zero",
    "x: f64[N]\nf[i] = sign(x[i])": "zero",
}


@pytest.mark.parametrize("text", SAID)
def test_what_is_said(text: str) -> None:
    """And that it is so, by JAX's Jacobian of the program's own value at small sizes."""
    jacobian = tadc.jacobian(tadc.function(text))
    assert str(jacobian.structure) == SAID[text]
    shape = jacobian.program.arguments[0].shape
    for n in (1, 2, 5):
        sizes = tuple(size if isinstance(size, int) else size.evaluate({"N": n}) for size in shape)
        if n == 1 and "N - 2" in text:
            continue
        x = np.random.default_rng(n).uniform(0.5, 1, sizes)
        dense, sparse = jacobian(x), jacobian.toscipy(x)
        np.testing.assert_array_equal(sparse.toarray(), dense.reshape(sparse.shape))
        if "x[i] - x[i]" not in text and "* i" not in text:
            assert sparse.nnz == np.count_nonzero(dense)


def test_what_can_be_asked() -> None:
    """The fields of a description."""
    jacobian = tadc.jacobian(
        tadc.function("x: f64[N]\nw: f64[K]\nf[i: N - K + 1] = sum{k} (w[k] * x[i + k]**2)")
    )
    band, dense = jacobian.structure
    assert (band.output, band.argument, band.rows, band.columns) == ("f", "x", ("i",), ("x_0",))
    assert (band.kind, dense.kind) == ("banded", "dense")
    assert band.toeplitz
    assert band.filled
    assert [str(b) for b in band.bands] == ["0 <= x_0 - i <= K - 1"]
    assert jacobian.at({"K": 3, "N": 8}).structure.df_dx.bands == (Band("i", "x_0", 0, 2),)
    assert (
        repr(band) == "df_dx[i, x_0] of shape [N - K + 1, N], banded: 0 <= x_0 - i <= K - 1; Toeplitz pattern"
    )


def test_non_zeros_of_a_band() -> None:
    """They are an array of as many columns as the band has; a function of its own, printed and copied."""
    function = tadc.function("x: f64[N]\nw: f64[K]\nf[i: N - K + 1] = sum{k} (w[k] * x[i + k]**2)")
    compressed = tadc.jacobian(function, "x").compressed()
    assert str(compressed).endswith("df_dx[i, d] = 2 * w[d] * x[d + i]\n")
    assert compressed.layout == {"df_dx": "df_dx[i, d + i]"}
    x, w = np.arange(1.0, 8), np.array([1.0, 10, 100])
    expected = 2 * w * np.lib.stride_tricks.sliding_window_view(x, 3)
    np.testing.assert_array_equal(compressed(x, w), expected)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(compressed))(x, w), expected)
    np.testing.assert_array_equal(compressed.at({"K": 3})(x, w), expected)
    mask, (rows, columns) = compressed.coordinates(x, w)["df_dx"]
    assert mask.all()
    np.testing.assert_array_equal(np.broadcast_to(columns - rows, mask.shape), [[0, 1, 2]] * 5)


def test_kept_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A kernel of the non-zeros that is on disk runs without the program being differentiated again."""
    monkeypatch.setenv("TADC_CACHE", "1")
    monkeypatch.setenv("TADC_CACHE_DIR", str(tmp_path))
    x = np.linspace(1, 2, 9)
    text = "x: f64[N]\nf[i: N - 1] = x[i] * x[i + 1]"
    expected = tadc.jacobian(tadc.function(text)).compressed()(x)
    again = tadc.jacobian(tadc.function(text))
    monkeypatch.setattr(tadc.api.jacobians.Jacobian, "program", property(lambda self: pytest.fail("derived")))
    np.testing.assert_array_equal(again.compressed()(x), expected)


def test_memory_of_a_long_band() -> None:
    """129 diagonals of 100,000: that many numbers, and nothing of the square of it."""
    function = tadc.function("x: f64[N]\nw: f64[K]\nf[i: N - K + 1] = sum{k} (w[k] * x[i + k]**2)")
    jacobian = tadc.jacobian(function, "x")
    x, w = np.random.default_rng(0).uniform(1, 2, 100_000), np.linspace(1, 2, 129)
    compressed = jacobian.compressed()
    compressed(x[:200], w)
    tracemalloc.start()
    found = compressed(x, w)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found.shape == (100_000 - 128, 129)
    assert peak < 1.1 * found.nbytes
    np.testing.assert_allclose(found[77777], 2 * w * x[77777 : 77777 + 129])
    sparse = jacobian.toscipy(x[:20_000], w)
    assert sparse.shape == (20_000 - 128, 20_000)
    assert sparse.nnz == (20_000 - 128) * 129


@pytest.mark.parametrize("n", [20, 40])
def test_an_intermediate_is_kept_in_its_band(n: int) -> None:
    """A chain of windows needs no Jacobian of an intermediate that is as large as a matrix."""
    text = f"x: f64[{n}]\nlet g[i: {n - 2}] = sin(x[i] + x[i + 2])\nlet h[i: {n - 4}] = g[i] * g[i + 2]\n"
    jacobian = tadc.jacobian(tadc.function(text + f"f[i: {n - 6}] = h[i] * h[i + 2]"))
    program = jacobian.compressed().program
    assert max(int(np.prod(shape_at(d.shape, {}))) for d in program.definitions) <= 7 * n
    x = jnp.linspace(0, 1, n)

    def reference(x: jax.Array) -> jax.Array:
        g = jnp.sin(x[:-2] + x[2:])
        h = g[:-2] * g[2:]
        return h[:-2] * h[2:]

    sparse = jacobian.toscipy(np.asarray(x))
    np.testing.assert_allclose(sparse.toarray(), jax.jit(jax.jacrev(reference))(x), rtol=1e-12, atol=1e-14)
    assert sparse.nnz == 4 * (n - 6)


def test_dilated_windows_have_no_holes() -> None:
    """Steps of 64 between non-zeros take no memory."""
    jacobian = tadc.jacobian(tadc.function("x: f64[N]\nf[i: N - 256] = sum{k: 5} (x[i + 64*k]**2)"))
    found = jacobian.compressed()(np.arange(300.0))
    assert found.shape == (44, 5)
    np.testing.assert_array_equal(found[3], 2 * (3.0 + 64 * np.arange(5)))


def test_a_row_and_a_column() -> None:
    """An arrow is kept in three pieces, each element in one."""
    jacobian = tadc.jacobian(
        tadc.function("x: f64[N]\nf[i] = if {i = 0} then (sum{k} (x[k]**2)) else (x[0] * x[i])")
    )
    x = np.linspace(1, 2, 1000)
    found = jacobian.compressed()(x)
    assert sum(part.size for part in found) == 3000
    sparse = jacobian.toscipy(x)
    assert sparse.nnz == 1000 + 999 + 999
    np.testing.assert_array_equal(sparse.toarray(), jacobian(x))


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("scan{i} f[i: N] = if {i >= 1} then (sin(f[i - 1])) else (0) + x[i]", "lower triangular"),
        ("scan{-i} f[i: N] = if {i <= N - 3} then (f[i + 1] * f[i + 2]) else (2) * x[i]", "upper triangular"),
        ("let scan{i} h[i: N] = if {i >= 1} then (h[i - 1] * x[i]) else (1)\nf[i] = h[i] * x[i]", "sparse"),
    ],
)
def test_recurrences(text: str, kind: str) -> None:
    """What an element depends on, through any number of steps; the first reads no x[0] in the last case."""
    jacobian = tadc.jacobian(tadc.function(f"x: f64[N]\n{text}"))
    for n in (1, 3, 6):
        x = np.linspace(0.5, 0.9, n)
        dense, sparse = jacobian(x), jacobian.toscipy(x)
        np.testing.assert_allclose(sparse.toarray(), dense, rtol=1e-13)
        assert sparse.nnz <= n * (n + 1) // 2
    assert jacobian.structure.kind == kind


def test_hessian() -> None:
    """Of a sum over neighbours three diagonals; of all pairs it is dense."""
    chain = tadc.hessian(tadc.function("x: f64[N]\nf = sum{i: N - 1} ((x[i + 1] - x[i]**2)**2 + sin(x[i]))"))
    x = np.random.default_rng(1).uniform(-1, 1, 30)
    (band,) = chain.structure.bands
    assert (band.low, band.high, chain.structure.kind) == (-1, 1, "banded")
    assert chain.compressed()(x).shape == (30, 3)
    expected = jax.jit(jax.hessian(lambda x: jnp.sum((x[1:] - x[:-1] ** 2) ** 2 + jnp.sin(x[:-1]))))(x)
    sparse = chain.toscipy(x)
    np.testing.assert_allclose(sparse.toarray(), expected, rtol=1e-12, atol=1e-12)
    assert sparse.nnz == 3 * 30 - 2
    pairs = tadc.hessian(
        tadc.function("x: f64[5]\ny: f64[5]\nf = sum{i, j} (exp(-(x[i] - x[j])**2) * y[i]**2)")
    )
    assert [s.kind for s in pairs.structure] == ["dense", "dense", "dense", "diagonal"]


@pytest.mark.parametrize("n", [0, 1])
def test_empty(n: int) -> None:
    """Arrays without elements, and outputs without."""
    for text in ("f[i: N] = x[i]**2", "f[i: N] = sum{k}_0^(i) (x[k])", "f = sum{i} (x[i]**2)"):
        x = np.ones(n)
        jacobian = tadc.jacobian(tadc.function(f"x: f64[N]\n{text}"))
        sparse = jacobian.toscipy(x)
        assert sparse.shape == ((n, n) if "[i: N]" in text else (1, n))
        assert sparse.nnz == n
    nothing = tadc.jacobian(tadc.function("x: f64[N]\ny: f64[N]\nf[i] = x[i] * 2"), wrt=["x", "y"])
    assert [s.kind for s in nothing.structure] == ["diagonal", "zero"]
    assert [s.nnz for s in nothing.toscipy(np.ones(n), np.ones(n))] == [n, 0]


def test_a_size_as_a_factor() -> None:
    """Compiled for each value of it: the pattern is asked at one."""
    jacobian = tadc.jacobian(tadc.function("x: f64[P]\nsize M\nf[i: 3, j: M] = x[M*i + j]**2"))
    with pytest.raises(tadc.CompileError, match="value"):
        _ = jacobian.structure
    with pytest.raises(tadc.CompileError, match="value"):
        jacobian.compressed()
    assert str(jacobian.at({"M": 4}).structure) == "selection: x_0 = 4*i + j"
    sparse = jacobian.toscipy(np.arange(12.0), M=4)
    np.testing.assert_array_equal(sparse.diagonal(), 2 * np.arange(12.0))
    assert sparse.nnz == 12


def test_single_precision() -> None:
    """Sparse arrays have the type of the Jacobian."""
    jacobian = tadc.jacobian(tadc.function("x: f32[N]\nf[i] = x[i]**2"))
    assert jacobian.toscipy(np.ones(3, np.float32)).dtype == np.float32


def test_without_scipy(monkeypatch: pytest.MonkeyPatch) -> None:
    """A diagnostic that says what to install."""

    def absent(name: str, *_: Any) -> Any:
        raise ModuleNotFoundError(f"No module named {name!r}")

    monkeypatch.setattr(packages, "import_module", absent)
    jacobian = tadc.jacobian(tadc.function("x: f64[3]\nf[i] = x[i]**2"))
    with pytest.raises(tadc.CompileError, match=r"pip install 'tadc-compiler\[scipy\]'") as found:
        jacobian.toscipy(np.ones(3))
    assert [d.code for d in found.value.diagnostics] == ["TAD0802"]
    assert builtins.callable(jacobian.compressed())


@pytest.mark.filterwarnings("ignore::tadc.CompileWarning")
@pytest.mark.parametrize("seed", range(300, 312))
def test_random_programs(seed: int) -> None:
    """The non-zeros are those of the dense Jacobian, whatever the maps, guards and sums."""
    program = generate(seed, small=True)
    function = tadc.function(str(program))
    jacobian = tadc.jacobian(function)
    rng = np.random.default_rng(seed)
    types = program.types
    arrays = {
        n: rng.uniform(0.1, 1, s).astype(types[n].replace("f", "float")) for n, s in program.arguments.items()
    }
    dense, sparse = jacobian(**arrays), jacobian.toscipy(**arrays)
    if len(jacobian.outputs) == 1:
        dense, sparse = (dense,), (sparse,)
    for one, other in zip(dense, sparse, strict=True):
        limit = 1e-4 if one.dtype == np.float32 else 1e-10
        np.testing.assert_allclose(other.toarray(), np.reshape(one, other.shape), rtol=limit, atol=limit)
