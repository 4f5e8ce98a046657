"""Blocks of programs with index arrays: lists of what each reads, against NumPy and the single run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import dask.array
import numpy as np
import pytest
from dask.base import compute
from numpy.typing import NDArray

import tadc
from tadc.apps.blocks.block_places import PlaceList
from tadc.apps.blocks.box_certificate import witnesses

Array = NDArray[Any]

#: Dask's own types are of no use here.
da: Any = dask.array

ELL = "a: f64[N, K]; col: index[N, K] in M; x: f64[M]; y[i] = sum{k} (a[i, k]*x[col[i, k]])"
GRAPH = """
src: index[E] in N
dst: index[E] in N
w: f64[E]
x: f64[N, C]
y[n: N, c] = sum{e: dst[e] = n} (w[e]*x[src[e], c])
"""
CSR = """
ptr: index[N + 1] in E + 1 increasing
col: index[E] in M
a: f64[E]
x: f64[M]
y[n: N] = sum{q}_(ptr[n])^(ptr[n + 1] - 1) (a[q]*x[col[q]])
"""
ROWS = """
ptr: index[N + 1] in E + 1 increasing
col: index[E] in M
a: f64[E]
ptrb: index[M + 1] in F + 1 increasing
colb: index[F] in K
b: f64[F]
x: f64[K]
y[n: N] = sum{q}_(ptr[n])^(ptr[n + 1] - 1) (
    a[q]*sum{r}_(ptrb[col[q]])^(ptrb[col[q] + 1] - 1) (b[r]*x[colb[r]]))
"""
SPRINGS = """
i: index[E] in N
j: index[E] in N
x: f64[N, 3]
rest: f64[E]
let length[e] = sqrt(sum{c: 3} ((x[i[e], c] - x[j[e], c])**2))
energy = sum{e} ((length[e] - rest[e])**2) / 2
"""
LAYERS = """
src: index[E] in N
dst: index[E] in N
w: f64[E]
x: f64[N]
let h[n: N] = tanh(sum{e: dst[e] = n} (w[e]*x[src[e]]))
y[n: N] = x[n] + sum{e: dst[e] = n} (w[e]*h[src[e]])
"""
NESTED = """
p: index[E] in N
i: index[N] in M
x: f64[M]
z: f64[M]
y[e] = x[i[p[e]]]*z[i[p[e]]] + x[i[p[e]]]**2
"""
TRIANGLES = """
tri: index[F, 3] in N
x: f64[N]
u: f64[F]
y[n: N] = sum{f, k: tri[f, k] = n} (u[f]*x[tri[f, 0]])
"""
WINDOWS = "src: index[E] in N; w: f64[K]; x: f64[N + K - 1]; y[e] = sum{k} (w[k]*x[src[e] + k])"
FARTHER = """
src: index[E] in N
z: f64[N]
w: f64[K]
x: f64[2*N + K]
y[e, k] = w[k]*x[2*src[e] + k + 1]*x[2*N - 2*src[e]]*z[src[e]]
"""
ONE = "s: index in N; src: index[E] in N; x: f64[N]; y[e] = x[src[e]]*x[s]"
SELF = "row: index[E] in N; w: f64[E]; x: f64[N]; y[n: N] = x[n]*sum{e: row[e] = n} (w[e]*x[row[e]])"

SIZES = {"N": 23, "E": 40, "M": 19, "K": 3, "C": 2, "F": 17}


def arguments(f: tadc.Function, seed: int = 0, **sizes: int) -> dict[str, Any]:
    """Arrays for f, index arrays of any elements."""
    rng = np.random.default_rng(seed)
    values = {**SIZES, **sizes}
    found: dict[str, Any] = {}
    for a in f.program.arguments:
        shape = tuple(n if isinstance(n, int) else n.evaluate(values) for n in a.shape)
        if a.below is None:
            found[a.name] = rng.uniform(-1, 1, shape)
        else:
            below = a.below if isinstance(a.below, int) else a.below.evaluate(values)
            drawn = rng.integers(0, max(1, below), shape)
            found[a.name] = np.sort(drawn) if a.increasing else drawn
            if a.increasing:
                found[a.name][[0, -1]] = 0, below - 1
    return found


def indices_of(f: tadc.Function, given: Mapping[str, Any]) -> dict[str, Any]:
    """What a plan takes: index arrays, and the sizes of other arrays."""
    return {name: given[name] for name in f.program.index_arrays()} | SIZES


def several(results: Any) -> list[Array]:
    return list(results) if isinstance(results, tuple) else [np.asarray(results)]


#: Programs, the index that is divided, whether it is a gradient by x, and whether sums are in the same order.
CASES: dict[str, tuple[str, dict[str, int], bool, bool]] = {
    "ell": (ELL, {"i": 4}, False, False),
    "ell, gradient": (ELL, {"x_0": 4}, True, True),
    "graph": (GRAPH, {"n": 4}, False, True),
    "graph, gradient": (GRAPH, {"x_0": 4}, True, True),
    "graph, nodes and features": (GRAPH, {"n": 5, "c": 1}, False, True),
    "csr": (CSR, {"n": 4}, False, True),
    "csr, gradient": (CSR, {"x_0": 4}, True, True),
    "csr, gradient by what is stored": (CSR, {"q": 7}, True, True),
    "csr, several gradients": (CSR, {"x_0": 4, "q": 7}, True, True),
    "rows of rows": (ROWS, {"n": 4}, False, False),
    "rows of rows, gradient": (ROWS, {"x_0": 2}, True, True),
    "windows": (WINDOWS, {"e": 6}, False, False),
    "windows, gradient": (WINDOWS, {"x_0": 4}, True, False),
    "windows, gradient by weights": (WINDOWS, {"k": 2}, True, True),
    "farther windows": (FARTHER, {"e": 6, "k": 2}, False, True),
    "springs, gradient": (SPRINGS, {"x_0": 4}, True, True),
    "springs, energy": (SPRINGS, {"e": 7}, False, False),
    "layers": (LAYERS, {"n": 4}, False, True),
    "layers, gradient": (LAYERS, {"x_0": 4}, True, False),
    "nested": (NESTED, {"e": 6}, False, True),
    "triangles": (TRIANGLES, {"n": 4}, False, True),
    "itself": (SELF, {"n": 4}, False, True),
}


def function_of(name: str) -> tadc.Function:
    text, blocks, is_gradient, _ = CASES[name]
    f = tadc.function(text)
    by = {"q": "a", "k": "w", "x_0": "x"}
    return tadc.vjp(f, wrt=[by[index] for index in blocks]) if is_gradient else f


@pytest.mark.parametrize("name", CASES)
def test_blocks_are_the_whole(name: str) -> None:
    """By f.block, and by Dask, whose arrays have other chunks."""
    f = function_of(name)
    _, lengths, _, is_same = CASES[name]
    block = f.block(**lengths)
    assert block.has_lists
    given = arguments(f)
    found = several(block(**given))
    for want, got in zip(several(f(**given)), found, strict=True):
        if is_same:
            np.testing.assert_array_equal(got, want)
        else:
            np.testing.assert_allclose(got, want, 1e-13, 1e-14)
    indices = f.program.index_arrays()
    lazy = {n: a if n in indices or not a.ndim else da.from_array(a, chunks=5) for n, a in given.items()}
    results = f.dask(**lazy, chunks=lengths)
    computed = compute(*(results if isinstance(results, tuple) else (results,)), scheduler="threads")
    for one, other in zip(found, computed, strict=True):
        np.testing.assert_array_equal(one, other)


def test_an_index_without_dimensions() -> None:
    """Every block may read the element there, and one of the gradient gets what it gives."""
    f = tadc.function(ONE)
    g, given = tadc.vjp(f, wrt="x"), arguments(f)
    np.testing.assert_array_equal(f.block(e=6)(**given), given["x"][given["src"]] * given["x"][given["s"]])
    dy = np.random.default_rng(1).uniform(size=40)
    want = np.zeros(23)
    np.add.at(want, given["src"], dy * given["x"][given["s"]])
    want[given["s"]] += (dy * given["x"][given["src"]]).sum()
    np.testing.assert_allclose(g.block(x_0=4)(**given, dy=dy), want, 1e-13, 1e-14)


def test_rows_of_a_matrix() -> None:
    """Of x the columns that rows of a block have, each once, in order."""
    f = tadc.function(ELL)
    block = f.block(i=4)
    given = arguments(f)
    want = (given["a"] * given["x"][given["col"]]).sum(1)
    np.testing.assert_allclose(block(**given), want, 1e-14)
    boxes = block.boxes(**indices_of(f, given))
    for n, box in enumerate(boxes):
        rows = slice(4 * n, min(4 * n + 4, 23))
        assert box["a"] == (rows, slice(0, 3))
        (places,) = box["x"]
        np.testing.assert_array_equal(places, np.unique(given["col"][rows]))
    assert str(block) == (
        "a: f64[i_size, K]\nx: f64[x_size]\ncol_in_x: index[i_size, K] in x_size\ny: f64[i_size]\n\n"
        "y[i] = sum{k}_0^(K - 1) (a[i, k] * x[col_in_x[i, k]])\n"
    )


def test_edges_that_end_in_a_block() -> None:
    """A block of nodes has these and no others, and of x where they begin; of a gradient, where they end."""
    f = tadc.function(GRAPH)
    given = arguments(f)
    src, dst = given["src"], given["dst"]
    want = np.zeros((23, 2))
    np.add.at(want, dst, given["w"][:, None] * given["x"][src])
    np.testing.assert_allclose(f.block(n=4)(**given), want, 1e-13, 1e-14)
    for n, box in enumerate(f.block(n=4).boxes(**indices_of(f, given))):
        edges = np.flatnonzero((dst >= 4 * n) & (dst < 4 * n + 4))
        np.testing.assert_array_equal(np.arange(40)[box["w"][0]], edges)
        np.testing.assert_array_equal(np.arange(23)[box["x"][0]], np.unique(src[edges]))
    g = tadc.vjp(f, wrt="x")
    dy = np.random.default_rng(1).uniform(size=(23, 2))
    want = np.zeros((23, 2))
    np.add.at(want, src, given["w"][:, None] * dy[dst])
    edges_given = given | {"dy": dy}
    np.testing.assert_allclose(g.block(x_0=4)(**edges_given), want, 1e-13, 1e-14)
    for n, box in enumerate(g.block(x_0=4).boxes(**indices_of(g, edges_given))):
        edges = np.flatnonzero((src >= 4 * n) & (src < 4 * n + 4))
        np.testing.assert_array_equal(np.arange(40)[box["w"][0]], edges)
        np.testing.assert_array_equal(np.arange(23)[box["dy"][0]], np.unique(dst[edges]))


def test_a_block_of_a_graph_is_a_program_of_a_graph() -> None:
    """Its nodes are those of two layers around the block; nothing of it is as large as the whole."""
    block = tadc.function(LAYERS).block(n=100)
    assert "[N]" not in str(block)
    assert "[E]" not in str(block)
    assert str(tadc.function(str(block))) == str(block)


def test_no_edges_and_equal_ones() -> None:
    """Nodes without an edge, edges that are there twice, graphs without edges, blocks that read nothing."""
    for text in (GRAPH, LAYERS, SELF):
        f = tadc.function(text)
        for edges in (0, 1, 60):
            given = arguments(f, E=edges, N=9)
            for name in f.program.index_arrays():
                given[name] = given[name] % 3 + 4
            np.testing.assert_array_equal(f.block(n=2)(**given), f(**given))
            np.testing.assert_array_equal(f.block(n=(3, 1, 5))(**given), f(**given))


def test_empty_rows() -> None:
    """Rows of `ptr` that have nothing, and elements before the first row and behind the last one."""
    f = tadc.function(CSR)
    given = arguments(f)
    given["ptr"] = np.array([3] * 10 + [17] * 10 + [30] * 4)
    np.testing.assert_array_equal(f.block(n=4)(**given), f(**given))


def test_what_is_listed_once() -> None:
    """A call with the same elements has the plan of the last one, one with others its own."""
    f = tadc.function(GRAPH)
    given = arguments(f)
    block = f.block(n=4)
    indices = indices_of(f, given)
    plan = block.plan(**indices)
    assert block.plan(**indices) is plan
    block(**given)
    assert block.plan(**indices) is plan
    given["src"][3] += 1
    np.testing.assert_array_equal(block(**given), f(**given))
    assert block.plan(**indices_of(f, given)) is not plan
    relations = {name: tadc.relation(given[name], 23) for name in ("src", "dst")}
    np.testing.assert_array_equal(block(**given | relations), f(**given))


def test_elements_that_are_no_indices() -> None:
    f = tadc.function(GRAPH)
    given = arguments(f)
    given["src"][7] = 23
    with pytest.raises(tadc.ArgumentError, match="TAD0511"):
        f.block(n=4)(**given)
    given["src"] = given["src"] * 1.0
    with pytest.raises(tadc.ArgumentError, match="TAD0504"):
        f.block(n=4)(**given)


def test_bytes_that_move() -> None:
    """A ring of nodes: each block needs one node of each of its neighbours, and not more."""
    f = tadc.function(GRAPH)
    ring = np.arange(1000)
    src, dst = np.concatenate([ring, ring]), np.concatenate([np.roll(ring, 1), np.roll(ring, -1)])
    given = {"src": src, "dst": dst, "w": np.ones(2000), "x": np.ones((1000, 4))}
    block = f.block(n=100)
    whole = block.traffic(N=1000, E=2000, C=4).stages[0]
    listed = block.traffic(N=1000, E=2000, C=4, src=src, dst=dst).stages[0]
    assert whole.copied == 8 * (2000 + 4000) + 4 * 4000
    assert listed.copied == 0
    for box in block.boxes(N=1000, E=2000, C=4, src=src, dst=dst):
        assert len(np.arange(1000)[box["x"][0]]) == 102
    np.testing.assert_array_equal(block(**given), np.full((1000, 4), 2.0))


def test_a_plan_without_index_arrays() -> None:
    """It has all that they may say."""
    block = tadc.function(GRAPH).block(n=4)
    assert block.boxes(**SIZES)[0]["x"] == (slice(0, 23), slice(0, 2))


def test_conditions_that_keep_a_read_in_range() -> None:
    """An index that runs over a list of edges may be no place of what is read at some of them."""
    f = tadc.function("""
    ptr: index[N + 1] in E + 1 increasing
    a: f64[E]
    c: f64[K]
    y[n: N] = sum{q}_(ptr[n])^(ptr[n + 1] - 1) (if {q < K} then (a[q]*c[q]) else (a[q]))
    """)
    given = arguments(f)
    np.testing.assert_array_equal(f.block(n=4)(**given), f(**given))


@pytest.mark.parametrize("name", CASES)
def test_each_place_of_a_list_is_read(name: str) -> None:
    """And each place that is read is in its list; of a list of fewer places the certificate says so."""
    f = function_of(name)
    block = f.block(**CASES[name][1])
    given = indices_of(f, arguments(f))
    assert all(w.point is not None and w.is_inside for w in block.certificate(**given))
    stage = block.plan(**given).stages[0]
    for task in map(stage.task, stage.cells):
        for tensor, box in task.reads.items():
            for d, places in enumerate(box):
                if tensor not in given and isinstance(places, PlaceList):
                    fewer = (*box[:d], PlaceList(places.array[1:]), *box[d + 1 :])
                    less = replace(task, reads={**task.reads, tensor: fewer})
                    (missing,) = [w for w in witnesses(stage, less) if not w.is_inside]
                    assert (missing.tensor, missing.dimension, missing.place) == (tensor, d, places[0])
                    return


def test_data_on_disk(tmp_path: Any) -> None:
    """Only what blocks list is read."""
    f = tadc.function(ELL)
    given = arguments(f)
    mapped = {}
    for name in ("a", "x"):
        mapped[name] = np.memmap(tmp_path / name, np.float64, "w+", shape=given[name].shape)
        mapped[name][:] = given[name]
    np.testing.assert_array_equal(f.block(i=4)(**given | mapped), f.block(i=4)(**given))
