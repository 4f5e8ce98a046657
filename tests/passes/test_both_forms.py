"""Rows by `ptr`, as in CSR, and by `dst`, as in COO, cost the same: steps of reductions are counted."""

from __future__ import annotations

import numpy as np
import pytest

import tadc
from tadc.analysis.statistics import compiled_form
from tadc.frontend.program import Program
from tadc.frontend.terms import Reduce, reachable, tensors_read
from tests.fuzz.rows import by_dst, generate
from tests.reference.counted_steps import Arrays, count

pytestmark = pytest.mark.filterwarnings("ignore::tadc.CompileWarning")

SIZES = {"N": 8, "E": 24, "K": 2}
#: More elements than any tensor of these programs has.
MOST = 10**4
ROWS = {
    "ptr": ("ptr: index[N + 1] in E + 1 increasing", "sum{e}_(ptr[v])^(ptr[v + 1] - 1)"),
    "dst": ("dst: index[E] in N", "sum{e: dst[e] = v}"),
}
MESSAGES = {
    "max": "max(s[e] + r[v], 0.1*(s[e] + r[v]))",
    "select": "select(s[e] + r[v] > 0, s[e] + r[v], 0.1*(s[e] + r[v]))",
    "tanh": "s[e] * tanh(s[e] * r[v])",
    "softplus": "log(1 + exp(s[e] + r[v])) * r[v]",
}


def index_arrays(hub: bool) -> Arrays:
    """Rows of one length, or one that has nearly all edges."""
    n, edges = SIZES["N"], np.arange(SIZES["E"])
    dst = np.sort(np.where(edges < len(edges) - n, 2, edges % n) if hub else edges % n)
    sources = np.random.default_rng(0).permutation(edges % n)
    return {"ptr": np.searchsorted(dst, np.arange(n + 1)), "dst": dst, "j": sources}


def compiled(text: str, order: int) -> Program:
    """The program of a derivative as it goes to the code generator."""
    function = tadc.function(text)
    for _ in range(order):
        function = tadc.vjp(function)
    return compiled_form(function.at({name: SIZES[name] for name in function.program.sizes}).program, "value")


def steps(text: str, order: int) -> list[int]:
    """The steps where rows have one length, and where there is a hub."""
    form = compiled(text, order)
    return [count(form, index_arrays(hub), MOST) for hub in (False, True)]


@pytest.mark.parametrize("order", [0, 1])
@pytest.mark.parametrize("name", MESSAGES)
def test_messages(name: str, order: int) -> None:
    """What an edge tells its node takes as many steps in either form."""
    texts = (
        f"{declared}; s: f64[E]; r: f64[N]; y[v: N] = {over} ({MESSAGES[name]})"
        for declared, over in ROWS.values()
    )
    by_ptr, by_dst = (steps(text, order) for text in texts)
    assert by_ptr == by_dst


def test_what_a_product_over_edges_has_of_the_node() -> None:
    """It is computed for each node, and not for each edge, where the product's elements are stored, too."""
    texts = (
        f"{declared}; s: f64[E]; r: f64[N]; h: f64[K]; "
        f"y[v: N] = {over.replace('sum', 'prod')} (s[e] * max{{k}} (r[v] * h[k]))"
        for declared, over in ROWS.values()
    )
    by_ptr, by_dst = (steps(text, 1) for text in texts)
    assert by_ptr == by_dst


@pytest.mark.parametrize(
    ("form", "sizes"),
    [("ptr", {}), ("dst", {}), ("dst", {"N": 10**5, "E": 10**6})],
    ids=["ptr", "dst", "large"],
)
@pytest.mark.parametrize("name", ["max", "select"])
def test_the_gradient_by_nodes_adds_up_that_by_edges(name: str, form: str, sizes: dict[str, int]) -> None:
    """Both are of values for each edge, which are computed once."""
    declared, over = ROWS[form]
    made = tadc.vjp(tadc.function(f"{declared}; s: f64[E]; r: f64[N]; y[v: N] = {over} ({MESSAGES[name]})"))
    written = compiled_form(made.at(sizes).program, "value")
    by_nodes = next(d.body for d in written.definitions if d.name == "dr")
    sums = [term for term in reachable([by_nodes]) if isinstance(term, Reduce)]
    arrays = written.index_arrays().keys()
    assert sums
    assert all(len(tensors_read([term.body]) - arrays) == 1 for term in sums), name


@pytest.mark.parametrize("seed", range(60))
def test_random_programs(seed: int) -> None:
    """Nearly the same, where a factor of a whole row is taken out of it in one form alone."""
    program, sizes = generate(seed)
    for order in (0, 1):
        forms = (str(program), str(by_dst(program, sizes)))
        for by_ptr, by_dst_ in zip(*(steps(text, order) for text in forms), strict=True):
            assert max(by_ptr, by_dst_) <= 2.2 * min(by_ptr, by_dst_) + 24, (order, program)
