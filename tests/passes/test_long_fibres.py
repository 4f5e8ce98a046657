"""Long fibres in parts of a fixed length, against NumPy and whole fibres, for any number of threads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import tadc
from tadc.backend.runtime import cut_kernels, index_arguments
from tadc.compiler.compile_options import Options
from tadc.passes import term_catalogue
from tadc.passes.rewrites.long_fibres import PART, cut_fibres
from tests.backend.kernels import on_host

Array = NDArray[Any]

L = 4
LENGTHS = [0, 1, L - 1, L, L + 1, 5 * L + 3, 0, 2 * L, 3]
PTR = np.concatenate([[0], np.cumsum(LENGTHS)])
N, E, M = len(LENGTHS), int(PTR[-1]), 7
RANDOM = np.random.default_rng(0)
COL, ROW = RANDOM.integers(0, M, E), np.repeat(np.arange(N), LENGTHS)
V, X = RANDOM.uniform(0.5, 1, E), RANDOM.uniform(0.5, 1, M)
HALF = (np.arange(E) % 5 > 2).astype(int)
ASKED = [(5, 0, 0.5), (2, 0, 1.5), (5, 1, 2.5), (5, 0, -0.5), (7, 1, 0.75)]
R, H, W = map(np.array, zip(*ASKED, strict=True))

KINDS: dict[str, Callable[[Array], Any]] = {
    "sum": np.sum,
    "prod": np.prod,
    "max": lambda x: np.max(x, initial=-np.inf),
    "min": lambda x: np.min(x, initial=np.inf),
    "logsumexp": lambda x: np.logaddexp.reduce(x, initial=-np.inf),
}

CSR = """ptr: index[N + 1] in E + 1 increasing; col: index[E] in M; v: f64[E]; x: f64[M]
y[i: N] = KIND{e}_(ptr[i])^(ptr[i + 1] - 1) (v[e] * sin x[col[e]])"""

#: Fibres of one that is not sorted, under a guard, within another sum, of a fixed value, of two tensors.
PROGRAMS = {
    "values": "size N; row: index[E] in N; v: f64[E]; x: f64[M]; col: index[E] in M\n"
    "let s[i: N] = sum{e: row[e] = i} (v[e] * sin x[col[e]])\n"
    "y[i: N] = sum{e: row[e] = i} (v[e] * exp(s[row[e]] * x[col[e]]))",
    "guarded": "ptr: index[N + 1] in E + 1 increasing; v: f64[E]; x: f64[M]; col: index[E] in M\n"
    "y[i: 6, k: 2] = if {i >= 3} then (sum{e}_(ptr[i])^(ptr[i + 1] - 1) (v[e] * x[i - 3 + k])) else (0)",
    "pairs": "size N; row: index[E] in N; half: index[E] in 2; v: f64[E]\n"
    "y[i: N, k: 2] = sum{e: row[e] = i and half[e] = k} (sin(v[e] * (i + 3*k)))",
    "asked": "size N; row: index[E] in N; half: index[E] in 2; v: f64[E]; w: f64[F]\n"
    "r: index[F] in N; h: index[F] in 2\n"
    "y[f: F] = sum{e: row[e] = r[f] and half[e] = h[f]} (sin(v[e] * w[f]))",
    "each": "ptr: index[N + 1] in E + 1 increasing; r: index[F] in N; v: f64[E]; w: f64[F]\n"
    "y[k: F] = sum{e}_(ptr[r[k]])^(ptr[r[k] + 1] - 1) (max(v[e], w[k]))",
    "ties": "size N; row: index[E] in N; v: f64[E]\ny[i: N] = max{e: row[e] = i} (v[e])",
    "within": "ptr: index[N + 1] in E + 1 increasing; v: f64[E]; x: f64[M]; col: index[E] in M\n"
    "y = sum{i: N} ((sum{e}_(ptr[i])^(ptr[i + 1] - 1) (v[e] * x[col[e]]))**2)\n"
    "z[k: 3] = sum{e}_(ptr[5])^(ptr[6] - 1) (v[e] * x[col[e]] * x[k])",
}


#: What they are, by loops.
REFERENCES: dict[str, Callable[[], Array]] = {
    "pairs": lambda: np.array([
        [np.sin(V * (i + 3 * k))[(ROW == i) & (HALF == k)].sum() for k in range(2)] for i in range(N)
    ]),
    "asked": lambda: np.array([np.sin(V * w)[(ROW == r) & (HALF == h)].sum() for r, h, w in ASKED]),
    "each": lambda: np.array([np.maximum(V, w)[ROW == r].sum() for r, _, w in ASKED]),
}  # fmt: skip


def cut(f: tadc.Function, target: str = "cpu") -> tadc.Compiled:
    """The kernel that cuts."""
    if target == "cpu":
        return f.compiled_for(Options())
    return tadc.compile(f, target=target)


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Parts of few elements."""
    monkeypatch.setattr(term_catalogue, "CutFibres", partial(term_catalogue.CutFibres, L))
    threads = tadc.get_num_threads()
    yield
    tadc.set_num_threads(threads)


def arguments(f: tadc.Function) -> dict[str, Any]:
    """Those of the function among all."""
    given = {"ptr": PTR, "row": ROW, "col": COL, "half": HALF, "r": R, "h": H, "v": V, "w": W, "x": X}
    return {name: given[name] for name in f.inputs if name in given} | ({"N": N} if "row" in f.inputs else {})


@pytest.mark.parametrize("name", REFERENCES)
def test_ranges_of_pairs_and_of_what_asks(name: str) -> None:
    """Which body and range may depend on, with as many parts of ranges that overlap as there are at most."""
    f = tadc.function(PROGRAMS[name])
    compiled = cut(f)
    assert "y_parts" in [t.tensor.name for t in on_host(compiled.kernel).temporaries]
    np.testing.assert_allclose(compiled(**arguments(f)), REFERENCES[name](), rtol=1e-13)


@pytest.mark.parametrize(
    "kind", ["sum", *(pytest.param(k, marks=pytest.mark.sweep) for k in KINDS if k != "sum")]
)
def test_fibres_of_all_lengths(kind: str) -> None:
    f = cut(tadc.function(CSR.replace("KIND", kind)))
    assert [t.tensor.name for t in on_host(f.kernel).temporaries] == ["y_parts"]
    terms = V * np.sin(X[COL])
    want = [KINDS[kind](terms[ROW == i]) for i in range(N)]
    np.testing.assert_allclose(f(PTR, COL, V, X), want, rtol=1e-13)


@pytest.mark.parametrize(
    "text", [CSR.replace("KIND", kind) for kind in ("sum", "max")] + [*PROGRAMS.values()]
)
def test_derivatives_of_three_orders(text: str) -> None:
    """They are those of whole fibres, with the same bits for two threads."""
    f = tadc.function(text)
    given, random = arguments(f), np.random.default_rng(1)
    for _ in range(3):
        f = tadc.vjp(f)
        compiled = cut(f)
        for name in f.inputs:
            shape = [int(n) if isinstance(n, int) else n.evaluate({"N": N, "E": E, "M": M, "F": len(R)})
                     for n in f.program.shapes()[name]]  # fmt: skip
            given.setdefault(name, random.uniform(0.5, 1, shape))
        whole = f(**given)
        for threads in (1, 2):
            tadc.set_num_threads(threads)
            found = compiled(**given)
            for one, other, wanted in zip(found, compiled(**given), whole, strict=True):
                np.testing.assert_array_equal(one, other)
                np.testing.assert_allclose(one, wanted, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize(
    "text", [CSR.replace("KIND", "sum"), *(PROGRAMS[name] for name in ("values", *REFERENCES))]
)
def test_on_a_gpu(text: str) -> None:
    f = tadc.function(text)
    np.testing.assert_allclose(cut(f, "emulated")(**arguments(f)), f(**arguments(f)), rtol=1e-13)


def test_calls_with_long_fibres_run_a_kernel_that_cuts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Others run code without parts."""
    monkeypatch.setattr(index_arguments, "LONG", 9)
    f = tadc.function(CSR.replace("KIND", "sum").replace("E]", f"{E}]").replace("E + 1", f"{E + 1}"))
    even = np.arange(N + 1) * (E // N)
    terms = V * np.sin(X[COL])
    np.testing.assert_allclose(f(even, COL, V, X), np.add.reduceat(terms[: even[-1]], even[:-1]))
    kernel = on_host(f.compiled().kernel)
    assert not kernel.temporaries
    made: list[Any] = []
    make = kernel.cutting.make
    assert make is not None
    kernel.cutting.make = lambda: made.append(make()) or made[0]
    for threads in (1, 2, 1):
        tadc.set_num_threads(threads)
        np.testing.assert_allclose(f(PTR, COL, V, X), [terms[ROW == i].sum() for i in range(N)])
    assert [[t.tensor.name for t in kernel.temporaries] for kernel in made] == [["y_parts"]]


def test_what_is_not_cut() -> None:
    """Few elements; ranges that indices of a sum ask for."""
    few = f"""ptr: index[N + 1] in {PART} increasing; v: f64[{PART}]
    y[i: N] = sum{{e}}_(ptr[i])^(ptr[i + 1] - 1) (v[e])"""
    each = """ptr: index[N + 1] in E + 1 increasing; col: index[K] in N; v: f64[E]; x: f64[K]
    y = sum{k} (sum{e}_(ptr[col[k]])^(ptr[col[k] + 1] - 1) (max(v[e], x[k])))"""
    for text in (few, each):
        program = tadc.function(text).program
        assert cut_fibres(program) is program


def test_a_kernel_is_not_compiled_for_fibres_that_are_no_parts() -> None:
    assert cut_kernels.LONG >= PART


def test_threads_take_rows_by_their_elements() -> None:
    """Of a power law the first rows have most; some are empty, and results have the same bits."""
    lengths = 20_000 // np.arange(1, 3001) - 8
    ptr = np.concatenate([[0], np.cumsum(np.maximum(lengths, 0))])
    col, v = np.arange(ptr[-1]) % M, RANDOM.uniform(size=ptr[-1])
    f = tadc.compile(tadc.function(CSR.replace("KIND", "sum").replace("sin x", "x")))
    sums = np.diff(np.concatenate([[0], np.cumsum(v * X[col])])[ptr])
    found: list[bytes] = []
    for threads in (1, 2):
        tadc.set_num_threads(threads)
        y = f(ptr, col, v, X)
        np.testing.assert_allclose(y, sums, atol=1e-9)
        found.append(y.tobytes())
    assert found[0] == found[1]


def test_where_rows_are_taken_by_their_elements() -> None:
    """Where they are between elements of an array that increases, of each row one after the other."""
    rows, other = CSR.replace("KIND", "sum"), "i: index[N + 1] in E; x: f64[E]"
    unsorted = f"{other}\ny[n: N] = sum{{e}}_(i[n])^(i[n + 1] - 1) (x[e])"
    turned = CSR.replace("KIND", "sum").replace("i]", "N - 1 - i]").replace("[i + 1]", "[N - i]")
    few = f"{rows.replace('y[i: N] = ', 'y[i: 2*N] = if {i < N} then (')}) else (0)"
    for text, spread in (
        (rows, True),
        (few, False),
        (unsorted, False),
        (turned.replace("y[N - 1 - i", "y[i"), False),
    ):
        assert (".spread(" in tadc.function(text).lower().as_text("loops")) is spread, text
