"""No tensor of a derivative is much larger than what goes in and comes out, of programs with index arrays."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import tadc
from bench.sparse import SPARSE
from tadc.frontend.extents import as_form
from tests.conformance import (
    test_index_arrays,
    test_sparse_elements,
    test_sparse_index_arrays,
    test_sparse_places,
    test_sparse_products,
)
from tests.fuzz.rows_compare import measured
from tests.pages import blocks

pytestmark = pytest.mark.filterwarnings("ignore::tadc.CompileWarning")

ROOT = Path(__file__).parent.parent.parent
#: The first of the sizes that count nodes, and of those that count edges; others follow.
NODES, EDGES = 1000, 4000
#: The size of what no index array says, as features.
FEW = 3


def programs() -> Iterator[tuple[str, str]]:
    """Texts of programs with index arrays, with names."""
    yield "examples/graph.tad", (ROOT / "examples" / "graph.tad").read_text(encoding="utf-8")
    for page in ("index-arrays", "language"):
        for block in blocks(ROOT / "docs" / f"{page}.md"):
            if block.kind == "tad" and ": index[" in block.text:
                yield f"docs/{page}.md:{block.line}", block.text
    yield from ((f"bench: {workload.name}", workload.program) for workload in SPARSE)
    yield from ((f"index arrays: {name}", case.text) for name, case in test_index_arrays.CASES.items())
    for module in (test_sparse_index_arrays, test_sparse_places):
        for table in (getattr(module, name, {}) for name in ("CASES", "HESSIANS", "JACOBIANS", "PAIRS")):
            yield from ((f"places: {name}", case[0]) for name, case in table.items())
    head = test_sparse_products.HEAD
    yield from (
        (f"products: {name}", head + text) for name, (text, _) in test_sparse_products.PROGRAMS.items()
    )
    yield from (
        (f"elements: {text}", test_sparse_elements.HEAD + text) for text in test_sparse_elements.PROGRAMS
    )


#: A definition that is written as a table of all pairs of nodes.
DENSE = "places: two arrays at once"
PROGRAMS = {name: text for name, text in programs() if name != DENSE}


def sizes_of(function: tadc.Function) -> dict[str, int]:
    """Many nodes, more edges, a few of all else."""
    arrays = function.program.index_arrays().values()
    nodes = frozenset[str]().union(*(as_form(array.below or 0).variables for array in arrays))
    edges = frozenset[str]().union(*(as_form(size).variables for array in arrays for size in array.shape))
    many = {name: NODES + n for n, name in enumerate(sorted(nodes))}
    many |= {name: EDGES + n for n, name in enumerate(sorted(edges - nodes))}
    return {name: many.get(name, FEW) for name in function.program.sizes}


@pytest.mark.parametrize("name", PROGRAMS)
def test_two_orders(name: str) -> None:
    function = tadc.function(PROGRAMS[name])
    assert measured(PROGRAMS[name], 2, sizes_of(function)) is None


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_three_orders(name: str) -> None:
    function = tadc.function(PROGRAMS[name])
    assert measured(PROGRAMS[name], 3, sizes_of(function)) is None


def test_pairs_in_one_fibre() -> None:
    """Of all pairs of elements of a sparse matrix few are in one column: those are no tensor."""
    text = PROGRAMS["products: a Gram matrix at a pattern"]
    assert measured(text, 1, sizes_of(tadc.function(text))) is None


ROWS = {
    "ptr": ("ptr: index[N + 1] in E + 1 increasing", "sum{e}_(ptr[v])^(ptr[v + 1] - 1)"),
    "dst": ("dst: index[E] in N", "sum{e: dst[e] = v}"),
}
LEAKY = {
    "max": "max(s[e] + r[v], 0.1*(s[e] + r[v]))",
    "select": "select(s[e] + r[v] > 0, s[e] + r[v], 0.1*(s[e] + r[v]))",
}


@pytest.mark.parametrize("way", LEAKY)
@pytest.mark.parametrize("form", ROWS)
def test_leaky_rectifiers_of_edges(form: str, way: str) -> None:
    """At any order nothing is stored for all pairs of a node and an edge."""
    declared, over = ROWS[form]
    text = f"{declared}; s: f64[E]; r: f64[N]; y[v: N] = {over} ({LEAKY[way]})"
    assert measured(text, 3) is None
