"""Programs in the words of other languages: an error says what is written here, edits do it."""

import re

import pytest

from tadc.commands.fix import applied, fixed
from tadc.frontend import elsewhere, foreign_functions
from tadc.frontend.diagnostics import CompileError, Diagnostic
from tadc.frontend.functions import FUNCTIONS
from tadc.frontend.lexer import tokenize
from tadc.frontend.parser import parse
from tadc.frontend.per_value import read_program
from tadc.frontend.source import Source

X = "x: f64[3]\n"


def errors(text: str) -> list[Diagnostic]:
    try:
        read_program(Source(text))
    except CompileError as error:
        return error.diagnostics
    return []


#: A program, the code of its error, a word of its help.
SAID = [
    ("", "TAD0405", "declares arguments"),
    ("# nothing\n", "TAD0405", "declares arguments"),
    ("x: i32[3]", "TAD0109", "`size N`"),
    ("x: complex128[3]", "TAD0109", "no complex numbers"),
    ("x: bool[3]", "TAD0109", "0 and 1"),
    (X + "f[i] = zeta(x[i])", "TAD0201", "not in the language"),
    (X + "f[i] = round(x[i])", "TAD0201", "floor(x + 0.5)"),
    (X + "f[i] = clip(x[i], 0, 1)", "TAD0201", "max(min(x, high), low)"),
    (X + "f = cumsum(x)", "TAD0201", "sum{j}_0^i"),
    (X + "f = mean{i} (x[i])", "TAD0201", "/ N"),
    (X + "f = mean(x)", "TAD0201", "/ N"),
    (X + "f = prod(x)", "TAD0201", "prod{i} (x[i])"),
    (X + "f = argmax{i} (x[i])", "TAD0201", "max{i} (x[i])"),
    (X + "f = sum_{i} x[i]", "TAD0201", "sum{i} (…)"),
    (X + "f = sum_i x[i]", "TAD0201", "sum{i} (…)"),
    (X + "f = sum{i=0}^{2} (x[i])", "TAD0102", "sum{i}_0^2"),
    (X + "f = sum{i in 3} (x[i])", "TAD0102", "sum{i}_0^2"),
    (X + "f = sum(x)", "TAD0102", "sum{k} (x[k])"),
    (X + "f = max(x[i] for i)", "TAD0102", "sum{i} (x[i])"),
    (X + "f = x.sum()", "TAD0104", "sum{i} (x[i])"),
    (X + "f[i] = x.T", "TAD0104", "b[j, i] = a[i, j]"),
    (X + "f[i] = x[i].mean()", "TAD0104", "/ N"),
    (X + "f = x @ x", "TAD0104", "sum{k} (a[i, k] * b[k, j])"),
    (X + "f[i] += x[i]", "TAD0104", "scan{t}"),
    (X + "f[i] = |x[i]|", "TAD0104", "abs(x)"),
    (X + "f[i] = x[i]'", "TAD0104", "b[j, i]"),
    (X + "f[i] = x[i, :]", "TAD0102", "an index for each dimension"),
    (X + "f[i] = x[1:3]", "TAD0102", "x[i + 1]"),
    (X + "f[i] = x[...]", "TAD0104", "each index is named"),
    (X + "f[i] = x[i] if i > 0 else 0", "TAD0102", "stands in front"),
    (X + "f[i] = if {i = 0 or i = 2} then (x[i]) else (0)", "TAD0102", "one for each"),
    (X + "f[i] = if {not i = 0} then (x[i]) else (0)", "TAD0102", "`!=`"),
    (X + "f[i] = if {i > 0} then (x[i]) elif {i > 1} then (0) else (0)", "TAD0105", "one `if` in the other"),
    (X + 'f[i] = "a"', "TAD0104", "without quotes"),
    (X + 'k="a"', "TAD0104", "without quotes"),
    (X + "f[i] = x[i] // my comment", "TAD0102", "a comment starts with `#`"),
    (X + "f[i] = \\frac{x[i]}{2}", "TAD0104", "a / b"),
    (X + "f[i] = sin^2 x[i]", "TAD0102", "sin(x)**2"),
    (X + "f[i] = log(x[i], 2)", "TAD0110", "log(x) / log(b)"),
    (X + "f[i: 0..3] = x[i]", "TAD0103", "starts at 0"),
    (X + "f = None", "TAD0204", "missing value"),
    (X + "f = max(x[0], axis=0)", "TAD0102", "`axis`"),
    (X + "f[i] = x[i] and 1", "TAD0102", "alone"),
    (X + "f[i] = f32(x[i])", "TAD0201", "no casts"),
    (X + "f = \N{N-ARY SUMMATION}_{i=0}^{2} x[i]", "TAD0104", "sum{i}_0^4"),
    (X + "f = sum{i}_0 (x[i])", "TAD0102", "both bounds"),
    (X + "f = x[0] / size(x)", "TAD0102", "x: f64[N]"),
    (X + "f = sum{i}_0^N (x[i])", "TAD0202", "`size N`"),
    (X + "f = x[0, 1]", "TAD0301", "`x[i]`"),
    (X + "scan f[i] = f[i - 1] + x[i]", "TAD0102", "scan{t}"),
    (X + "f[i] = (i > 0) * x[i]", "TAD0102", "select(x > y, 1, 0)"),
    (X + "f[i: 6] = x[min(i, 2)]", "TAD0303", "if {i < 2}"),
    (X + "f[i: 3] = x[x[i]]", "TAD0307", "select(y[i] = j, x[j], 0)"),
    (X + "f[i] = (x[i], 2)", "TAD0102", "there are no lists"),
    (X + "f[i] = [x[i], 2]", "TAD0102", "there are no lists"),
    (X + "f(x) = sum{i} (x[i])", "TAD0102", "a program is one function"),
    (X + "f[i] = x[i]\n    + 2", "TAD0102", "inside brackets"),
    (X + "f = x", "TAD0301", "f[i] = … x[i] …"),
    (X + "f[i] = sum{i} (x[i])", "TAD0306", "another name"),
    (X + "y[0] = 1", "TAD0102", "scan{t} y"),
    (X + "y[i + 1] = x[i]", "TAD0102", "shift what is read"),
    ("def g(x): return x", "TAD0102", "a program is one function"),
    ("import numpy as np", "TAD0102", "nothing is imported"),
    ("for i in range(3):", "TAD0102", "there are no loops"),
    (X + "return x", "TAD0102", "`f[i] = …`"),
    ("double x[3]", "TAD0102", "`x: f64[3]`"),
    ("x, y: f64", "TAD0102", "`x: f64[3]; y: f64[3]`"),
    ("exp = 3", "TAD0106", "reserved are abs acos"),
    ("size N = M", "TAD0102", "f64[2*M]"),
    (X + "x[i] = x[i] + 1", "TAD0206", "another name"),
    (
        "scan{t} a[t: 9] = if {t = 0} then (0) else (b[t - 1])\n"
        "scan{t} b[t: 9] = if {t = 0} then (1) else (a[t - 1])",
        "TAD0206",
        "docs/recurrences.md",
    ),
]

#: A program that cannot be read, and what its edits make of it.
MENDED = [
    (X[:-1] + " f[i] = x[i]", X[:-1] + "; f[i] = x[i]"),
    ("x: f64, y: f64\nf = x + y", "x: f64; y: f64\nf = x + y"),
    ("x = f64[N]\nf = sum{i} (x[i])", "x: f64[N]\nf = sum{i} (x[i])"),
    ("x: float32[3]\nf[i] = x[i]", "x: f32[3]\nf[i] = x[i]"),
    ("x: f64(3)\nf[i] = x[i]", X + "f[i] = x[i]"),
    ("let x: f64[3]\nf[i] = x[i]", X + "f[i] = x[i]"),
    ("N = 3\nx: f64[N]\nf[i] = x[i]", "size N = 3\nx: f64[N]\nf[i] = x[i]"),
    ("x: f64[1e2]\nf[i] = x[i]", "x: f64[100]\nf[i] = x[i]"),
    ("size N, M\nf[i: N, j: M] = i", "size N; size M\nf[i: N, j: M] = i"),
    (X + "f[i] = where(x[i] > 0, x[i], 0)", X + "f[i] = select(x[i] > 0, x[i], 0)"),
    (X + "f[i] = if x[i] > 0 then (x[i]) else (0)", X + "f[i] = select(x[i] > 0, x[i], 0)"),
    (X + "f[i] = if {x[i] > 0} then (x[i]) else (0)", X + "f[i] = select(x[i] > 0, x[i], 0)"),
    (X + "f[i] = if i = 0 then x[i] else 0", X + "f[i] = if {i = 0} then (x[i]) else (0)"),
    (X + "f[i] = if (i = 0) then (x[i]) * 2 else (0)", X + "f[i] = if {i = 0} then ((x[i]) * 2) else (0)"),
    (X + "f[i] = if {i == 0 && i < 2} then (x[i])", X + "f[i] = if {i = 0 and i < 2} then (x[i]) else (0)"),
    (X + "f[i] = ln(x[i]) + arcsin x[i]", X + "f[i] = log(x[i]) + asin x[i]"),
    (X + "f[i] = np.sin(x[i]) * math.pi", X + "f[i] = sin(x[i]) * pi"),
    (X + "f[i] = x[i]^2", X + "f[i] = x[i]**2"),
    (X + "f[i] := 2x[i]", X + "f[i] = 2*x[i]"),
    (X + "f[i] = 2(x[i])", X + "f[i] = 2*(x[i])"),
    (X + "f[i] = x(i)", X + "f[i] = x[i]"),
    (X + "f(i) = x[i]", X + "f[i] = x[i]"),
    ("x: f64[3][2]\nf[i, j] = x[i][j]", "x: f64[3, 2]\nf[i, j] = x[i, j]"),
    ("x: f64[3,]\nf[i,] = max(x[i], 0,)", X + "f[i] = max(x[i], 0)"),
    (X + "f[i] = max(x[i], 0, 1)", X + "f[i] = max(max(x[i], 0), 1)"),
    (X + "f[i] = x_i", X + "f[i] = x[i]"),
    (X + "f = x[-1]", X + "f = x[2]"),
    ("x: f64[N]\nf = x[N]", "x: f64[N]\nf = x[N - 1]"),
    (X + "f[i] = +x[i] mod 2", X + "f[i] = x[i] % 2"),
    (X + "f[i] = e**x[i] + inf", X + "f[i] = exp(1)**x[i] + (1/0)"),
    (X + "f[i] = 1_000 * 0x10 * x[i]", X + "f[i] = 1000 * 16 * x[i]"),
    (X + "f[i] = (x[i] + 1", X + "f[i] = (x[i] + 1)"),
    (X + "f[i] = x[i] + 1)", X + "f[i] = x[i] + 1"),
    (X + "f = sum{i}_{0}^{2} (x[i])", X + "f = sum{i}_(0)^(2) (x[i])"),
    (X + "f[i] = if i > 0 { x[i] } else { 0 }", X + "f[i] = if {i > 0} then ( x[i] ) else ( 0 )"),
    (X + "f[i] = if (x[i] > 0) x[i] else 0", X + "f[i] = select(x[i] > 0, x[i], 0)"),
    ("x: f64[2**3]\nf[i] = x[i]", "x: f64[8]\nf[i] = x[i]"),
    (X + "f = sum{i} x[i] * 2", X + "f = sum{i} (x[i] * 2)"),
    (X + "f[i] = exp{x[i]} + 2", X + "f[i] = exp(x[i]) + 2"),
    (X + "f[i] = 1,5 * x[i]", X + "f[i] = 1.5 * x[i]"),
    ("x: f64[]\nf = x", "x: f64\nf = x"),
    ("x[3]: f64\nf[i] = x[i]", X + "f[i] = x[i]"),
    ("x f64[3]\nf[i] = x[i]", X + "f[i] = x[i]"),
    (X[:-1] + " % a tensor\nf[i] = x[i]", X[:-1] + " # a tensor\nf[i] = x[i]"),
    (X + "f[i: 6] = x[floor(i / 2)]", X + "f[i: 6] = x[i // 2]"),
    ("x: f64[9]\nf[i: 6] = x[3*floor(i / 2)]", "x: f64[9]\nf[i: 6] = x[3*(i // 2)]"),
    ("x: f64\nf = x\N{SUPERSCRIPT ONE}\N{SUPERSCRIPT TWO}", "x: f64\nf = x**12"),
    ("x: f64\nf = x\N{SUPERSCRIPT MINUS}\N{SUPERSCRIPT TWO}", "x: f64\nf = x**-2"),
    ("\N{GREEK CAPITAL LETTER SIGMA}: f64\nf = 2*\N{GREEK CAPITAL LETTER SIGMA}", "Sigma: f64\nf = 2*Sigma"),
    (X + "f = \N{N-ARY SUMMATION}{i} (x[i]\N{SUPERSCRIPT TWO})", X + "f = sum{i} (x[i]**2)"),
    (X + "f[i] = \N{MINUS SIGN}x[i] \N{MULTIPLICATION SIGN} 2", X + "f[i] = -x[i] * 2"),
    ("\N{GREEK SMALL LETTER ALPHA}: f64\nf = 2*\N{GREEK SMALL LETTER ALPHA}", "alpha: f64\nf = 2*alpha"),
    (X + "f[i] = \\exp x[i] \\cdot \\left( 2 \\right)", X + "f[i] = exp x[i] * ( 2 )"),
    (X + "f = Sum{i} (X[i])", X + "f = sum{i} (x[i])"),
    ("// a comment\n" + X + "f[i] = x[i]", "# a comment\n" + X + "f[i] = x[i]"),
]


@pytest.mark.parametrize(("text", "code", "word"), SAID, ids=lambda text: repr(text)[-30:])
def test_one_error_says_it(text: str, code: str, word: str) -> None:
    (found,) = errors(text)
    assert found.code == code
    assert word in " ".join(found.helps), found.helps


@pytest.mark.parametrize(("text", "meant"), MENDED, ids=lambda text: repr(text)[-30:])
def test_edits_do_it(text: str, meant: str) -> None:
    source, problems, changes = fixed(Source(text), {}, unsafe=True)
    assert source.text == meant
    assert problems == []
    assert changes


#: A program, and what edits make of it that are safe; the others stay.
GUESSES = [
    (X + "f[i] = lob(ln(x[i]))", X + "f[i] = lob(log(x[i]))"),
    ("value: f64\nf = vlaue^2", "value: f64\nf = vlaue**2"),
    (X + "f[i] = e * x[i]", None),
    (X + "f[i] = tau * x[i]", None),
    (X + "f[i] = fmax(x[i], 0)", None),
    (X + "f[i] = x(1)", None),
    (X + "f = x[3]", None),
    ("a: f64\nf = a(a + 1)", None),
    ("size N\nf[i: N] = N(i + 1)", None),
    (X + "f[i] = 1/2x[i]", None),
    (X + "f[i] = 1.0f*x[i]", None),
    (X + "f[i] = x[i] rem 2", None),
    (X + "f = prod{i} x[i] * 2", None),
    (X + "f = 1 / sum{i} x[i] * 2", None),
    ("x: f64\nf = x^x^2", "x: f64\nf = x^x**2"),
    (X + "f[i] = \N{SQUARE ROOT}x[i]", None),
    ("\N{LATIN SMALL LETTER E WITH ACUTE}: f64\ne: f64\nf = e", None),
    ("x: f64 = 3\nf = x", None),
    ("x: real[3]\nf[i] = x[i]", None),
    (X + "f[i] = (x[i] + 1", None),
]


@pytest.mark.parametrize(("text", "safe"), GUESSES, ids=lambda text: repr(text)[-30:])
def test_a_guess_waits_to_be_asked_for(text: str, safe: str | None) -> None:
    source, problems, _ = fixed(Source(text), {})
    assert source.text == (safe or text)
    assert problems
    assert any(problem.edits and not problem.is_safe for problem in problems)


def test_a_sign_is_one_error_however_often_it_stands() -> None:
    text = X + "f[i] = x[i] == 1\ng[i] = x[i] == 2"
    (found,) = (e for e in errors(text) if e.code == "TAD0104")
    assert applied(text, found.edits).count("==") == 0


def test_what_is_said_can_be_written() -> None:
    """Each text of the tables that stands in quotes is a statement, an expression, or tokens."""
    tables = (
        elsewhere.TYPES, foreign_functions.CALLS, elsewhere.VALUES, elsewhere.STATEMENTS, elsewhere.FOLLOWING,
        elsewhere.SIGNS,
    )  # fmt: skip
    for table in tables:
        for hint in table.values():
            for shown in re.findall(r"`([^`]*)`", hint.help):
                text = shown.replace("…", "1")
                if not text.startswith("tadc "):
                    assert _is_language(text), shown


def _is_language(text: str) -> bool:
    for around in ("{}", "f = {}", "f: f64[{}]", "f[{}] = 1"):
        try:
            parse(Source(around.replace("{}", text)))
        except CompileError:
            continue
        return True
    tokens = tokenize(Source(text))
    return not tokens.errors and len(tokens.items) <= 3


def test_what_replaces_a_function_is_one() -> None:
    meant = {hint.text for hint in foreign_functions.CALLS.values() if hint.text}
    assert meant <= {*FUNCTIONS, "select"}
    assert not foreign_functions.CALLS.keys() & (FUNCTIONS.keys() - {"max", "min"})
