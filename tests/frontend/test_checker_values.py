"""Value expressions as terms, whole programs, places of terms, and large inputs."""

from __future__ import annotations

import math
import time

import pytest

from tadc.frontend.limits import MAX_INDICES, MAX_REGIONS
from tadc.frontend.printer import print_program
from tadc.frontend.source import Source, Span
from tadc.frontend.terms import Apply, Const, IndexValue, Read, Reduce, Select, Term, operands
from tests.frontend.checking import checked, definition, printed, problem, problems

PAPER = """a: f64[3, 5]
b: f64[4, 5]
c: f64[3, 3]
d: f64[8]
f[i, j] = exp(-sum{k}_0^4 ((a[i, k] + b[j, k])**2 * c[i, i] + d[i + k]**3))
"""


def brief(term: Term) -> str:
    """A term as nested calls."""
    match term:
        case Const():
            return repr(term.value)
        case IndexValue():
            return f"[{term.form}]"
        case Read():
            return f"{term.tensor}[{', '.join(map(str, term.indices))}]"
        case Apply():
            return f"{term.function}({', '.join(map(brief, term.operands))})"
        case Select():
            return f"select{term.relation}({', '.join(map(brief, operands(term)))})"
        case _:
            raise AssertionError(term)


def test_the_example_of_the_paper() -> None:
    program = checked(PAPER)
    assert [a.shape for a in program.arguments] == [(3, 5), (4, 5), (3, 3), (8,)]
    (f,) = program.definitions
    assert (f.shape, f.type, f.indices, f.is_output) == ((3, 4), "f64", ("i", "j"), True)
    assert print_program(program).splitlines()[-1] == PAPER.splitlines()[-1]
    assert program.source == Source(PAPER, "f.tad")


@pytest.mark.parametrize(
    ("expression", "term"),
    [
        ("x[i] + 2*s - 3/s % 2**x[i]", "sub(add(x[i], mul(2, s[])), mod(div(3, s[]), pow(2, x[i])))"),
        ("i", "[i]"),
        ("N", "4"),
        ("2*i + N", "add(mul(2, [i]), 4)"),
        ("i*j", "mul([i], [j])"),
        ("i/2", "div([i], 2)"),
        ("i**2", "pow([i], 2)"),
        ("i // 2", "[(i // 2)]"),
        ("(2*i + j) // N * s", "mul([((2*i + j) // 4)], s[])"),
        ("i // 2 + i % 3", "add([(i // 2)], [i - 3*(i // 3)])"),
        ("(i - 2*j) % 3", "[i - 2*j - 3*((i - 2*j) // 3)]"),
        ("-i % 3", "[-i - 3*((-i) // 3)]"),
        ("i % 1", "0"),
        ("7 // 2", "3"),
        ("-7 % 4", "1"),
        ("(i*j) % 2", "mod(mul([i], [j]), 2)"),
        ("i % j", "mod([i], [j])"),
        ("i % -2", "mod([i], -2)"),
        ("i % 0", "mod([i], 0)"),
        ("i % 2.0", "mod([i], 2.0)"),
        ("x[i] % 2", "mod(x[i], 2)"),
        ("-3", "-3"),
        ("-2.5", "-2.5"),
        ("-0", "neg(0)"),
        ("-0.0", "-0.0"),
        ("-pi", repr(-math.pi)),
        ("pi", repr(math.pi)),
        ("-s", "neg(s[])"),
        ("--s", "neg(neg(s[]))"),
        ("--3", "neg(-3)"),
        ("-2**2", "neg(pow(2, 2))"),
        ("s**-2", "pow(s[], -2)"),
        ("s**2", "pow(s[], 2)"),
        ("s**2.0", "pow(s[], 2.0)"),
        ("sgn(s) + pow(s, 2) + max(s, x[j])", "add(add(sign(s[]), pow(s[], 2)), max(s[], x[j]))"),
        ("exp sin s", "exp(sin(s[]))"),
        ("select(i <= s, x[i], 0)", "select<=([i], s[], x[i], 0)"),
        ("select(s != 2, s, 1)", "select!=(s[], 2, s[], 1)"),
        ("10**30", "pow(10, 30)"),
        ("123456789012345678901234567890", "123456789012345678901234567890"),
    ],
)
def test_terms(expression: str, term: str) -> None:
    body = definition(f"size N = 4\nx: f64[5]\ns: f64\nf[i: 4, j: 3] = {expression}").body
    assert brief(body) == term


@pytest.mark.parametrize(
    ("expression", "at", "helps"),
    [
        ("x[i] // 2", "x[i]", ("for values write `floor(x[i] / 2)`",)),
        ("(x[i] + 1) // 2", "x[i] + 1", ("for values write `floor((x[i] + 1) / 2)`",)),
        ("i // x[i]", "x[i]", ("for values write `floor(i / x[i])`",)),
        ("i*j // 2", "i*j", ("for values write `floor((i*j) / 2)`",)),
        ("1.5 // 2", "1.5", ("for values write `floor(1.5 / 2)`",)),
    ],
)
def test_floor_division_of_values(expression: str, at: str, helps: tuple[str, ...]) -> None:
    found = problem(f"x: f64[5]\nf[i: 4, j: 3] = {expression}")
    assert (found.code, found.message) == ("TAD0311", "`//` divides index expressions only")
    assert (found.at.split(" ", 1)[1], found.label) == (at, "not a linear index expression")
    assert found.helps == helps


def test_floor_division_by_what_is_no_divisor() -> None:
    assert problem("f[i: 4] = i // 0").code == "TAD0310"
    assert problem("f[i: 4] = 2 * (i // i)").code == "TAD0310"
    assert problem("f[i: 8] = 4611686018427387904*i // 3").code == "TAD0309"


def test_indices_of_one_sum_make_one_node() -> None:
    f = definition("x: f64[4, 5]\nf = sum{i, j: 3} (x[i, j])")
    assert isinstance(f.body, Reduce)
    assert (len(f.body.binders), f.body.hints, f.body.kind) == (2, ("i", "j"), "sum")
    assert len(f.body.domain) == 4
    outer, inner = f.body.binders
    points = [{outer: i, inner: j} for i in range(-1, 6) for j in range(-1, 6)]
    inside = [p for p in points if all(row.holds(p) for row in f.body.domain)]
    assert inside == [{outer: i, inner: j} for i in range(4) for j in range(3)]


def test_sums_that_differ_in_names_are_one_term() -> None:
    program = checked("x: f64[4]\nf = sum{k} (x[k]) + sum{l} (x[l]) * sum{k} (x[k])")
    first, product = operands(program.definitions[0].body)
    assert all(term is first for term in operands(product))


@pytest.mark.parametrize("kind", ["prod", "max", "min", "logsumexp"])
def test_other_reductions_are_read_and_proven_like_sums(kind: str) -> None:
    f = definition(f"x: f32[4, 3]\nf = {kind}{{i, j: 2}} (x[i, j])")
    assert isinstance(f.body, Reduce)
    assert (f.body.kind, f.body.hints, len(f.body.domain), f.type) == (kind, ("i", "j"), 4, "f32")
    codes = [p.code for p in problems(f"x: f64[4]\nf = {kind}{{k}}_0^4 (x[k] + q)")]
    assert codes == ["TAD0302", "TAD0204"]
    found = problem(f"x: f64[4]\nf = {kind}{{k}} (x[2*k + 1])")
    assert (found.code, found.helps) == (
        "TAD0306",
        (f"state it, for example `{kind}{{k: 2}} (…)`",),
    )
    found = problem(f"x: f64[4]\nf = {kind}{{k: 5}} (x[k])")
    assert any(f"write `{kind}{{k}}_0^3 (…)`" in text for text in found.helps)


def test_reductions_of_different_kinds_are_different_terms() -> None:
    program = checked("x: f64[4]\nf = max{k} (x[k]) - min{k} (x[k])")
    first, second = operands(program.definitions[0].body)
    assert first is not second


def test_terms_know_their_place() -> None:
    text = (
        "x: f64[4]\nf[i] = exp(-x[i]) * sum{k}_0^3 (if {k = i} then (2.5) else (select(x[k] > i % 3, i, 7)))"
    )
    seen: dict[str, str] = {}

    def visit(term: Term) -> None:
        assert isinstance(term.span, Span)
        seen.setdefault(text[term.span.start : term.span.end], type(term).__name__)
        for below in operands(term):
            visit(below)

    f = definition(text)
    visit(f.body)
    assert isinstance(f.span, Span)
    assert text[f.span.start : f.span.end] == text.splitlines()[1]
    assert seen["-x[i]"] == "Apply"
    assert seen["exp(-x[i])"] == "Apply"
    assert seen["x[i]"] == "Read"
    assert seen["i % 3"] == "IndexValue"
    assert seen["2.5"] == "Const"
    assert seen["if {k = i} then (2.5) else (select(x[k] > i % 3, i, 7))"] == "Guard"
    assert seen["select(x[k] > i % 3, i, 7)"] == "Select"
    assert seen[text[text.index("sum") :]] == "Reduce"


@pytest.mark.parametrize(
    "text",
    [
        PAPER,
        "df: f64[3]\ndd[d_0: 7] = sum{z1}_(max [0; d_0 - 2])^(min [4; d_0]) (df[d_0 - z1])",
        "df: f64[3, 2]\ndx[x_0: 6, j] = if {x_0 % 2 = 0} then (df[x_0 // 2, j]) else (0)",
        "x: f64[4, 2]\nf[i: 4, j: 3] = x[(i + j) // 2, i % 2]",
        "x: f64[5]\nf[i: 5] = sum{k}_0^(i) (x[k] * sum{k}_(k)^4 (x[k] - i // 2))",
        "x: f64[5]\nlet h[i] = select(x[i] > 0, -x[i]**-2, -0.0)\ng = h[0] % 3\nf: f32\nf = g + -pi",
        "x: f64[9]\nf[i: 9] = if {i != 0 and i < 8} then (x[i - 1] + x[i + 1]) else (-0 + i % 3)",
    ],
)
def test_a_printed_program_is_the_same_program(text: str) -> None:
    once = print_program(checked(text))
    assert print_program(checked(once)) == once


def test_the_type_of_an_intermediate_is_kept() -> None:
    """Where it is that of its formula, it is not said."""
    text = (
        "x: f32[3]\ny: f64\nlet g[i]: f64 = x[i]\nlet h[i]: f32 = g[i] * y\nlet k[i]: f32 = x[i]\nf[i] = k[i]"
    )
    program = checked(text)
    assert {d.name: d.type for d in program.definitions} == {"g": "f64", "h": "f32", "k": "f32", "f": "f32"}
    heads = [line.split(" = ")[0] for line in print_program(program).splitlines()[-4:]]
    assert heads == ["let g[i: 3]: f64", "let h[i: 3]: f32", "let k[i: 3]", "f[i]"]
    assert checked(print_program(program)).types() == program.types()


def test_conformance_programs_with_named_sizes() -> None:
    text = "size M = 4\nx: f64[12]\nf[i: 3, j: M] = exp(x[M*i + j])"
    assert printed(text) == "f[i, j] = exp(x[4*i + j])"


# -- large inputs ----------------------------------------------------------------------------


def test_deep_nesting() -> None:
    depth = MAX_INDICES
    sums = "".join(f"sum{{k{n}}}_0^({f'k{n - 1}' if n else 3}) (" for n in range(depth))
    guards = "".join(f"if {{i = {n}}} then (x[i]) else (" for n in range(MAX_REGIONS))
    assert checked(f"x: f64[4]\nf = {sums}x[k{depth - 1}]{')' * depth}")
    assert checked(f"x: f64[4]\nf[i] = {guards}x[i]{')' * MAX_REGIONS}")
    assert checked("x: f64[4]\nf[i] = " + "exp(" * MAX_REGIONS + "-x[i]" + ")" * MAX_REGIONS)


@pytest.mark.parametrize("part", ["x[k] + ", "x[k] - k % 2 * ", "x[k] % "])
def test_long_chains(part: str) -> None:
    body = definition(f"x: f64[4]\nf = sum{{k}} ({part * 3000}x[k])").body
    assert body.free == frozenset()


def test_long_index_chains() -> None:
    assert checked(f"x: f64[4]\nf[i: 4] = x[{' + '.join(['i', *['i - i'] * 2000])}]")


def test_time_is_linear_in_the_number_of_statements() -> None:
    def seconds(count: int) -> float:
        lines = [f"let h{n + 1}[i] = h{n}[i]**2 + sum{{k}}_0^(i) (h{n}[k])" for n in range(count)]
        text = "\n".join(["h0: f64[8]", *lines])
        start = time.perf_counter()
        assert len(checked(text).definitions) == count
        return time.perf_counter() - start

    seconds(100)
    assert seconds(1000) < 40 * max(seconds(100), 0.01)
