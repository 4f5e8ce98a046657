"""Sparse tensors: their declarations, what elements become, what may not be done with them, print."""

from __future__ import annotations

import pytest

from tadc.compiler.derive import derive
from tadc.frontend.diagnostics import CompileError
from tadc.frontend.dump import dump
from tadc.frontend.parser import parse
from tadc.frontend.per_value import read_program
from tadc.frontend.printer import print_program
from tadc.frontend.program import Pattern, Program
from tadc.frontend.source import Source
from tadc.frontend.specialise import specialised
from tadc.lattice.affine import Affine
from tests.frontend.checking import all_problems, checked, definition, problem, problems

HEAD = "row: index[E] in N\ncol: index[E] in M\nA: f64[N, M] at (row, col)\n"
MORE = HEAD + "B: f64[M, N] at (col, row)\nx: f64[M]\nu: f64[N, K]\nv: f64[M, K]\n"


def shown(text: str) -> list[str]:
    """The definitions of a program as printed, which read back to the same text."""
    once = print_program(checked(text))
    assert print_program(checked(once)) == once
    return once.partition("\n\n")[2].splitlines()


def test_declarations() -> None:
    program = checked(
        HEAD + "D: f32[N, M, 3] at (row, col)\ni: index[E, 2] in N\nt: f64[N] at i\nf = D[at 0, 1]"
    )
    e, n, m = map(Affine.var, "ENM")
    a, d, t = (next(x for x in program.arguments if x.name == name) for name in "ADt")
    assert (a.shape, a.pattern) == ((e,), Pattern(("row", "col"), (n, m)))
    assert (d.shape, d.type, d.pattern) == ((e, 3), "f32", Pattern(("row", "col"), (n, m, 3)))
    assert (t.shape, t.pattern) == ((e, 2), Pattern(("i",), (n,)))
    assert (a.declared_type, t.declared_type) == ("f64[N, M] at (row, col)", "f64[N] at i")
    assert program.sparse() == {"A", "D", "t"}


def test_at_is_a_name_elsewhere() -> None:
    assert shown("at: f64[3]\nf[i] = at[i]") == ["f[i] = at[i]"]
    assert shown("x: f64[3]\nf[at] = x[at]") == ["f[at] = x[at]"]
    assert shown("x: f64[4]\nf[at: 3] = x[at + 1]") == ["f[at] = x[at + 1]"]
    assert shown("at: index[3] in 3\nx: f64[3] at at\nf[at_] = x[at at_]") == ["f[at_] = x[at at_]"]


@pytest.mark.parametrize(
    ("written", "printed"),
    [
        ("f[i] = sum{j} (A[i, j] * x[j])", "f[i] = sum{e: row[e] = i} (A[at e] * x[col[e]])"),
        ("f[i: N] = -sum{j: M - 1} (A[i, j + 1] * x[j] / 2)",
         "f[i] = sum{e: row[e] = i and col[e] >= 1} (-(A[at e] * x[col[e] - 1] / 2))"),
        ("f = sum{i, j} (u[i, 0] * A[i, j] * x[j])",
         "f = sum{e}_0^(E - 1) (u[row[e], 0] * A[at e] * x[col[e]])"),
        ("f = sum{i} (u[i, 0] * sum{j} (A[i, j] * x[j]))",
         "f = sum{e}_0^(E - 1) (u[row[e], 0] * (A[at e] * x[col[e]]))"),
        ("f = exp(sum{i, j} (A[i, j]))", "f = exp(sum{e}_0^(E - 1) (A[at e]))"),
        ("f[i: N] = max{j} (x[j]) * sum{j} (A[i, j])",
         "f[i] = sum{e: row[e] = i} (max{j}_0^(M - 1) (x[j]) * A[at e])"),
        ("f[i: N] = sum{j} ((A[i, j] - B[j, i]) * x[j])",
         "f[i] = sum{e: row[e] = i} (A[at e] * x[col[e]]) + sum{e: row[e] = i} (-B[at e] * x[col[e]])"),
        ("f[i: N] = sum{j} (A[i, j] + x[j])",
         "f[i] = sum{e: row[e] = i} (A[at e]) + sum{j}_0^(M - 1) (x[j])"),
        ("f[i: N] = (sum{j} (A[i, j] * x[j]) - 1)**2",
         "f[i] = (sum{e: row[e] = i} (A[at e] * x[col[e]]) + -1)**2"),
        ("f[i: N] = sum{j} (A[i, j]) * sum{j} (x[j] * A[i, j])",
         "f[i] = sum{e: row[e] = i} (A[at e]) * sum{e: row[e] = i} (x[col[e]] * A[at e])"),
        ("f[i, j] = A[i, j]", "f[i, j] = sum{e: col[e] = j and row[e] = i} (A[at e])"),
        ("f[i: N, j: M] = if {i > j} then (A[i, j]) else (2)",
         "f[i, j] = sum{e: col[e] = j and row[e] = i} (if {i > j} then (A[at e]) else (0))"
         " + if {i > j} then (0) else (2)"),
        ("f[i] = sum{j} (select(x[j] > 0, A[i, j], 0))",
         "f[i] = sum{e: row[e] = i} (select(x[col[e]] > 0, A[at e], 0))"),
        ("f = sum{e} (A[at e]**2 + exp(A[at e]))", "f = sum{e}_0^(E - 1) (A[at e]**2 + exp(A[at e]))"),
        ("f[n: E - 3] = A[at n + 3] + A[at (3 - n) % 3]", "f[n] = A[at n + 3] + A[at (-n) % 3]"),
    ],
)  # fmt: skip
def test_elements_join_the_sums_around_them(written: str, printed: str) -> None:
    line = " ".join(part.strip() for part in shown(MORE + written))
    assert line.replace("( ", "(").replace(" )", ")").replace("(" + printed[4:] + ")", printed) in (
        printed,
        printed.replace(" = ", " = (", 1) + ")",
    )


def test_products_of_sparse_tensors() -> None:
    (line,) = shown(HEAD + "f[i: N, k: N] = sum{j} (A[i, j] * A[k, j])")
    assert (
        line
        == "f[i, k] = sum{e: row[e] = i} (sum{z0: col[e] = col[z0] and row[z0] = k} (A[at e] * A[at z0]))"
    )


def test_several_dimensions_of_what_is_stored() -> None:
    text = "size N\np: index[E, 2] in N\nq: index[E, 2] in 4\nA: f64[N, 4, 3] at (p, q)\n"
    text += "f[c] = sum{i, j} (A[i, j, c])"
    assert shown(text) == ["f[c] = sum{e}_0^(E - 1) (sum{z0}_0^1 (A[at e, z0, c]))"]


def test_sparse_outputs() -> None:
    lines = shown(MORE + "C: f64[N, M] at (row, col)\nC[i, j] = sum{k} (u[i, k] * v[j, k])")
    assert lines == ["C[at e] = sum{k}_0^(K - 1) (u[row[e], k] * v[col[e], k])"]
    made = definition(MORE + "C: at (row, col)\nC[i, j] = u[i, 0] * x[j]", "C")
    assert (made.type, made.pattern) == ("f64", Pattern(("row", "col"), (Affine.var("N"), Affine.var("M"))))
    assert made.indices == ("e",)
    assert definition("i: index[3] in 4\ny: f32[4]\nC: at i\nC[n] = y[n]", "C").type == "f32"
    lines = shown(
        MORE + "C: f32[N, M, 2] at (row, col)\nC[i, j, b] = A[i, j] * b\nf = sum{i, j, b} (C[i, j, b])"
    )
    assert lines == ["C[at e, b] = A[at e] * b", "f = sum{b}_0^1 (sum{e}_0^(E - 1) (C[at e, b]))"]


def test_of_a_tensor_with_the_same_pattern_each_element_is_taken_by_itself() -> None:
    start = MORE + "C: at (row, col)\n"
    assert shown(start + "C[i, j] = A[i, j] * x[j] + 2") == ["C[at e] = A[at e] * x[col[e]] + 2"]
    (line,) = shown(start + "C[i, j] = B[j, i]")
    assert line == "C[at e] = B[at e]"
    (line,) = shown(
        start.replace("x:", "r: index[E] in N\nD: f64[N, M] at (r, col)\nx:") + "C[i, j] = D[i, j]"
    )
    assert line == "C[at e] = sum{z0: col[e] = col[z0] and r[z0] = row[e]} (D[at z0])"
    text = "a: index[E] in 4\nb: index[E] in 4\nA: f64[4, 4] at (a, b)\nw: f64[4]\nC: at a\n"
    assert shown(text + "C[i] = sum{j: 3} (A[i, j + 1] * w[j])") == [
        "C[at e] = if {b[e] >= 1} then (A[at e] * w[b[e] - 1]) else (0)"
    ]


def test_the_index_of_what_is_stored_has_a_name_of_its_own() -> None:
    text = "e: f64\nrow: index[E] in 4\nC: at row\nC[e1] = e * e1"
    assert shown(text) == ["C[at e2] = e * row[e2]"]


@pytest.mark.parametrize(
    ("written", "printed"),
    [
        ("A[i, j]**2", "A[at e] * W"),
        ("A[i, j]**3", "A[at e] * (W)**2"),
        ("sin(A[i, j])", "sin(W) / n"),
        ("max(A[i, j], 0) * x[j]", "max(W, 0) / n * x[col[e]]"),
        ("min(0.7, A[i, j])", "min(0.7, W) / n"),
        ("A[i, j] * exp(A[i, j])", "A[at e] * exp(W)"),
        ("A[i, j] / (1 + A[i, j])", "A[at e] / (1 + W)"),
        ("select(A[i, j] > 0, A[i, j], 0)", "select(W > 0, A[at e], 0)"),
    ],
)
def test_what_is_not_linear_is_of_the_whole_element(written: str, printed: str) -> None:
    text = " ".join(part.strip() for part in shown(MORE + f"f[i: N] = sum{{j}} ({written})"))
    at = "{z0: col[e] = col[z0] and row[z0] = i}"
    text = (
        text.replace("( ", "(")
        .replace(" )", ")")
        .replace(f"sum{at} (A[at z0])", "W")
        .replace(f"sum{at} (1)", "n")
    )
    assert text == f"f[i] = sum{{e: row[e] = i}} ({printed})"


def test_a_constant_element_is_one_number() -> None:
    assert len(shown(MORE + "f = exp(A[0, 1])")) == 1


@pytest.mark.parametrize(
    ("written", "message", "note"),
    [
        ("f[i: N, j: M] = exp(A[i, j])", "`exp` of an element", "this `exp` is not 0"),
        ("f[i: N] = sum{j} (exp(A[i, j]))", "`exp` of an element", "this `exp` is not 0"),
        ("f[i: N] = sum{j} (x[j] / A[i, j])", "`/` of an element", "this `/` is not 0"),
        ("f[i: N] = sum{j} (A[i, j]**(-2))", "`**` of an element", "this `**` is not 0"),
        ("f[i: N] = sum{j} (max(A[i, j], 1))", "`max` of an element", "this `max` is not 0"),
        ("f[i: N] = sum{j} (min(A[i, j], -1))", "`min` of an element", "this `min` is not 0"),
        ("f[i: N] = sum{j} (cos(A[i, j] + x[j]))", "`cos` of an element", "is not 0"),
        ("f[i: N] = sum{j} (sin(A[i, j]) + cos(A[i, j]))", "`cos` of an element", "is not 0"),
        ("f[i: N] = sum{j, k} (A[i, j] * cos(A[k, j]))", "`cos` of an element", "is not 0"),
        ("f[i: N] = sum{j} (x[j] * cos(A[i, j]))", "`cos` of an element", "is not 0"),
        ("f[i: N] = sum{j} (cos(sum{k} (A[i, j] * u[i, k])))", "`cos` of an element", "is not 0"),
        ("f[i: N] = max{j} (A[i, j])", "a `max` of elements", "there is a 0 in it"),
        ("f[i: N] = prod{j} (A[i, j] + 1)", "a `prod` of elements", "there is a 0 in it"),
        ("f[i: N] = sum{j} (select(A[i, j] > 0, 1, 0))", "a comparison of an element", "compared too, as 0"),
    ],
)
def test_what_is_not_0_where_nothing_is_stored_is_refused(written: str, message: str, note: str) -> None:
    found = problem(MORE + written)
    assert found.code == "TAD0214"
    assert found.message == f"{message}{'s' * message.startswith('elements')} of the sparse `A`"
    assert found.notes[0].endswith(note)
    assert "`A[at e]`" in found.helps[0]


def test_a_product_of_many_sums_is_refused() -> None:
    factor = "(A[i, j] + A[i, j] + A[i, j])"
    found = problem(HEAD + f"f = sum{{i, j}} ({' * '.join([factor] * 6)})")
    assert found.code == "TAD0113"


def test_wrong_uses() -> None:
    assert problem("x: f64[3]\nf[i] = x[at i]").code == "TAD0214"
    assert problem("x: f64[3]\nf[at i: 3] = x[i]").code == "TAD0214"
    assert problem(HEAD + "f[i] = A[i]").code == "TAD0301"
    assert problem(HEAD + "f[i: N, j: M] = A[at i, j]").code == "TAD0301"
    found = problem(HEAD + "f = sum{i, j: M + 1} (A[i, j])")
    assert (found.code, found.label) == ("TAD0302", "takes the value 0 here")
    assert problem(HEAD + "C: f64[N, M] at (row, col)\nC[i] = 1").code == "TAD0301"
    assert problem(HEAD + "C: at (row, col)\nscan{i} C[i, j] = 1").code == "TAD0214"
    assert problem(HEAD + "G: at (row, col)\nf = 1").message == "the argument `G` has no type"
    assert problem(HEAD + "G: f64[N] at (row, col)\nf = 1").message == "`G` has too few dimensions"
    assert problem(HEAD + "G: f64[N, N] at (row, col)\nf = 1").label == "not M"
    assert problem(HEAD + "G: f64[N, M] at (row, A)\nf = 1").message == "`A` is no index array"
    assert problem(HEAD + "G: f64[N, M] at (row, cow)\nf = 1").code == "TAD0204"
    assert problem("s: index in 3\nG: f64[3] at s\nf = 1").message == "`s` is a scalar"


def test_ranges_are_told_by_sparse_tensors() -> None:
    assert definition(HEAD + "f[i, j] = A[i, j]").shape == (Affine.var("N"), Affine.var("M"))
    assert definition(HEAD + "f[e] = A[at e]").shape == (Affine.var("E"),)
    found = problem(HEAD + "x: f64[K]\nf[i: N] = sum{j} (A[i, j] * x[j])")
    assert found.code == "TAD0305"
    assert [label for _, label in found.others] == ["0..M - 1 from `A[i, j]`", "0..K - 1 from `x[j]`"]


def test_derivatives_are_sparse() -> None:
    program = read_program(
        Source(MORE + "f[i] = sum{j} (A[i, j] * x[j])\nC: at (row, col)\nC[i, j] = u[i, 0]", "f")
    )
    assert isinstance(program, Program)
    for mode, names in (
        ("vjp", ["A", "B", "dC", "dA", "dB"]),
        ("jvp", ["A", "B", "A_dot", "B_dot", "C", "C_dot"]),
    ):
        made = derive(program, mode)
        text = print_program(made)
        assert [t.name for t in (*made.arguments, *made.outputs) if t.pattern] == names
        assert "dA: f64[N, M] at (row, col)" in text or "A_dot: f64[N, M] at (row, col)" in text
        assert print_program(checked(text)) == text
        again = derive(made, "vjp")
        assert print_program(checked(print_program(again))) == print_program(again)


def test_specialised() -> None:
    made = specialised(checked(HEAD + "f[i: N] = sum{j} (A[i, j])"), {"N": 5, "M": 4})
    assert made.arguments[2].pattern == Pattern(("row", "col"), (5, 4))


def test_dump_and_bad_syntax() -> None:
    text = dump(parse(Source(HEAD + "f = A[at 0]", "f.tad")))
    assert "at: Name row" in text
    assert "Subscript A at" in text
    with pytest.raises(CompileError):
        parse(Source("A: f64[3] at\nf = 1", "f.tad"))
    with pytest.raises(CompileError):
        parse(Source("A: f64[3] at (3)\nf = 1", "f.tad"))
    assert not problems(HEAD + "f = A[at (0)]")


def test_reads_with_a_wrong_number_of_indices() -> None:
    for read, message in (
        ("A[at e, e]", "`A` stores a tensor of 1 dimension but is read with 2 indices behind `at`"),
        ("A[e]", "`A` has 2 dimensions but is read with 1 index"),
    ):
        found = problem(HEAD + f"f[e] = {read}")
        assert (found.code, found.message) == ("TAD0301", message)
        assert found.helps == ("`A[i, j]` is an element, and `A[at e]` what is stored at e",)


def test_an_intermediate_is_not_sparse() -> None:
    (found,) = all_problems(MORE + "let C: at (row, col)\nC[i, j] = x[j]\nf[i] = sum{j} (C[i, j])")
    assert (found.code, found.at) == ("TAD0102", "8:8 at")
    assert found.helps == ("make it an output, which others may read: `C: at (…)` without `let`",)


@pytest.mark.parametrize(
    ("text", "let"),
    [
        ("let D[i, j] = A[i, j] * x[j]\nf[i] = sum{j} (D[i, j])", "let D[e: E] = A[at e] * x[col[e]]"),
        ("let D[j, i] = 2 * A[i, j]\nf[j] = sum{i} (D[j, i])", "let D[e: E] = 2 * A[at e]"),
        (
            "let D[i, j] = A[i, j] + x[j]\nf[i] = sum{j} (D[i, j])",
            "let D[i: N, j: M] = sum{e: col[e] = j and row[e] = i} (A[at e]) + x[j]",
        ),
        (
            "let D[i, j] = A[i, j]\nf[i] = sum{j} (exp(D[i, j]))",
            "let D[i: N, j: M] = sum{e: col[e] = j and row[e] = i} (A[at e])",
        ),
        (
            "let D[i, j: M - 1] = A[i, j]\nf[i] = sum{j} (D[i, j])",
            "let D[i: N, j: M - 1] = sum{e: col[e] = j and row[e] = i} (A[at e])",
        ),
    ],
)
def test_an_intermediate_is_stored_where_it_is_not_0(text: str, let: str) -> None:
    """If it is 0 elsewhere, and nothing reads it that is not; what is printed reads back."""
    program = checked(MORE + text)
    printed = print_program(program)
    assert let in printed
    assert print_program(checked(printed)) == printed


def test_errors_beside_an_intermediate_that_is_stored() -> None:
    (found,) = all_problems(MORE + "let D[i, j] = A[i, j]\nf[i] = sum{j} (D[i, j]) + z[i]")
    assert found.code == "TAD0204"
