"""What blocks cost, against what one counts by hand, and where more workers gain nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import tadc
from tests.blocks.test_index_arrays import CSR, ELL, GRAPH, LAYERS, SIZES, arguments, indices_of

SLIDING = "x: f64[N]; w: f64[3]; y[i: N - 2] = sum{k} (w[k]*x[i + k])"
PRODUCT = "a: f64[N, K]; b: f64[K, M]; c[i, j] = sum{k} (a[i, k]*b[k, j])"


def test_halos_of_a_window() -> None:
    """Two places of 8 bytes of the next block for each block but the last, whose own they are."""
    found = tadc.function(SLIDING).block(i=100).traffic(N=1002)
    stage = found.stages[0]
    assert (stage.blocks, stage.moved, stage.copied, stage.written) == (10, 9 * 2 * 8, 3 * 8, 1000 * 8)
    assert stage.own == 1002 * 8
    assert found.memory == 8 * (102 + 3 + 100)


def test_gradients_have_parts_of_sums() -> None:
    f = tadc.value_and_vjp(tadc.function(SLIDING))
    stage = f.block(i=100).traffic(N=1002).stages[0]
    assert stage.joined == stage.blocks * 3 * 8
    assert (
        stage.operations == tadc.statistics(tadc.function(SLIDING), sizes={"N": 1002}).gradients.work.weighted
    )


def test_rows_and_columns_of_a_product() -> None:
    """The first block of a row owns its rows of a, others get them from there."""
    stage = tadc.function(PRODUCT).block(i=10, j=20).traffic(N=40, K=7, M=60).stages[0]
    assert stage.blocks == 12
    assert stage.own == 8 * 7 * (40 + 60)
    assert stage.moved == 8 * 7 * (40 * 2 + 60 * 3)


def test_more_workers_than_a_scheduler_serves() -> None:
    """With a block for each of 1,000 workers, whoever hands them out is what takes time."""
    found = tadc.function(SLIDING).block(i=10**6).traffic(workers=1000, N=10**9)
    seconds = found.simulated((1, 10, 1000), seconds_per_task=1e-3, operations_per_second=1e9)
    assert seconds[1] > 6
    assert 1 < seconds[1000] < 1.2
    assert found.operations < 10**7


def test_the_table() -> None:
    text = str(tadc.function(SLIDING).block().traffic(workers=1000, N=10**9))
    assert "blocks on 1,000 workers" in text
    assert "15 MiB" in text


def test_too_many_blocks() -> None:
    with pytest.raises(tadc.CompileError, match="longer blocks"):
        tadc.function(SLIDING).block(i=10).traffic(N=10**9)
    with pytest.raises(tadc.CompileError, match="`N` is missing"):
        tadc.function(SLIDING).block(i=10).traffic()


def _graph_in_python(a: dict[str, Any], nodes: range) -> int:
    """A product and a sum for each edge that ends in a block, and each column."""
    return sum(2 * SIZES["C"] for end in a["dst"] if end in nodes)


def _layers_in_python(a: dict[str, Any], nodes: range) -> int:
    """Such sums for the nodes and for where their edges start, each once with a `tanh`; and a sum."""
    edges = list(zip(a["src"], a["dst"], strict=True))
    starts = {start for start, end in edges if end in nodes}
    inner = sum(2 for _, end in edges if end in starts) + 10 * len(starts)
    return inner + sum(2 for _, end in edges if end in nodes) + len(nodes)


def _rows_in_python(a: dict[str, Any], rows: range) -> int:
    return sum(2 for n in rows for _ in range(a["ptr"][n], a["ptr"][n + 1]))


def _gradient_in_python(a: dict[str, Any], columns: range) -> int:
    """Whatever is stored in the columns of a block."""
    stored = (q for n in range(SIZES["N"]) for q in range(a["ptr"][n], a["ptr"][n + 1]))
    return sum(2 for q in stored if a["col"][q] in columns)


def _triangular_in_python(a: dict[str, Any], edges: range) -> int:
    """What is shared by the steps of a sum is computed once, a guard does one of two."""
    steps = [range(max(0, a["src"][e] - e), 3) for e in edges]
    guarded = sum(0 if a["src"][e] > 2 else 10 for e in edges)
    return len(edges) + guarded + sum(len(own) + (10 if own else 0) for own in steps)


TRIANGULAR = """
src: index[E] in N
x: f64[N]
y[e] = sum{k: 3: k >= src[e] - e} (sin(x[src[e]])) + if {src[e] > 2} then (0) else (exp(x[src[e]]))
"""


@pytest.mark.parametrize(
    ("text", "wrt", "lengths", "counted"),
    [
        (GRAPH, None, {"n": 6}, _graph_in_python),
        (LAYERS, None, {"n": 6}, _layers_in_python),
        (CSR, None, {"n": 5}, _rows_in_python),
        (CSR, "x", {"x_0": 5}, _gradient_in_python),
        (TRIANGULAR, None, {"e": 7}, _triangular_in_python),
    ],
)
def test_operations_of_blocks_by_their_index_arrays(
    text: str, wrt: str | None, lengths: dict[str, int], counted: Callable[[dict[str, Any], range], int]
) -> None:
    """Against loops in Python over all elements; without index arrays they are estimated, and say so."""
    f = tadc.function(text)
    f = f if wrt is None else tadc.vjp(f, wrt=wrt)
    block, a = f.block(**lengths), arguments(f)
    given = indices_of(f, a)
    places = [task.places[0] for s in block.plan(**given).stages for task in map(s.task, s.cells)]
    found = block.traffic(workers=len(places), **given)
    (stage,) = found.stages
    assert stage.each == tuple(counted(a, own) for own in places)
    assert (stage.operations, found.operations) == (sum(stage.each), max(stage.each))
    assert "estimated" not in str(found)
    assert block.traffic(**SIZES).stages[0].counted == "estimated"
    assert "estimated" in str(block.traffic(**SIZES))


def test_operations_that_no_element_tells_are_exact() -> None:
    stage = tadc.function(ELL).block(i=4).traffic(**SIZES).stages[0]
    assert (stage.counted, stage.operations) == ("exact", 2 * SIZES["N"] * SIZES["K"])


def test_estimates_of_large_graphs_are_near() -> None:
    """Of the edges of a graph, not of all pairs of a node and an edge."""
    stage = tadc.function(GRAPH).block(n=1000).traffic(N=10**5, E=10**6, C=2).stages[0]
    assert stage.operations == 2 * 2 * 10**6
