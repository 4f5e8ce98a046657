"""Rewrites of terms whose index forms hold elements of index arrays."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import tadc
from tadc.dialect.program_reader import tad_functions
from tadc.frontend.printer import print_program
from tadc.frontend.program import Argument, Definition, Program
from tadc.frontend.terms import Domain, Guard, Reduce, Term, Terms, index_forms, reachable
from tadc.lattice.affine import Affine, Constraint, box
from tadc.lattice.polyhedron import implied
from tadc.passes.derivatives.cancel import Canceller
from tadc.passes.maps.kept import keep
from tadc.passes.maps.read_maps import read_maps
from tadc.passes.rewrites.coordinates import Coordinates
from tadc.passes.rewrites.left_out import taken_apart
from tadc.passes.rewrites.materialise import stored_for_values
from tadc.passes.terms.batched import batched
from tadc.passes.terms.checked_reads import reads_out_of_range
from tadc.passes.terms.expansion import Expander
from tadc.passes.where import Where
from tests.dialect.support import program, written
from tests.frontend.checking import checked

E, N, e, n = (Affine.var(name) for name in "ENen")
SRC = Argument("src", "i32", (E,), below=N)
X = Argument("x", "f64", (N,))


def of_nodes(terms: Terms, body: Term) -> Program:
    """A program of one output, with an element for each node."""
    return Program((SRC, X), (Definition("f", "f64", (N,), ("n",), body),), terms, sizes=("E", "N"))


def test_points_between_bounds_that_an_index_moves_are_not_counted() -> None:
    """`e - src[e]` from 0 to 3 says nothing of how many e there are."""
    terms = Terms()
    rows = [Constraint(e - SRC.lookup([e])), Constraint(SRC.lookup([e]) + 3 - e), *box(["e"], [E])]
    for taken, count in ((rows[:2], False), ([Constraint(e - n), Constraint(n + 3 - e)], True)):
        made = of_nodes(terms, terms.reduce(["e"], taken, terms.const(1)))
        found = Expander(made, made.facts(made.definitions[0])).of(made.definitions[0].body)
        assert (found == {(): Fraction(4)}) is count


def test_elements_of_index_arrays_are_no_coordinates() -> None:
    """A tensor of all nodes may be far larger than what a few edges read."""
    terms = Terms()
    read = terms.read("x", [SRC.lookup([e])], "f64")
    shapes = {"x": (N,), "src": (E,)}
    coordinates = Coordinates(terms, shapes, frozenset("EN"))
    assert coordinates.of(read, fewer=False) is None
    plain = terms.read("x", [e], "f64")
    assert coordinates.of(plain, fewer=False) is not None


def test_a_piece_of_a_sum_asks_that_elements_are_there() -> None:
    """Where a condition gives an index its value, its range stands no longer beside its element."""
    terms = Terms()
    rows = [*box(["e"], [E]), Constraint(SRC.lookup([e]) - n, equality=True)]
    piece = terms.guard([Constraint(e - n + 1, equality=True)], terms.read("x", [e], "f64"), terms.const(0))
    total = terms.reduce(["e"], rows, piece)
    assert isinstance(total, Reduce)
    made = taken_apart(terms, total, tuple(box(["n"], [N])), {"src": (E,)}.__getitem__)
    assert isinstance(made, Guard)
    assert is_asked(made.conditions, box(["n"], [N]))


def test_conditions_in_a_guard_that_stays_ask_that_elements_are_there() -> None:
    """They hold in a branch of the guard alone, and become rows of the sum around it."""
    terms = Terms()
    inner = terms.guard(
        [Constraint(SRC.lookup([e - 1]) - n, True)], terms.read("x", [n], "f64"), terms.const(0)
    )
    body = terms.guard([Constraint(e, equality=True)], terms.const(0), inner)
    canceller = Canceller(terms, {"src": (E,)}.__getitem__)
    made = canceller.visit(terms.reduce(["e"], box(["e"], [E]), body), box(["n"], [N]))
    assert isinstance(made, Reduce)
    assert any(row.equality for row in made.domain)
    assert is_asked(made.domain, box(["n"], [N]))


def test_text_asks_that_elements_are_there_where_a_sum_begins() -> None:
    """Rows of an inner sum may be what says so."""
    terms, k = Terms(), Affine.var("k")
    p = Argument("p", "i32", (N,), below=N)
    rows = [Constraint(p.lookup([SRC.lookup([e]) + 1]) - n, True), *box(["e", "k"], [E, E])]
    rows += [Constraint(SRC.lookup([k]) - SRC.lookup([e]), True), Constraint(N - 2 - SRC.lookup([k]))]
    made = of_nodes(terms, terms.reduce(["e", "k"], rows, terms.read("x", [SRC.lookup([k])], "f64")))
    text = print_program(replace(made, arguments=(*made.arguments, p)))
    assert "e: p[src[e] + 1] = n and N >= src[e] + 2} (" in text
    assert print_program(checked(text)) == text


def at_places_said_by_others() -> list[tuple[list[Constraint], str, str]]:
    """Rows of which one says, by an element as deep or deeper, that the other's is there; how a sum over them
    reads, and a guard."""
    p, q = Argument("p", "i32", (N,), below=N), Argument("q", "i32", (N,), below=E)
    src = SRC.lookup([e])
    return [
        (
            [Constraint(p.lookup([n + 1]) - src, True), Constraint(p.lookup([src]) - n - 2)],
            "if {N >= n + 2} then (sum{e: p[n + 1] = src[e] and p[src[e]] >= n + 2} (",
            "if {N >= n + 2 and p[n + 1] = src[e] and p[src[e]] >= n + 2}",
        ),
        (
            [Constraint(q.lookup([n + 1]) - e, True), Constraint(p.lookup([n]) - n - 2)],
            "if {p[n] >= n + 2} then (sum{e: q[n + 1] = e} (",
            "if {N >= n + 2 and q[n + 1] = e and p[n] >= n + 2}",
        ),
        (
            [Constraint(SRC.lookup([e + 1]) - n, True), Constraint(q.lookup([src]) - e - 2)],
            "sum{e: E - 1: src[e + 1] = n and q[src[e]] >= e + 2} (",
            "if {E >= e + 2 and src[e + 1] = n and q[src[e]] >= e + 2}",
        ),
        (
            [Constraint(SRC.lookup([e - 1]) - n, True), Constraint(e - 1 - p.lookup([src]))],
            "sum{e: src[e - 1] = n and e > p[src[e]]}_1^(E - 1) (",
            "if {e >= 1 and src[e - 1] = n and e > p[src[e]]}",
        ),
    ]


@pytest.mark.parametrize(("rows", "domain", "guard"), at_places_said_by_others())
def test_text_asks_that_elements_are_there_before_conditions(
    rows: list[Constraint], domain: str, guard: str
) -> None:
    """Rows of a set hold together; in the text, conditions count only where shallower ones hold."""
    terms = Terms()
    read, zero = terms.read("x", [SRC.lookup([e])], "f64"), terms.const(0)
    arguments = (SRC, X, Argument("p", "i32", (N,), below=N), Argument("q", "i32", (N,), below=E))
    within, inside = box(["e"], [E]), terms.guard(rows, read, zero)
    for body, words in (
        (terms.reduce(["e"], [*within, *rows], read), domain),
        (terms.reduce(["e"], within, inside), guard),
    ):
        text = print_program(replace(of_nodes(terms, body), arguments=arguments))
        assert words in text
        assert print_program(checked(text)) == text


def is_asked(rows: Domain, facts: Domain) -> bool:
    """Whether rows without elements of index arrays say that the elements in the others are there."""
    asked = [row for row in rows if not any(row.form.lookups())]
    places = [place for row in rows for atom in row.form.lookups() for place in atom.at]
    return all(implied(side, (*asked, *facts)) for place in places for side in (place, E - 1 - place))


TEXT = """\
src: index[8] in 4
ptr: index[5] in 9 increasing
x: f64[4]
w: f64[8]
f[n: 4, c: 5] = sum{e}_(ptr[n])^(ptr[n + 1] - 1) (exp(w[e] * x[src[e]]) * c)
"""


def test_tensors_are_over_ranges_that_are_known() -> None:
    """What elements of a fibre share is a tensor over all of its array, and read in range."""
    made = stored_for_values(program(TEXT), "always")
    assert not reads_out_of_range(made)
    assert [d.shape for d in made.definitions] == [(8,), (4, 5)]


def test_maps_that_look_up_are_not_kept() -> None:
    """Their elements change with the index array from call to call."""
    text = "src: index[64] in 64\nx: f64[64]\nlet c[e: 64] = exp(sin(src[e]))\nlet d[e: 64] = exp(sin(e))\n"
    module = written(text + "f[e] = x[e] * c[e] * d[e]")
    (function,) = tad_functions(module.operation)
    found = keep(read_maps(function), fused=True, where=Where())
    assert {item.tensors[0].name for item in found.maps if item.marks.kept} == {"d"}


def test_calls_with_other_index_arrays_are_computed_anew() -> None:
    f = tadc.function("src: index[6] in 4\nlet c[e: 6] = exp(sin(src[e]))\nf = sum{e} (c[e])")
    for values in ([0, 1, 2, 3, 0, 1], [3, 3, 3, 3, 3, 3]):
        np.testing.assert_allclose(f(values), np.exp(np.sin(values)).sum(), rtol=1e-14)


def test_what_depends_on_a_batched_index_array_alone_varies() -> None:
    made = batched(program("src: index[3] in 4\nx: f64[4]\nf[e: 3] = 2*src[e]\ng[i] = x[i]"), ["src"], "b")
    (f,) = (d for d in made.definitions if d.name == "f")
    assert f.shape == (Affine.var("b"), 3)
    found = {str(lookup) for t in reachable([f.body]) for form in index_forms(t) for lookup in form.lookups()}
    assert found == {f"src[{f.indices[0]}, e]"}


def test_values_of_edges_are_computed_where_they_are_read() -> None:
    """In the gradient the cosine of a node is no value of its edges, and is taken once."""
    text = "src: index[E] in N\nx: f64[N]\nw: f64[E]\nf[e] = w[e] * sin(x[src[e]])"
    g = tadc.vjp(tadc.function(text))
    nest = g.lower().as_text("nest")
    assert "src[src.perm" not in nest
    random = np.random.default_rng(2)
    src, x, w, df = random.integers(0, 4, 9), *(random.normal(size=k) for k in (4, 9, 9))
    found = g(src, x, w, df)
    dx = np.zeros(4)
    np.add.at(dx, src, df * w * np.cos(x[src]))
    np.testing.assert_allclose(found.dx, dx, rtol=1e-13)
    np.testing.assert_allclose(found.dw, df * np.sin(x[src]), rtol=1e-13)


@pytest.mark.parametrize("mode", ["auto", "always", "never"])
def test_a_maximum_compares_what_is_stored(mode: str) -> None:
    """Before its derivative: an operand is stored over edges, some of which may be out of range."""
    text = (
        "src: index[E] in N\nptr: index[N + 1] in E + 1 increasing\nx: f64[N]\nw: f64[E]\n"
        "f[n: N] = max{e}_(ptr[n])^(ptr[n + 1] - 1) (exp(w[e]) * x[src[e]] + x[n])"
    )
    ptr, src = np.array([0, 3, 4, 6]), np.array([0, 1, 2, 2, 1, 0])
    random = np.random.default_rng(1)
    x, w, weights = random.normal(size=3), random.normal(size=6), random.normal(size=3)
    found = tadc.vjp(tadc.function(text), ["x", "w"], materialize=mode)(src, ptr, x, w, weights)
    dx, dw = np.zeros(3), np.zeros(6)
    for row in range(3):
        places = np.arange(ptr[row], ptr[row + 1])
        best = places[np.argmax(np.exp(w[places]) * x[src[places]])]
        dx[src[best]] += weights[row] * np.exp(w[best])
        dw[best] += weights[row] * np.exp(w[best]) * x[src[best]]
        dx[row] += weights[row]
    np.testing.assert_allclose(found.dx, dx, rtol=1e-12)
    np.testing.assert_allclose(found.dw, dw, rtol=1e-12)


def test_a_read_that_is_not_there_everywhere_is_stored_under_conditions() -> None:
    """`ptr[n - 1]` has a value from 1 on alone; before a derivative the operand is stored for all n."""
    text = (
        "ptr: index[N] in N\nx: f64[N]\n"
        "f[n: N] = if {n >= 1} then (max(exp(x[ptr[n - 1]])*x[n], sin(x[n])*x[ptr[n - 1]])) else (x[n])"
    )
    ptr, x = np.array([2, 0, 1, 0]), np.array([0.3, -1.2, 0.7, 2.0])
    found = tadc.vjp(tadc.function(text))(ptr, x, np.ones(4))
    step, numeric = 1e-6, np.zeros(4)
    f = tadc.function(text)
    for k in range(4):
        up, down = x.copy(), x.copy()
        up[k] += step
        down[k] -= step
        numeric[k] = (f(ptr, up) - f(ptr, down)).sum() / (2 * step)
    np.testing.assert_allclose(found, numeric, rtol=1e-6, atol=1e-8)


def test_what_an_index_array_chooses_is_read_without_a_jump() -> None:
    """Sums over the corners of a node are one loop, in which no element of an index array is tested."""
    text = """tet: index[E, 4] in N; x: f64[N, 3]
f = sum{e, k: 3, a: 3} ((x[tet[e, k + 1], a] - x[tet[e, 0], a])**3)"""
    slope = tadc.grad(tadc.function(text, sizes={"N": 40, "E": 90}), "x")
    loops = slope.lower().as_text("loops")
    assert "vector.maskedload" in loops
    assert "scf.if" not in loops
    random = np.random.default_rng(0)
    tet, x = random.integers(0, 40, (90, 4)), random.normal(size=(40, 3))
    expected, each = np.zeros((40, 3)), 3 * (x[tet[:, 1:]] - x[tet[:, :1]]) ** 2
    np.add.at(expected, tet[:, 1:], each)
    np.add.at(expected, tet[:, 0], -each.sum(1))
    np.testing.assert_allclose(slope(tet, x), expected, rtol=1e-12, atol=1e-12)
