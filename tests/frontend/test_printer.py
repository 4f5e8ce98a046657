"""How programs are printed."""

import math
from collections.abc import Sequence

import pytest

from tadc.frontend.checker import check
from tadc.frontend.parser import parse
from tadc.frontend.print_index import condition_text, form_text
from tadc.frontend.printable import TermSpeller
from tadc.frontend.printer import PrintScope, assembled, print_program, term_items
from tadc.frontend.program import Program
from tadc.frontend.source import Source
from tadc.frontend.terms import Apply, Read, Reduce, Term, Terms
from tadc.lattice.affine import Affine, Constraint, at_least_zero, box, equals_zero

T = Terms()
i, j, k, b = (Affine.var(name) for name in ("i", "j", "k", "b_0"))


def x(*indices: Affine) -> Read:
    return T.read("x", indices, "f64")


def add(*operands: Term) -> Apply:
    return T.apply("add", operands)


def power(*operands: Term) -> Apply:
    return T.apply("pow", operands)


def neg(operand: Term) -> Apply:
    return T.apply("neg", [operand])


def text(term: Term) -> str:
    """An expression under `i` in 0..4 and `j` in 0..3."""
    spelled = TermSpeller(Terms(), frozenset(), {}).spell(term, {}, box(("i", "j"), (5, 4)))
    return assembled(spelled, PrintScope({"i": i, "j": j}, frozenset("ijxy"), {}), term_items, "()")


def read(source: str) -> Program:
    return check(parse(Source(source)), Source(source))


# -- index forms and conditions ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        (i * 2 - j * 3 + 1, "2*i - 3*j + 1"),
        (3 - i, "3 - i"),
        (-i - 3, "-i - 3"),
        (Affine.const(-3), "-3"),
        (i.mod(2), "i % 2"),
        (i.mod(2) * 2, "2*(i % 2)"),
        (-i.mod(2), "-(i % 2)"),
        (j - i.mod(2), "j - i % 2"),
        (i.floordiv(2), "i // 2"),
        (-i.floordiv(2), "-(i // 2)"),
        (j - i.floordiv(2), "j - i // 2"),
        (i.floordiv(2) * 3 - 1, "3*(i // 2) - 1"),
        ((i * 3).floordiv(2), "(3*i) // 2"),
        ((i + 5).mod(3), "(i + 2) % 3"),
        (i + i.mod(3), "i + i % 3"),
        ((i.mod(3) + j).floordiv(2), "(j + i % 3) // 2"),
        (i.floordiv(2).mod(3), "(i // 2) % 3"),
        (i.floordiv(2).mod(3) * 2, "2*((i // 2) % 3)"),
        (((i * 3 + 1).floordiv(2) + 4).mod(5), "((3*i + 1) // 2 + 4) % 5"),
        ((i.mod(4) + j).mod(3), "(j + i % 4) % 3"),
        ((i + j).mod(4) + i.floordiv(2), "i // 2 + (i + j) % 4"),
    ],
)
def test_index_forms(form: Affine, expected: str) -> None:
    assert form_text(form) == expected


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (at_least_zero(i - 2), "i >= 2"),
        (at_least_zero(7 - i - j), "i + j <= 7"),
        (at_least_zero(i - j), "i >= j"),
        (at_least_zero(i - j - 1), "i > j"),
        (at_least_zero(i - j + 1), "i + 1 >= j"),
        (at_least_zero(i - j - 4), "i >= j + 4"),
        (at_least_zero(i + 3), "i + 3 >= 0"),
        (at_least_zero(-i - 3), "i + 3 <= 0"),
        (at_least_zero(i * 2 - j * 3), "2*i >= 3*j"),
        (at_least_zero(1 - i.mod(3)), "i % 3 <= 1"),
        (equals_zero(i.mod(2)), "i % 2 = 0"),
        (equals_zero(-i.mod(2)), "i % 2 = 0"),
        (equals_zero(i.mod(2) - 1), "i % 2 = 1"),
        (equals_zero(i - j), "i = j"),
        (equals_zero(3 - i), "i = 3"),
        (equals_zero(i + j * 2 - b), "i + 2*j = b_0"),
        (equals_zero(Affine.const(1)), "1 = 0"),
        (at_least_zero(Affine.const(-2)), "0 >= 2"),
    ],
)
def test_conditions(row: Constraint, expected: str) -> None:
    assert condition_text(row) == expected


# -- expressions -------------------------------------------------------------------------------

one, two = T.const(1), T.const(2)


@pytest.mark.parametrize(
    ("term", "expected"),
    [
        (power(x(i), two), "x[i]**2"),
        (power(T.const(-3), T.const(-2)), "(-3)**-2"),
        (power(power(x(i), two), two), "(x[i]**2)**2"),
        (power(x(i), power(x(j), two)), "x[i]**x[j]**2"),
        (neg(power(x(i), two)), "-x[i]**2"),
        (power(neg(x(i)), two), "(-x[i])**2"),
        (neg(add(x(i), one)), "-(x[i] + 1)"),
        (T.apply("mul", [add(x(i), one), neg(x(i))]), "(x[i] + 1) * -x[i]"),
        (T.apply("mul", [x(i), T.apply("mul", [x(j), two])]), "x[i] * (x[j] * 2)"),
        (T.apply("sub", [x(i), T.apply("sub", [x(j), two])]), "x[i] - (x[j] - 2)"),
        (T.apply("sub", [T.apply("sub", [x(i), x(j)]), two]), "x[i] - x[j] - 2"),
        (T.apply("div", [one, T.apply("mul", [x(i), two])]), "1 / (x[i] * 2)"),
        (T.apply("mod", [x(i), T.const(0.5)]), "x[i] % 0.5"),
        (T.apply("max", [T.apply("exp", [x(i)]), add(one, two)]), "max(exp(x[i]), 1 + 2)"),
        (T.select("<=", x(i), one, neg(x(i)), two), "select(x[i] <= 1, -x[i], 2)"),
        (T.apply("mul", [T.index(i * 2 + 1), T.index(i.floordiv(2))]), "(2 * i + 1) * (i // 2)"),
        (add(T.index(i.mod(2)), T.index(j)), "i % 2 + j"),
        (T.read("y", (), "f64"), "y"),
        (T.guard([at_least_zero(i - 2), equals_zero(i.mod(2))], x(i - 2), T.const(0)),
         "if {i >= 2 and i % 2 = 0} then (x[i - 2]) else (0)"),
        (T.guard([at_least_zero(Affine.const(3))], one, two), "1"),
    ],
)  # fmt: skip
def test_expressions(term: Term, expected: str) -> None:
    assert text(term) == expected


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        (0, "0"),
        (-1, "-1"),
        (1.0, "1.0"),
        (-0.0, "-0.0"),
        (1e-5, "1e-05"),
        (0.1 + 0.2, "0.30000000000000004"),
        (math.pi, "pi"),
        (-math.pi, "-pi"),
        (math.inf, "1 / 0"),
        (-math.inf, "-(1 / 0)"),
        (math.nan, "0 / 0"),
    ],
)
def test_constants(number: float, expected: str) -> None:
    assert text(T.const(number)) == expected


# -- sums --------------------------------------------------------------------------------------


def total(names: list[str], rows: list[Constraint], body: Term, hints: Sequence[str] = ()) -> Reduce:
    return T.reduce(names, rows, body, hints=hints)


def rows_of(name: str, low: int, high: int) -> list[Constraint]:
    return [at_least_zero(Affine.var(name) - low), at_least_zero(high - Affine.var(name))]


def test_sums_keep_their_place_in_operators() -> None:
    s = total(["k"], rows_of("k", 0, 3), x(i + k))
    assert text(s) == "sum{k}_0^3 (x[i + k])"
    assert text(power(s, two)) == "(sum{k}_0^3 (x[i + k]))**2"
    assert text(T.apply("mul", [s, s])) == "sum{k}_0^3 (x[i + k]) * sum{k}_0^3 (x[i + k])"
    assert text(neg(s)) == "-sum{k}_0^3 (x[i + k])"
    assert text(T.apply("exp", [s])) == "exp(sum{k}_0^3 (x[i + k]))"


def test_other_reductions_nest_and_give_their_own_value_over_nothing() -> None:
    rows = [*box(["p", "q"], [3, 4]), Constraint(i - Affine.var("p") - Affine.var("q") * 2, equality=True)]
    rest = {"max": "-(1 / 0)", "min": "1 / 0", "prod": "1", "logsumexp": "-(1 / 0)", "sum": "0"}
    for kind, nothing in rest.items():
        term = T.reduce(["k"], rows_of("k", 0, 3), x(i + k), kind=kind)
        assert text(term) == f"{kind}{{k}}_0^3 (x[i + k])"
        assert text(T.apply("max", [term, term])) == f"max({text(term)}, {text(term)})"
        term = T.reduce(["p", "q"], rows, x(Affine.var("p")), kind=kind)
        if kind in ("max", "min"):
            box_of = f"{kind}{{p: 3, q: 4}} (if {{i = p + 2*q}} then (x[p]) else ({nothing}))"
            assert text(term) == box_of
        else:
            assert text(term).startswith(f"{kind}{{p}}_")
            assert f"({kind}{{q}}_" in text(term)
        term = T.reduce(["k"], [*rows_of("k", 0, 3), at_least_zero(i - 2)], x(k), kind=kind)
        assert text(term) == f"if {{i >= 2}} then ({kind}{{k}}_0^3 (x[k])) else ({nothing})"


def test_bounds_say_what_is_needed_and_no_more() -> None:
    rows = [*rows_of("k", -2, 3), at_least_zero(k - i), at_least_zero(i + 9 - k), at_least_zero(i - k + 1)]
    assert text(total(["k"], rows, x(k))) == "sum{k}_(i)^(min [3; i + 1]) (x[k])"
    rows = [*rows_of("k", 0, 7), at_least_zero(i - k * 2), at_least_zero(k * 3 - i + 1)]
    assert text(total(["k"], rows, x(k))) == "sum{k}_(-((1 - i) // 3))^(i // 2) (x[k])"
    assert text(total(["k"], rows_of("k", -3, -1), x(k))) == "sum{k}_-3^-1 (x[k])"


def test_bounds_use_what_guards_and_outer_sums_say() -> None:
    inner = total(["k"], [*rows_of("k", 0, 4), at_least_zero(k - i + 2)], x(k))
    assert text(inner) == "sum{k}_(max [0; i - 2])^4 (x[k])"
    guarded = T.guard([at_least_zero(i - 2)], inner, inner)
    assert text(guarded) == ("if {i >= 2} then (sum{k}_(i - 2)^4 (x[k])) else (sum{k}_0^4 (x[k]))")
    outer = total(["p"], rows_of("p", 3, 4), T.substitute(inner, {"i": Affine.var("p")}))
    assert text(outer) == "sum{p}_3^4 (sum{k}_(p - 2)^4 (x[k]))"


def test_several_indices_become_nested_sums() -> None:
    rows = [*box(["p", "q"], [3, 4]), at_least_zero(i - Affine.var("p") - Affine.var("q"))]
    term = total(["p", "q"], rows, x(Affine.var("p"), Affine.var("q")))
    assert text(term) == "sum{p}_0^(min [2; i]) (sum{q}_0^(min [3; i - p]) (x[p, q]))"


def test_equalities_become_guards() -> None:
    rows = [*box(["p", "q"], [3, 4]), equals_zero(Affine.var("p") + Affine.var("q") * 2 - i)]
    term = total(["p", "q"], rows, x(Affine.var("p")))
    assert text(term) == "sum{p}_0^2 (sum{q}_0^3 (if {p + 2*q = i} then (x[p]) else (0)))"
    lone = total(["p"], [equals_zero(Affine.var("p") * 2 - i)], x(Affine.var("p")))
    assert text(lone) == "sum{p}_(-((-i) // 2))^(i // 2) (if {2*p = i} then (x[p]) else (0))"


def test_rows_without_an_index_of_the_sum_guard_it() -> None:
    rows = [*rows_of("k", 0, 3), at_least_zero(i - 2), at_least_zero(i), at_least_zero(Affine.const(0))]
    assert text(total(["k"], rows, x(k))) == "if {i >= 2} then (sum{k}_0^3 (x[k])) else (0)"


def test_names_of_indices() -> None:
    p, q = Affine.var("?p"), Affine.var("?q")
    rows = [*box(["?p", "?q"], [3, 4])]
    assert text(total(["?p", "?q"], rows, x(p, q))) == "sum{z0}_0^2 (sum{z1}_0^3 (x[z0, z1]))"
    for taken in ("i", "x", "exp", "sum", "f64", "2p", "\u00e9", "?p", ""):
        assert "{z0}" in text(total(["?p"], rows[:2], x(p), hints=[taken]))
    nested = total(["?p"], rows[:2], total(["?q"], rows[2:], x(p, q), hints=["k"]), hints=["k"])
    assert text(nested) == "sum{k}_0^2 (sum{z0}_0^3 (x[k, z0]))"
    beside = add(
        total(["?p"], rows[:2], x(p, p), hints=["k"]), total(["?p"], rows[:2], x(p, p + 1), hints=["k"])
    )
    assert text(beside) == "sum{k}_0^2 (x[k, k]) + sum{k}_0^2 (x[k, k + 1])"


# -- programs ----------------------------------------------------------------------------------

PAPER = """\
a: f64[3, 5]
b: f64[4, 5]
c: f64[3, 3]
d: f64[8]
f: f64[3, 4]

f[i, j] = exp(-sum{k}_0^4 ((a[i, k] + b[j, k])**2 * c[i, i] + d[i + k]**3))
"""

MANY = """\
x: f32[8]
s: f64
g: f64[4]
f: f64

let h[i: 4, z0: 2] = if {i >= z0 and i % 2 = 0} then (x[i // 2]) else (2 * i + 1 - i // 2)
g[i] = select(h[i, 0] > s, max(h[i, 1], 1), -h[i, 0]**-2**-s) + (sum{k}_-2^-1 (k))**2 * pi
let t = sum{k}_0^3 (g[k])
f = -t / 3.0 + sum{z1}_0^7 (sum{z0}_(max [0; z1 - 2])^(min [4; z1]) (x[z0] * z1)) % 0.25
"""

PLAIN = """\
f: f64[3]

f[i] = 1
"""


@pytest.mark.parametrize("source", [PAPER, PLAIN])
def test_a_program_reads_as_it_was_written(source: str) -> None:
    assert print_program(read(source)) == source


def test_what_is_printed_prints_the_same_again() -> None:
    printed = print_program(read(MANY))
    assert print_program(read(printed)) == printed
    assert "let h[i: 4, z0: 2] = if {i >= z0 and i % 2 = 0} then" in printed
    assert (
        "f = -t / 3.0 + sum{z1}_0^7 (sum{z0}_(max [0; z1 - 2])^(min [4; z1]) (x[z0] * z1)) % 0.25" in printed
    )


def test_deep_terms() -> None:
    term: Term = x(i)
    for _ in range(10_000):
        term = T.apply("exp", [add(term, one)])
    assert text(term) == "exp(" * 10_000 + "x[i]" + " + 1)" * 10_000
