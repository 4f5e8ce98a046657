"""Blocks of programs: against the whole function, and boxes that nothing can be left out of."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import tadc
from tadc.frontend.extents import shape_at

Array = NDArray[Any]
Derived = Callable[[tadc.Function], tadc.Function]


@dataclass(frozen=True)
class Case:
    """A program, in blocks, at sizes; `joined` are the results that are made of parts of sums."""

    text: str
    blocks: Mapping[str, int]
    sizes: Mapping[str, int]
    derived: Derived | None = None
    stages: int = 1
    joined: tuple[str, ...] = ()

    @property
    def function(self) -> tadc.Function:
        f = tadc.function(self.text)
        return f if self.derived is None else self.derived(f)

    def arguments(self, f: tadc.Function) -> dict[str, Any]:
        rng = np.random.default_rng(3)
        found: dict[str, Any] = {}
        for a in f.program.arguments:
            shape = shape_at(a.shape, self.sizes)
            if a.below is None:
                found[a.name] = rng.uniform(-1, 1, shape)
            else:
                found[a.name] = rng.integers(0, shape_at([a.below], self.sizes)[0], shape)
        return found | {name: self.sizes[name] for name in f.program.unbound_sizes()}


SLIDING = "x: f64[N]; w: f64[3]; y[i: N - 2] = sum{k} (w[k]*x[i + k])"
PADDED = "x: f64[N]; w: f64[3]; y[i: N] = sum{k}_(max [0; 1 - i])^(min [2; N - i]) (w[k]*x[i + k - 1])"
LAPLACE = """
x: f64[N, M]
y[i, j] = if {i >= 1 and i <= N - 2 and j >= 1 and j <= M - 2} then (
    x[i - 1, j] + x[i + 1, j] + x[i, j - 1] + x[i, j + 1] - 4*x[i, j]) else (0)
"""
PRODUCT = "a: f64[N, K]; b: f64[K, M]; c[i, j] = sum{k} (a[i, k]*b[k, j])"
SOFTMAX = "x: f64[N]; let m = max{i} (x[i]); let s = sum{i} (exp(x[i] - m)); y[i] = exp(x[i] - m)/s"
ATTENTION = """
q: f64[N, D]
k: f64[M, D]
v: f64[M, D]
let s[i, j] = sum{d} (q[i, d]*k[j, d])
let z[i] = logsumexp{j} (s[i, j])
o[i, d] = sum{j} (exp(s[i, j] - z[i])*v[j, d])
"""
EDGES = """
x: f64[N]
src: index[E] in N
dst: index[E] in N
w: f64[E]
m[n: N] = sum{e: dst[e] = n} (w[e]*x[src[e]])
"""
HEAT = """
u0: f64[N]
size T
scan{t} u[t: T, i: N] = if {t = 0} then (u0[i]) else (
    if {i >= 1 and i <= N - 2} then (u[t - 1, i] + 0.1*(u[t - 1, i - 1] - 2*u[t - 1, i] + u[t - 1, i + 1]))
    else (u[t - 1, i]))
"""
TWO_STEPS = """
x: f64[N]
scan{t} s[t] = if {t <= 1} then (x[t]) else (sin(s[t - 1])*s[t - 2] + x[t])
z[t: N] = s[t]**2
"""
LAST = "x: f64[N]; let scan{t} s[t: N] = if {t = 0} then (x[0]) else (tanh(s[t - 1]) + x[t]); y = s[N - 1]"
SERIES = "x: f64[T, B]; scan{t} y[t, b] = if {t = 0} then (x[0, b]) else (0.9*y[t - 1, b] + x[t, b])"

BODIES = "x: f64[N, 3]; y[i] = sum{j} (1/(1 + sum{d} ((x[i, d] - x[j, d])**2)))"
ENERGY = "x: f64[N]; e = sum{i, j} (x[i]*x[j]*(x[i] - x[j])**2)"
TWICE = """
x: f64[N]; let u[i: N] = sum{j} (if {i != j} then (sin(x[i] - x[j])) else (0))
y[i] = sum{j} (u[i]*exp(u[j]/N)) + x[i]; t = sum{j} (x[j])
"""

CASES = {
    "sliding": Case(SLIDING, {"i": 7}, {"N": 50}),
    "sliding, gradient": Case(SLIDING, {"i": 7}, {"N": 50}, tadc.value_and_vjp, joined=("dw",)),
    "sliding, second": Case(SLIDING, {"x_0": 8}, {"N": 40}, lambda f: tadc.vjp(tadc.vjp(f)), stages=2),
    "padded": Case(PADDED, {"i": 6}, {"N": 23}, tadc.value_and_vjp, joined=("dw",)),
    "difference": Case(
        "x: f64[N]; y[i: N - 1] = x[i + 1]**2 - x[i]", {"i": 4}, {"N": 19}, tadc.value_and_vjp
    ),
    "in between": Case(
        "x: f64[N]; let h[i] = x[i]**2; y[i: N] = if {i >= 1} then (h[i] - h[i - 1]) else (h[i])",
        {"i": 7},
        {"N": 30},
    ),
    "read by others": Case(
        "x: f64[N]; y[i: N] = sin(x[i]); z[i: N - 1] = y[i + 1]*y[i]", {"i": 5}, {"N": 21}, tadc.value_and_vjp
    ),
    "read by others in part": Case(
        "x: f64[N, N]; y[i: N, k: N] = sin(x[i, k]); z[i: N - 1] = y[i + 1, i + 1]*y[i, i]",
        {"i": 5},
        {"N": 21},
    ),
    "five points": Case(LAPLACE, {"i": 4, "j": 3}, {"N": 10, "M": 12}, tadc.value_and_vjp),
    "product": Case(
        PRODUCT, {"i": 7, "j": 5}, {"N": 20, "K": 11, "M": 31}, tadc.value_and_vjp, joined=("da", "db")
    ),
    "softmax": Case(SOFTMAX, {"i": 7}, {"N": 50}, stages=3, joined=("y",)),
    "softmax, gradient": Case(SOFTMAX, {"i": 7}, {"N": 50}, tadc.value_and_vjp, stages=7, joined=("y", "dx")),
    "attention": Case(
        ATTENTION, {"i": 4}, {"N": 10, "M": 12, "D": 3}, tadc.value_and_vjp, joined=("dk", "dv")
    ),
    "mean": Case("x: f64[N]; s = sum{i} (x[i]**2)/N", {"i": 7}, {"N": 50}, stages=2, joined=("s",)),
    "largest": Case("x: f64[N]; s = max{i} (x[i])", {"i": 7}, {"N": 50}),
    "reflected": Case(
        "x: f64[N]; y[i: N] = x[N - 1 - i]*2", {"i": 4}, {"N": 10}, tadc.value_and_vjp, stages=2
    ),
    "strided": Case(
        "x: f64[2*N]; y[i: N] = x[2*i] - x[2*i + 1]**2", {"i": 4}, {"N": 10}, tadc.value_and_vjp, stages=2
    ),
    "repeated": Case("x: f64[N]; y[i: 3*N] = x[i // 3]*i", {"i": 4}, {"N": 10}, tadc.value_and_vjp, stages=2),
    "edges": Case(EDGES, {"n": 4}, {"N": 10, "E": 30}, tadc.value_and_vjp, stages=3),
    "series, steps": Case(SERIES, {"t": 4}, {"T": 9, "B": 3}),
    "series, steps of the gradient": Case(SERIES, {"x_0": 4, "b": 2}, {"T": 9, "B": 3}, tadc.vjp, stages=2),
    "two steps": Case(TWO_STEPS, {"t": 4}, {"N": 23}, stages=2),
    "two steps, fewer in a block": Case(TWO_STEPS, {"t": 1}, {"N": 7}, tadc.value_and_vjp, stages=3),
    "heat": Case(HEAT, {"t": 4}, {"T": 10, "N": 7}),
    "heat, gradient": Case(HEAT, {"t": 4}, {"T": 10, "N": 7}, tadc.vjp, stages=2),
    "last step": Case(LAST, {"t": 5}, {"N": 23}, stages=2),
    "last step, gradient": Case(LAST, {"x_0": 5}, {"N": 23}, tadc.vjp, stages=3),
    "diagonals": Case(
        "x: f64[N, N]; scan{i + j} f[i, j] = x[i, j] + if {i >= 1 and j >= 1} then ("
        "max(f[i - 1, j], f[i, j - 1])) else (0)",
        {"i": 3},
        {"N": 8},
    ),
    "bodies": Case(BODIES, {"i": 4, "j": 3}, {"N": 10}, joined=("y",)),
    "bodies, gradient": Case(BODIES, {"x_0": 4, "i": 3}, {"N": 10}, tadc.vjp, joined=("dx",)),
    "energy": Case(ENERGY, {"i": 4, "j": 3}, {"N": 10}, joined=("e",)),
    "bodies twice": Case(TWICE, {"i": 4, "j": 3}, {"N": 10}, stages=4, joined=("y", "t")),
    "series": Case(SERIES, {"b": 3}, {"T": 9, "B": 10}, tadc.value_and_vjp),
}


def several(results: Any) -> list[Array]:
    return list(results) if isinstance(results, tuple) else [np.asarray(results)]


@pytest.mark.parametrize("name", CASES)
def test_blocks_are_the_whole(name: str) -> None:
    """To the bit, but for sums of parts and what is made of these."""
    case = CASES[name]
    f = case.function
    arguments = case.arguments(f)
    block = f.block(**case.blocks)
    assert len(block.functions) == case.stages
    found = several(block(**arguments))
    for output, want, got in zip(f.outputs, several(f(**arguments)), found, strict=True):
        if output in case.joined:
            np.testing.assert_allclose(got, want, 1e-13, 1e-14)
        else:
            np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("name", CASES)
def test_no_box_has_a_side_too_many(name: str) -> None:
    """A NaN in the first or last plane of a box reaches a result of the block."""
    case = CASES[name]
    f = case.function
    arguments = case.arguments(f)
    block = f.block(**case.blocks)
    stage = block.plan(**case.sizes).stages[0]
    slices = stage.division.slices.items()
    sliced = [n for n, s in slices if block.copies.get(n, n) in f.differentiable and any(s)]
    for cell in stage.cells:
        task = stage.task(cell)
        given = {
            n: np.asarray(arguments[block.copies.get(n, n)])[tuple(slice(p.start, p.stop) for p in box)]
            for n, box in task.reads.items()
        }
        given |= {n: b.filled(np.full(tuple(map(len, b.box)), 0.5)) for n, b in task.before.items()}
        for tensor in sliced:
            for d, s in enumerate(stage.division.slices[tensor]):
                for plane in (0, -1) if s is not None and given[tensor].size else ():
                    spoiled = given[tensor].copy()
                    spoiled[(slice(None),) * d + (plane,)] = np.nan
                    found = several(block.function(**{**given, tensor: spoiled}, **task.sizes))
                    assert any(np.isnan(r).any() for r in found), (tensor, d, plane, cell)


def test_a_block_is_a_program_of_the_language() -> None:
    """Where slices have as many places as blocks but for a margin, it is the program itself."""
    block = tadc.function(SLIDING).block(i=100)
    assert str(tadc.function(str(block))) == str(block)
    assert (
        str(block) == "x: f64[i_size + 2]\nw: f64[3]\ny: f64[i_size]\n\ny[i] = sum{k}_0^2 (w[k] * x[i + k])\n"
    )


def test_slices_are_all_of_dimensions_that_no_block_divides() -> None:
    """A place less in these would have blocks copied: slices of rows are read where they are."""
    g = tadc.vjp(
        tadc.function("u: f64[N, M]; v[i: N, j: M] = if {i >= 1 and j >= 1} then (u[i, j]**2) else (0)")
    )
    block = g.block(i=4)
    assert "u: f64[u_size, M]" in str(block)
    u, dv = np.random.default_rng(9).uniform(size=(2, 10, 7))
    np.testing.assert_array_equal(block(u, dv), g(u, dv))
    boxes = g.block(i=1).boxes(N=10, M=7)
    assert [0 in [s.stop - s.start for s in box["u"]] for box in boxes] == [True] + [False] * 9


def test_parts_have_the_same_bits_whoever_joins_them() -> None:
    """What is joined while blocks come has the bits of the same tree over all of them."""
    from tadc.apps.blocks.joining import JOIN, Joined, tree

    parts = [np.float64(x) for x in np.random.default_rng(0).uniform(-1, 1, 13)]

    for count in range(1, 14):
        joined = Joined("sum")
        for part in parts[:count]:
            joined.add(part)
        assert joined.result() == tree(parts[:count], JOIN["sum"])


def test_results_are_written_where_they_are_to_be(tmp_path: Any) -> None:
    """To files that are mapped, read from others, neither of which is ever an array in memory."""
    x = np.memmap(tmp_path / "x", np.float64, "w+", shape=1000)
    x[:] = np.arange(1000.0)
    y = np.memmap(tmp_path / "y", np.float64, "w+", shape=998)
    found = tadc.function(SLIDING).block(i=100)(x, [1, 0, -1], out=y)
    assert found is y
    np.testing.assert_array_equal(y, np.full(998, -2.0))


def test_no_elements() -> None:
    assert tadc.function("x: f64[N]; y[i] = 2*x[i]").block(i=3)(np.zeros(0)).shape == (0,)
    assert tadc.function("x: f64[N]; s = sum{i} (x[i])").block(i=3)(np.zeros(0)) == 0


def test_a_length_is_chosen() -> None:
    """Blocks of a few megabytes of the first index."""
    block = tadc.function(LAPLACE).block()
    assert str(block).startswith(str(tadc.function(LAPLACE).block(i=1)))
    places = block.plan(N=10_000, M=10_000).stages[0].places
    assert 10 < len(places[0]) < 1000


@pytest.mark.parametrize(
    ("text", "blocks", "code"),
    [
        (SLIDING, {"n": 3}, "TAD1001"),
        ("x: f64[N]; scan{t} y[t] = if {t = 0} then (x[0]) else (y[t // 2] + x[t])", {"t": 3}, "TAD1002"),
        ("x: f64[N]; scan{t} y[t] = x[t] + sum{k}_0^(t - 1) (y[k])", {"t": 3}, "TAD1002"),
        (HEAT, {"i": 3}, "TAD1002"),
        (SLIDING, {"i": 0}, "TAD0510"),
        (SLIDING, {"i": 2.5}, "TAD0510"),
        ("x: f64[N*M]; size M; y[i: N, j: M] = x[M*i + j]", {"i": 3}, "TAD0212"),
    ],
)
def test_what_cannot_be_divided(text: str, blocks: dict[str, Any], code: str) -> None:
    with pytest.raises(tadc.CompileError) as caught:
        tadc.function(text).block(**blocks)
    assert [d.code for d in caught.value.diagnostics] == [code] * len(caught.value.diagnostics)


def test_arrays_that_do_not_fit() -> None:
    block = tadc.function(PRODUCT).block(i=3)
    with pytest.raises(tadc.ArgumentError, match="TAD0503"):
        block(np.zeros((3, 4)), np.zeros((5, 6)))
    with pytest.raises(tadc.CompileError, match="`b` is missing"):
        block(np.zeros((3, 4)))
