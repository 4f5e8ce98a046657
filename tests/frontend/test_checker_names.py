"""Names: one namespace, order of definitions, did-you-mean, and how errors stay apart."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tadc.frontend.checker import check
from tadc.frontend.codes import CODES
from tadc.frontend.diagnostics import CompileError
from tadc.frontend.parser import parse
from tadc.frontend.printer import print_program
from tadc.frontend.report import LIMIT
from tadc.frontend.source import Source
from tadc.frontend.terms import Reduce, operands
from tadc.lattice.affine import Affine
from tests.frontend.checking import checked, definition, printed, problem, problems


def test_unbound_index() -> None:
    found = problem("a: f64[3; 5]\nx: f64[5]\nf[i] = a[i; k] * x[k]")
    assert (found.code, found.message) == ("TAD0202", "index `k` is never bound")
    assert (found.at, found.label) == ("3:13 k", "`k` is not an index of `f` and no sum here binds it")
    assert found.others == (("3:1 f[i]", "binds only `i`"),)
    assert found.helps == ("to sum over it, write `sum{k} (…)`",)


def test_unbound_index_is_reported_once_in_each_definition() -> None:
    found = problems("x: f64[5]\nf[i: 3] = x[i + k] + x[i - k]\ng[i: 3] = x[i + k]")
    assert [(p.code, p.at) for p in found] == [("TAD0202", "2:17 k"), ("TAD0202", "3:17 k")]


def test_unbound_index_suggests_the_index_that_was_meant() -> None:
    found = problem("x: f64[5]\nf[row: 3] = x[rwo]")
    assert "did you mean `row`?" in found.helps


def test_unbound_index_without_indices_on_the_left() -> None:
    assert problem("x: f64[5]\nf = x[i]").others == (("2:1 f", "binds no index"),)


def test_an_index_is_unknown_behind_its_sum() -> None:
    found = problem("x: f64[5]\nf = sum{k} (x[k]) * x[k]")
    assert (found.code, found.at) == ("TAD0202", "2:23 k")


@pytest.mark.parametrize("bounds", ["_0^(k)", "_(k - 1)^4", "_0^(min [4; k])"])
def test_bounds_do_not_see_the_index_that_they_bound(bounds: str) -> None:
    found = problem(f"x: f64[5]\nf = sum{{k}}{bounds} (x[k])")
    assert (found.code, found.at[-1]) == ("TAD0202", "k")


def test_unknown_tensor() -> None:
    found = problem("value: f64[5]\nf[i: 3] = valeu[i]")
    assert (found.code, found.message, found.at) == ("TAD0204", "unknown tensor `valeu`", "2:11 valeu")
    assert found.helps == ("did you mean `value`?",)


def test_unknown_tensor_without_a_likely_name() -> None:
    found = problem("f[i: 3] = q[i, 2*i]")
    assert found.helps == ("declare it, for example `q: f64[8, 8]`",)


def test_unknown_name_in_a_value() -> None:
    found = problem("alpha: f64\nf[i: 3] = alhpa * i")
    assert (found.code, found.message, found.at) == ("TAD0204", "unknown name `alhpa`", "2:11 alhpa")
    assert found.helps == ("did you mean `alpha`?",)


def test_a_difference_in_case_is_suggested() -> None:
    assert problem("X: f64[5]\nf[i: 5] = x[i]").helps == ("did you mean `X`?",)


def test_reads_before_the_definition() -> None:
    found = problem("f[i: 3] = g[i]\nlet g[i: 3] = 1")
    assert (found.code, found.message, found.at) == ("TAD0206", "`g` is read before it is defined", "1:11 g")
    assert found.others == (("2:5 g", "defined here"),)
    assert found.helps == ("move the definition of `g` up",)


@pytest.mark.parametrize(
    ("text", "above"),
    [
        ("f[i] = x[i]\nx: f64[3]", "x: f64[3]\nf[i] = x[i]"),
        ("f[i: N] = N*x[2*i]\nx: f64[2*N]\nsize N", "size N\nx: f64[2*N]\nf[i: N] = N*x[2*i]"),
        ("x: f64[N + 1]\nsize N = 4\nf = x[N]", "size N = 4\nx: f64[N + 1]\nf = x[N]"),
        ("f[i: 3] = 1\nf: f32[3]\nx: f64", "x: f64\nf: f32[3]\nf[i: 3] = 1"),
        (
            "C[i, j] = A[i, j]\nC: at (r, c)\nA: f64[N, M] at (r, c)\nr: index[E] in N\nc: index[E] in M",
            "A: f64[N, M] at (r, c)\nr: index[E] in N\nc: index[E] in M\nC: at (r, c)\nC[i, j] = A[i, j]",
        ),
    ],
)
def test_declarations_hold_above_them(text: str, above: str) -> None:
    program = checked(text)
    assert print_program(program) == print_program(checked(above))
    again = checked(print_program(program))
    assert print_program(again) == print_program(program)


def test_arguments_and_sizes_keep_the_order_of_the_text() -> None:
    text = "A: f64[M, N] at (r, c)\nr: index[E] in M\nsize K\nc: index[E] in N\nx: f64[L]\nf = K"
    program = checked(text)
    assert [a.name for a in program.arguments] == ["A", "r", "c", "x"]
    assert program.sizes == ("M", "N", "E", "K", "L")


@pytest.mark.parametrize(
    ("text", "at", "where"),
    [
        ("g: f64[3]\nf[i: 3] = g[i]\ng[i] = 1", "2:11 g", "1:1 g"),
        ("f[i: 3] = g[i]\ng: f64[3]\ng[i] = 1", "1:11 g", "2:1 g"),
    ],
)
def test_a_declared_output_is_unknown_before_its_definition(text: str, at: str, where: str) -> None:
    found = problem(text)
    assert (found.code, found.at) == ("TAD0206", at)
    assert found.others == ((where, "declared here, its definition stands below"),)


def test_an_output_that_is_declared_below_is_unknown_before_its_definition() -> None:
    found = problem("f[i: 3] = g[i]\ng[i] = 1\ng: f64[3]")
    assert (found.code, found.at) == ("TAD0206", "1:11 g")
    assert found.others == (("2:1 g", "defined here"),)


def test_a_definition_does_not_read_itself() -> None:
    found = problem("f[i: 3] = 2 * f[i]")
    assert (found.code, found.message) == ("TAD0206", "`f` is read in its own definition")
    assert (found.at, found.label) == ("1:15 f", "not computed yet")


@pytest.mark.parametrize(
    ("first", "again", "kind"),
    [
        ("x: f64[3]", "x: f64[4]", "tensor"),
        ("x: f64[3]", "size x = 3", "tensor"),
        ("size x = 3", "size x = 3", "size"),
        ("size x = 3", "x: f64[3]", "size"),
        ("size x = 3", "x = 3", "size"),
        ("x[i: 3] = 1", "x[i: 3] = 1", "tensor"),
        ("x[i: 3] = 1", "let x = 1", "tensor"),
    ],
)
def test_a_name_is_defined_once(first: str, again: str, kind: str) -> None:
    found = problem(f"{first}\ny: f64[4]\n{again}")
    assert (found.code, found.message, found.label) == (
        "TAD0205",
        "`x` is defined twice",
        "defined again here",
    )
    assert (found.at[:2], found.at[-1]) == ("3:", "x")
    ((place, text),) = found.others
    assert (place[:2], place[-1]) == ("1:", "x")
    assert text.endswith(f"here, as a {kind}")


def test_a_second_definition_changes_nothing_and_is_checked() -> None:
    found = problems("x: f64[3]\nx: f64[9]\nf[i] = x[i]\nf[i: 2] = q\ng[i: 4] = x[i] + f[i]")
    assert [(p.code, p.at) for p in found] == [
        ("TAD0205", "2:1 x"),
        ("TAD0205", "4:1 f"),
        ("TAD0204", "4:11 q"),
        ("TAD0302", "5:13 i"),
        ("TAD0302", "5:20 i"),
    ]


def test_a_tensor_is_declared_once_and_defined_once() -> None:
    found = problems("f[i: 3] = 1\nf: f64[3]\nf: f64[3]\nf[i: 3] = 2")
    assert [(p.code, p.at, p.others[0][0]) for p in found] == [
        ("TAD0205", "3:1 f", "1:1 f"),
        ("TAD0205", "4:1 f", "1:1 f"),
    ]


@pytest.mark.parametrize("below", ["", "\nlater: f64[3]"])
def test_an_index_cannot_shadow_a_tensor(below: str) -> None:
    name = "later" if below else "x"
    found = problem(f"x: f64[3]\nf[{name}] = 2 * x[{name}]{below}")
    assert (found.code, found.message) == ("TAD0207", f"index `{name}` has the name of a tensor")
    assert found.at == f"2:3 {name}"
    assert found.others[0][1] == "a tensor"


def test_an_index_cannot_shadow_a_size_or_its_own_tensor() -> None:
    assert problem("size n = 3\nf[n: 3] = 1").message == "index `n` has the name of a size"
    assert problem("f[f: 3] = 1").code == "TAD0207"
    assert problem("x: f64[3]\nf = sum{x: 3} (1)").at == "2:9 x"


def test_an_index_may_have_the_name_of_a_definition_below() -> None:
    text = "x: f64[N]\ny[i] = x[i] * sum{z} (x[z])\nlet z = y[0]\ni[z_1: N, i_1] = z * y[z_1] * x[i_1]"
    assert print_program(checked(text)).splitlines()[-3:] == [
        "y[i_1] = x[i_1] * sum{z_1}_0^(N - 1) (x[z_1])",
        "let z = y[0]",
        "i[z_1, i_1] = z * y[z_1] * x[i_1]",
    ]


def test_an_index_with_the_name_of_a_definition_below_is_said_by_its_name() -> None:
    found = problem("x: f64[3]\ny[i: 4] = x[i]\ni = 2")
    assert (found.code, found.notes) == ("TAD0302", ("out of range at `i = 3`",))
    assert problem("x: f64[3]\ny[i: 3] = i[0]\ni = 2").code == "TAD0211"
    found = problem("scan{t} y[t: 5] = if {t = 4} then (0) else (y[t + 1])\nt = 2")
    assert (found.code, found.others[0][1]) == ("TAD0316", "elements are computed as `t` increases")
    assert found.helps == ("to compute elements the other way round, write `scan{-t}`",)


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("let i = 2\ny[i: 3] = i", "2:3 i"),
        ("i = 2\ny = sum{i: 3} (1)", "2:9 i"),
        ("y[y: 3] = 1\ny: f64[3]", "1:3 y"),
        ("y[n: 3] = 1\nsize n", "1:3 n"),
        ("y[n: 3] = 1\nx: f64[n]", "1:3 n"),
        ("scan{y} y[y: 3] = 1", "1:11 y"),
    ],
)
def test_an_index_hides_nothing_else(text: str, at: str) -> None:
    found = problem(text)
    assert (found.code, found.at) == ("TAD0207", at)


def test_an_index_may_shadow_an_index() -> None:
    f = definition("x: f64[3]\ny: f64[9]\nf[k: 3] = x[k] * sum{k}_0^8 (y[k] * sum{k}_0^2 (x[k]))")
    read, outer = operands(f.body)
    assert isinstance(outer, Reduce)
    assert (read.free, outer.free) == ({"k"}, frozenset())
    inner_read, inner = operands(outer.body)
    assert isinstance(inner, Reduce)
    assert (inner_read.free, inner.free) == (set(outer.binders), frozenset())
    assert (outer.hints, inner.hints) == (("k",), ("k",))


def test_a_shadowing_index_has_its_own_range_and_guards() -> None:
    text = "x: f64[3]\nf[k: 9] = if {k >= 3} then (sum{k} (x[k])) else (x[k])"
    assert checked(text)
    assert problem(text.replace("sum{k}", "sum{k}_0^3")).at == "2:43 k"


def test_repeated_index_on_the_left() -> None:
    found = problem("x: f64[4]\nf[i; i] = x[i]")
    assert (found.code, found.message) == ("TAD0203", "index `i` appears twice on the left")
    assert (found.at, found.label, found.others) == ("2:6 i", "second use", (("2:3 i", "first use"),))
    assert found.helps == ("for a diagonal write `f[i, j] = if {i - j = 0} then (…) else (0)`",)


def test_repeated_index_in_a_sum() -> None:
    found = problem("x: f64[4]\nf = sum{i: 2, i: 3} (x[i])")
    assert (found.code, found.message) == ("TAD0203", "index `i` appears twice in one sum")
    assert (found.at, found.others) == ("2:15 i", (("2:9 i", "first use"),))


@pytest.mark.parametrize(
    ("text", "kind"), [("_x: f64[3]", "tensor"), ("let _x = 3", "tensor"), ("size _x = 3", "size")]
)
def test_tensors_and_sizes_do_not_start_with_an_underscore(text: str, kind: str) -> None:
    found = problem(text)
    assert (found.code, found.message) == ("TAD0208", f"the name of a {kind} cannot start with `_`")
    assert (found.at[-2:], found.helps) == ("_x", ("call it `x`",))


def test_indices_may_start_with_an_underscore() -> None:
    assert printed("x: f64[3]\nf[_i] = x[_i]") == "f[_i] = x[_i]"


def test_let_of_a_declared_output() -> None:
    found = problem("h: f64[2]\nlet h[i] = 1")
    assert (found.code, found.at, found.others) == ("TAD0210", "2:5 h", (("1:1 h: f64[2]", "declared here"),))
    assert found.helps == ("leave out `let`, or the declaration",)


@pytest.mark.parametrize(
    ("text", "message", "at"),
    [
        ("f[i: 3] = i[0]", "`i` is an index, not a tensor", "1:11 i"),
        ("size N = 3\nf = N[0]", "`N` is a size, not a tensor", "2:5 N"),
        ("x: f64[3]\ny: f64[x]", "`x` is a tensor, not a size", "2:8 x"),
        ("x: f64[x]", "`x` is a tensor, not a size", "1:8 x"),
    ],
)
def test_names_used_as_what_they_are_not(text: str, message: str, at: str) -> None:
    found = problem(text)
    assert (found.code, found.message, found.at) == ("TAD0211", message, at)


@pytest.mark.parametrize(
    ("scalar", "help"),
    [
        ("let K = 3", "a fixed size is stated by `size K = 3`"),
        ("K = 3", "a fixed size is stated by `size K = 3`"),
        ("K = 2*N - 1", "a size that is made of others has no name: write `2*N - 1` where it is used"),
        ("K = x[0]", "a size has another name: `size N`, or `f64[N]` of an argument"),
        ("K = sin(2)", "a size has another name: `size N`, or `f64[N]` of an argument"),
    ],
)
def test_a_scalar_that_is_meant_for_a_size(scalar: str, help: str) -> None:
    text = f"x: f64[N]\n{scalar}\nf[i: 2*K] = i"
    source = Source(text)
    with pytest.raises(CompileError) as caught:
        check(parse(source), source)
    (found,) = caught.value.diagnostics
    assert (found.code, found.helps) == ("TAD0211", [help])
    for edit in found.edits:
        fixed = text[: edit.span.start] + edit.replacement + text[edit.span.end :]
        size = 6 if "3" in scalar else 4 * Affine.var("N") - 2
        assert definition(fixed).shape == (size,)


def test_a_size_that_no_argument_tells() -> None:
    found = problem("x: f64[9]\nf: f64[K]\nf[i] = x[i]")
    assert (found.code, found.message, found.at) == ("TAD0209", "no argument tells the size `K`", "2:8 K")
    assert found.helps == ("to pass it by name at the call, declare it: `size K`",)
    assert problem("x: f64[N // 2]\nf = x[0]").at == "1:8 N"
    assert checked("size K\nx: f64[9]\nf: f64[K]\nf[i] = x[i]").unbound_sizes() == ("K",)


def test_an_unknown_size_in_a_range() -> None:
    found = problem("size rows\nx: f64[rows]\nf[i: row] = x[i]\ng[i: row] = 2")
    assert (found.code, found.message, found.at) == ("TAD0209", "unknown size `row`", "3:6 row")
    assert found.helps[0] == "did you mean `rows`?"


def test_a_value_for_an_unknown_size() -> None:
    text = Source("x: f64[N]\nf[i] = x[i]")
    with pytest.raises(CompileError) as caught:
        check(parse(text), text, {"M": 3})
    (found,) = caught.value.diagnostics
    assert (found.code, found.message) == ("TAD0209", "the program has no size symbol `M`")
    assert found.notes == ["its size symbols: N"]


def test_an_index_with_the_name_of_a_size() -> None:
    found = problem("x: f64[N]\nf[N: 3] = 1")
    assert (found.code, found.at, found.others) == ("TAD0207", "2:3 N", (("1:8 N", "a size"),))


def test_the_sizes_of_a_second_declaration_are_silent() -> None:
    assert [p.code for p in problems("x: f64[N]\nx: f64[M, K]\nf[i] = x[i]*M")] == ["TAD0205"]


def test_a_size_of_a_declaration_that_is_rejected_is_silent() -> None:
    assert [p.code for p in problems("f[i: N] = N*x[i]\nx: index[2.5, N] in N")] == ["TAD0308"]
    assert [p.code for p in problems("x: index[2.5] in N\nf[i: N] = N")] == ["TAD0308"]


def test_a_rejected_definition_is_silent_below() -> None:
    text = "x: f64[3]\nlet g[i] = x[2*i] + q\nf[i] = g[i] + g[i, i] + g\n"
    text += "h[j] = sum{k} (g[k + j] * g[k]) * f[j]\nz = x"
    assert [(p.code, p.at[:2]) for p in problems(text)] == [
        ("TAD0306", "2:"),
        ("TAD0204", "2:"),
        ("TAD0301", "5:"),
    ]


def test_errors_come_in_the_order_of_the_text_and_end_at_a_limit() -> None:
    text = "x: f64[3]\n" + "\n".join(f"f{n}[i: 9] = x[i]" for n in range(LIMIT + 10)) + "\nx: f64[4]"
    found = problems(text)
    lines = [int(p.at.split(":")[0]) for p in found]
    assert len(found) == LIMIT
    assert lines == sorted(lines)


def test_several_errors_in_one_expression() -> None:
    found = problems("x: f64[3]\nf[i: 3] = x[i*i] + q + x[i + 1] * x[i, i] - x[j]")
    assert [p.code for p in found] == ["TAD0303", "TAD0204", "TAD0302", "TAD0301", "TAD0202"]


def test_every_code_has_a_title() -> None:
    assert all(title and title[0] not in "ABCDEFGHIJKLMNOPQRSTUVWXYZ" for title in CODES.values())
    assert list(CODES) == sorted(CODES)


def test_every_code_of_the_front_end_is_in_the_table(root: Path) -> None:
    files = [path for path in (root / "frontend").glob("*.py") if path.name != "codes.py"]
    used = {code for path in files for code in re.findall(r"TAD\d{4}", path.read_text("utf-8"))}
    front = {code for code in used if code < "TAD04"}
    assert front == {code for code in CODES if code < "TAD04"}


def test_every_error_has_a_golden_file(root: Path) -> None:
    shown = {path.name[:7] for path in (root / "lit_tests" / "errors").glob("TAD*.tad")}
    # Too much work takes a minute: `tests/lattice/test_effort.py` lowers the limit.
    assert {code for code in CODES if code < "TAD04"} <= shown | {"TAD0318"}
