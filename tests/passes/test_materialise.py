"""Sums as tensors: what gradients cost, that values stay, and that nothing is read out of range."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

import tadc
from bench.operations import SIZES, cost, programs
from tadc.compiler.derive import derive
from tadc.frontend.extents import shape_at
from tadc.frontend.program import Definition, Program
from tadc.frontend.terms import Reduce, reachable
from tadc.lattice.affine import Affine, Constraint
from tadc.passes.rewrites import stored_values
from tadc.passes.rewrites.materialise import MODES, stored_for_derivative, stored_for_values
from tadc.passes.rewrites.places import Places
from tadc.passes.terms.checked_reads import reads_out_of_range
from tadc.passes.terms.index_ranges import Range, ranges_within

EXAMPLES = Path(__file__).parents[2] / "examples"

#: At most so many times the value's operations, for value and all gradients.
BOUNDS = {"paper": 3.2, "conv2d": 3.1, "attention": 3, "pooling": 2, "gravity": 3.8, "kernel_density": 5.2}

PROGRAMS = {
    "a sum in a sum": "x: f64[5, 3]; y: f64[4, 3]\nf[i] = sum{j} (exp(-sum{k} ((x[i, k] - y[j, k])**2)))",
    "a triangle": "x: f64[6]\nf[i] = sum{j}_0^i (exp(sum{k}_0^j (x[k]**2) / 9) * x[i])",
    "a shifted box": "x: f64[6]\nf[i: 4] = sum{j}_2^(i + 1) (sin(sum{k} (x[k] * x[j])))",
    "guards": "x: f64[4, 5]\nf[i: 6] = sum{j: 7} (if {i + j <= 3} then (exp(sum{k} (x[i + j, k]))) else (0))",
    "an else branch": "x: f64[4]\nf[i: 9] = if {i > 3} then (0) else (sin(x[i] + sum{k} (x[k] * x[i])))",
    "conditions on others": "x: f64[4, 5]\nf[i: 8, j: 4] = if {i <= j} then (exp(sum{k} (x[i, k]))) else (0)",
    "a select": "x: f64[4, 5]\nf[i] = select(x[i, 0] > 0, log(sum{k} (x[i, k]**2)), 1)",
    "maxima": "x: f64[4, 5]\nf[i, k] = exp(x[i, k] - max{m} (x[i, m])) / sum{m} (exp(x[i, m]))",
    "a product": "x: f64[4, 5]; y: f64[4]\nf[i] = y[i] * prod{k} (x[i, k] + sum{m} (x[i, m] * y[i]))",
    "floors": "x: f64[9]\nf[i: 9] = sum{j: 4} (exp(sum{k}_0^(i // 2) (x[k + j // 2]**2)))",
    "groups": "x: f64[8, 5]\nf[c, i] = x[c, i] / (3 + sum{k: 4, j} (x[4*(c // 4) + k, j]**2))",
    "groups with a rest": (
        "x: f64[10]\nf[c] = exp(x[c] - max{k}_0^(min [2; 9 - 3*(c // 3)]) (x[3*(c // 3) + k]))"
    ),
    "groups from the end": "x: f64[9]\nf[c: 7] = x[c] * exp(sum{k: 3} (x[3*((8 - c) // 3) + k]))",
    "groups at some points": (
        "x: f64[9]\n"
        "f[c] = if {c >= 2 and c // 3 <= 1} then (exp(x[c] * sum{k: 3} (x[3*(c // 3) + k]))) else (x[c])"
    ),
    "groups of two kinds": (
        "x: f64[8]\nf[c: 8] = exp(sum{k: 2} (x[2*(c // 2) + k]) * sum{k: 4} (x[4*(c // 4) + k]))"
    ),
    "groups shifted": "x: f64[12]\nf[c: 10] = exp(sum{k: 3} (x[3*((c + 2) // 3) + k - 3 * ((c + 2) // 12)]))",
    "no element": "x: f64[0, 5]\nf[i] = exp(sum{k} (x[i, k]**2))",
    "equal sums": "x: f64[4, 5]\nf[i, j: 4] = exp(sum{k} (x[i, k])) * sin(sum{m} (x[j, m]))",
    "windows": "x: f64[12]; w: f64[5]\nf[i: 8] = sum{j: 5} (w[j] * exp(x[i + j]))",
    "windows of differences": (
        "x: f64[3, 14]; w: f64[5]\nf[c, i: 8] = sum{j: 5} (w[j] * sin(x[c, i + j + 2] - x[c, i + j + 1]))"
    ),
    "windows of a row": "x: f64[2, 9]\nlet v[a: 2, b: 4] = x[0, 2*b + a] - 1.5\nf[a] = sum{b} (v[a, b]**2)",
    "windows of indices": "x: f64[12]\nf[i: 8, k: 2] = sum{j: 5} (exp(x[i + j] * (i + j) / 9) * (i + k))",
    "windows at some points": (
        "x: f64[12]\nf[i: 8] = sum{j: 5} (if {(i + j) % 2 = 0} then (exp(x[i + j])) else (x[j] / (i + 1)))"
    ),
    "factors in another order": (
        "a: f64[4]; b: f64[4]; x: f64[5]; y: f64[4, 5]\n"
        "f[i] = sum{j} (-a[i] * x[j] * b[i] * y[i, j])\n"
        "g[j] = sum{i} (2 * x[j] * y[i, j] * a[i] * b[i] / (1 + y[i, j]**2) / 3)\n"
        "h = sum{i, j} (if {i < j} then (b[i] * sin(x[j]) * a[i]) else (b[i] * y[i, 4 - j] * a[i] * x[0]))"
    ),
    "a sum that reads another": (
        "x: f64[4, 4]\nf[i] = sin(sum{k} (x[i, k] * sum{m} (x[k, m]**2))) * cos(sum{m} (x[i, m]**2))"
    ),
}


def inputs(f: tadc.Function) -> dict[str, np.ndarray]:
    random = np.random.default_rng(0)
    return {a.name: random.uniform(-1, 1, shape_at(a.shape, {})) for a in f.program.arguments}


def evaluated(f: tadc.Function) -> Mapping[str, np.ndarray]:
    found = f(**inputs(f))
    return {f.outputs[0]: found} if len(f.outputs) == 1 else found._asdict()


@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS)
def test_modes_agree(text: str) -> None:
    """Values, first and second derivatives, with all tensors and with none."""
    derived = {mode: tadc.function(text) for mode in MODES}
    for _ in range(2):
        derived = {mode: tadc.value_and_vjp(g, materialize=mode) for mode, g in derived.items()}
    expected = evaluated(derived["never"])
    for mode in ("auto", "always"):
        found = evaluated(derived[mode])
        assert found.keys() == expected.keys()
        for name, value in expected.items():
            np.testing.assert_allclose(found[name], value, rtol=1e-10, atol=1e-10, err_msg=name)


@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS)
def test_reads_stay_in_range(text: str) -> None:
    program = tadc.function(text).program
    assert not reads_out_of_range(stored_for_values(program, "always"))
    assert not reads_out_of_range(
        stored_for_derivative(program, [a.name for a in program.arguments], "always")
    )


@pytest.mark.parametrize("name", BOUNDS)
def test_gradients_cost_a_small_multiple(name: str) -> None:
    program = programs([name])[name]
    value = cost(program, "value", "never")
    assert cost(program, "value-and-vjp", "auto") <= BOUNDS[name] * value
    assert cost(program, "value-and-vjp", "never") > BOUNDS[name] * value


def test_the_count_is_that_of_a_matrix_product() -> None:
    """One product and one addition for each of i, j, k, and twice that again for the gradients."""
    program = programs(["matmul"])["matmul"]
    points = math.prod(SIZES["matmul"].values())
    assert cost(program, "value", "never") == 2 * points
    assert cost(program, "value-and-vjp", "never") == 6 * points


def test_values_of_windows() -> None:
    """Once an element, not once a window that reads it; on a diagonal alone, once for each of those."""
    f = tadc.function("x: f64[40, 30]\nf[i: 38, j: 28] = sum{u: 3, v: 3} (exp(x[i + u, j + v]))")
    assert tadc.statistics(f).value.work.transcendental == 40 * 30
    f = tadc.function("x: f64[9]\nf[i: 5, j: 5] = if {i = j} then (exp(x[i + j])) else (x[i])")
    assert tadc.statistics(f).value.work.transcendental == 5


def test_values_of_groups() -> None:
    """One mean a group of channels, not one a channel or an element."""
    f = tadc.function("x: f64[32, 50]\nf[c, i] = x[c, i] - sum{k: 4, j: 50} (x[4*(c // 4) + k, j]) / 200")
    assert cost(f.program, "value", "auto") <= 3.2 * 32 * 50
    assert cost(tadc.vjp(f).program, "value", "auto") <= 3.2 * 32 * 50


HELD = {
    "a window beside a window": "x: f64[6, 40]\nf[c, j: 20] = logsumexp{q: 2} (x[c, 2*j + q])",
    "windows that share": "x: f64[6, 40]\nf[c, j: 38] = logsumexp{q: 3} (x[c, j + q])",
    "windows at strides, from an end": "x: f64[40, 6]\nf[j: 13, c] = logsumexp{q: 4} (x[39 - 3*j - q, c])",
    "a sum to an index": "x: f64[40]\nf[j: 40] = logsumexp{q}_0^j (x[q])",
    "a fibre": "d: index[40] in 7; x: f64[40]\nf[n: 7] = logsumexp{e: d[e] = n} (x[e])",
}


@pytest.mark.parametrize("text", HELD.values(), ids=HELD)
def test_values_that_are_there_are_read(text: str) -> None:
    """A gradient that wants f at another place, as f[j // 2] or f[k - q], takes no logarithm again."""
    f = tadc.function(text)
    logarithms = f.lower().as_text("hoist").count('reduce "logsumexp"')
    assert tadc.value_and_vjp(f).lower().as_text("hoist").count('reduce "logsumexp"') == logarithms == 1


def test_second_derivative_of_the_paper() -> None:
    program = programs(["paper"])["paper"]
    first = derive(program, "value-and-vjp")
    assert cost(first, "value-and-vjp", "auto") <= 12 * cost(program, "value", "never")


def test_large_sizes_are_assumed() -> None:
    """The same tensors for symbols as for numbers."""
    text = (EXAMPLES / "conv2d.tad").read_text()
    general = tadc.vjp(tadc.function(text))
    given = tadc.vjp(tadc.function(text).at(SIZES["conv2d"]))
    names = [d.name for d in general.program.definitions]
    assert names == [d.name for d in given.program.definitions]
    assert "y_0" in names


def test_nothing_nested_is_left() -> None:
    """Of the paper's gradient, as of its value."""
    program = tadc.vjp(tadc.function((EXAMPLES / "paper.tad").read_text()), "a").program
    for definition in program.definitions:
        sums = [t for t in reachable([definition.body]) if isinstance(t, Reduce)]
        assert len(sums) <= 1


def test_an_empty_extent_is_not_negative() -> None:
    """Where sizes may make a box negative, the sum stays."""
    f = tadc.function("x: f64[N]; size M\nf = sum{j}_0^(N - M) (exp(sum{k} (x[k] * x[j])))")
    g = tadc.vjp(f)
    x = np.linspace(0.1, 0.4, 4)
    for m in (1, 4, 7):
        expected = tadc.vjp(f, materialize="never")(x=x, df=1.0, M=m)
        np.testing.assert_allclose(g(x=x, df=1.0, M=m), expected, rtol=1e-12)


def test_no_product_of_zero_and_infinity() -> None:
    """Where a sum was not evaluated its derivative may be infinite."""
    f = tadc.function("x: f64[3]; y: f64[3]\nf[i] = select(x[i] > 0, sin(sum{k: 2} (y[i] / x[i])), 0)")
    x, y = np.array([1.0, 0.0, 2.0]), np.ones(3)
    dx, dy = tadc.vjp(f)(x=x, y=y, df=np.ones(3))
    assert np.isfinite(dx).all()
    assert np.isfinite(dy).all()
    assert dx[1] == dy[1] == 0


def test_unknown_mode() -> None:
    f = tadc.function("x: f64[3]; f[i] = x[i]")
    with pytest.raises(ValueError, match='"auto", "always", "never"'):
        tadc.vjp(f, materialize="sometimes")
    with pytest.raises(tadc.CompileError, match="no mode"):
        tadc.run_passes(f.lower().module, "tad-materialize{mode=sometimes}")


def form(text: str) -> Affine:
    """A sum of names, each with a sign in front."""
    total = Affine.const(0)
    for word in text.split():
        name = word.lstrip("+-")
        term = Affine.const(int(name)) if name.isdecimal() else Affine.var(name)
        total += -term if word.startswith("-") else term
    return total


@pytest.mark.parametrize(
    ("rows", "low", "high"),
    [
        (["+x -2", "+5 -x"], "2", "5"),
        (["+x", "+i -x"], "0", "N -1"),
        (["+x -i", "+N -x"], "0", "N"),
        (["+x", "+y -x", "+y", "+3 -y"], "0", "3"),
        (["+x +x -3", "+9 -x -x"], "2", "4"),
    ],
)
def test_ranges(rows: list[str], low: str, high: str) -> None:
    """Boxes around domains under `0 <= i <= N - 1`."""
    around = {"i": Range(Affine.const(0), form("N -1"))}
    domain = [Constraint(form(row)) for row in rows]
    found = ranges_within(["x", "y"], domain, around, frozenset(["N"]))
    assert found["x"] == Range(form(low), form(high))


def test_no_range() -> None:
    domain = [Constraint(form("+x")), Constraint(form("+y -x"))]
    assert ranges_within(["x", "y"], domain, {}, frozenset()) == {"x": None, "y": None}


def test_a_sum_that_is_never_evaluated() -> None:
    """Its conditions contradict each other once the index starts at 0: it stays, and the index with it."""
    f = tadc.function("x: f64[4]\nf = sum{i}_2^2 (if {i >= 3} then (exp(sum{k} (x[k] * i))) else (x[i]))")
    np.testing.assert_array_equal(tadc.vjp(f)(x=np.ones(4), df=1.0), [0, 0, 1, 0])


def test_a_definition_is_taken_apart_once_a_round(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is found out about a definition before anything moves is not found out again."""
    opened: list[Definition] = []

    def places(program: Program, definition: Definition) -> Places:
        opened.append(definition)
        return Places(program, definition)

    monkeypatch.setattr(stored_values, "Places", places)
    text = "x: f64[9]; f[i] = sum{k} (exp(x[k])*x[i]); g[i] = sum{k} (exp(x[k])*x[i]**2)"
    stored_values.store_values(tadc.function(text).program, None)
    assert [d.name for d in opened] == ["f", "g"]


def test_differences_of_neighbours_are_no_tensor_that_is_larger_than_places() -> None:
    """What forces of pairs read again is one place of two, from a table near: not stored for each pair."""
    text = (
        "i: index[E] in N; j: index[E] in N; x: f32[N, 3]; "
        "f = sum{p: E} (1/sum{k: 3} ((x[i[p], k] - x[j[p], k])**2)**3)"
    )
    sizes = {"N": 10_000, "E": 400_000}
    lowered = tadc.value_and_vjp(tadc.function(text, sizes=sizes)).lower("cpu").as_text("hoist")
    assert "tensor<10000x3xf32>" in lowered
    assert "tensor<400000x3xf32>" not in lowered


def test_pairs_do_not_depend_on_memory() -> None:
    """The same program has the same text wherever its terms happen to be in memory."""
    text = (EXAMPLES / "paper.tad").read_text()
    held: list[tadc.Function] = []
    found: set[str] = set()
    for _ in range(8):
        held.append(tadc.value_and_vjp(tadc.function(text)))
        found.add(held[-1].lower("cpu").as_text("hoist"))
    assert len(found) == 1
