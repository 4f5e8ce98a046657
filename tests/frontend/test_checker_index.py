"""Index expressions, conditions, and reads out of range with a point and a way out."""

from __future__ import annotations

import pytest

from tadc.frontend.terms import Guard, Read, Reduce
from tests.frontend.checking import Problem, checked, definition, printed, problem, problems

LINEAR = "it must be a sum of integer multiples of indices plus a constant, with `//` and `%` by integers"


def index_error(index: str) -> Problem:
    return problem(f"size N = 4\nx: f64[8]\ns: f64\nf[i: 4, j: 2] = x[{index}]")


# -- forms -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("index", "form"),
    [
        ("i", "i"),
        ("3", "3"),
        ("2*i - 3*j + N - 1 + 6 - i", "i - 3*j + 9"),
        ("N*j + i - 4*j", "i"),
        ("-(-i)", "i"),
        ("i*2 - i", "i"),
        ("2*(i + j) // 2", "i + j"),
        ("(i + 2*j) // N", "((i + 2*j) // 4)"),
        ("i % 3", "i - 3*(i // 3)"),
        ("i % 1", "0"),
        ("(i // 2) // 2", "(i // 4)"),
        ("7 // 2 + -7 // 2 + 4", "3"),
        ("-7 % 3", "2"),
        ("i // (2*2)", "(i // 4)"),
    ],
)
def test_forms(index: str, form: str) -> None:
    body = definition(f"size N = 4\nx: f64[99]\nf[i: 4, j: 2] = x[{index} + 3] + x[3]").body
    read = body.operands[0]  # type: ignore[attr-defined]
    assert isinstance(read, Read)
    assert str(read.indices[0] - 3) == form


@pytest.mark.parametrize(
    ("index", "at", "label", "helps"),
    [
        ("i*j", "i*j", "product of two indices", ()),
        ("1 + i*(j + 1)", "i*(j + 1)", "product of two indices", ()),
        ("i**2", "i**2", "a power", ()),
        ("2**2*j", "2**2", "a power", ("write its value: `4`",)),
        ("floor(i/2)", "floor(i/2)", "the function `floor`", ("write `i // 2`",)),
        ("floor((i + j)/2)", "floor((i + j)/2)", "the function `floor`", ("write `(i + j) // 2`",)),
        (
            "max(i, j)",
            "max(i, j)",
            "the function `max`",
            ("choose by an `if`: `if {i < 2} then (x[i]) else (x[2])`",),
        ),
        ("sum{k}_0^1 (k)", "sum{k}_0^1 (k)", "a sum", ()),
        ("if {i = 0} then (i) else (j)", "if {i = 0} then (i) else (j)", "a choice", ()),
        ("select(i > 0, i, j)", "select(i > 0, i, j)", "a choice", ()),
    ],
)
def test_not_linear(index: str, at: str, label: str, helps: tuple[str, ...]) -> None:
    found = index_error(index)
    assert (found.code, found.message, found.label) == ("TAD0303", "tensor index is not linear", label)
    assert found.at.split(" ", 1)[1] == at
    assert (found.notes, found.helps) == ((LINEAR,), helps)


@pytest.mark.parametrize(
    ("index", "at", "label", "helps"),
    [
        ("i/2", "i/2", "`i/2` is not an integer for odd `i`", ("`i // 2` rounds down",)),
        (
            "(i + 1)/3",
            "(i + 1)/3",
            "`(i + 1)/3` is not always an integer",
            ("`//` rounds down: `(i + 1) // 3`",),
        ),
        ("i/j", "i/j", "`i/j` is not always an integer", ()),
        ("1.5", "1.5", "not an integer", ()),
        ("2.0*i", "2.0", "not written as an integer", ("write `2`",)),
        ("i + pi", "pi", "not an integer", ()),
    ],
)
def test_fractional(index: str, at: str, label: str, helps: tuple[str, ...]) -> None:
    found = index_error(index)
    assert (found.code, found.message, found.label) == ("TAD0304", "tensor index may be fractional", label)
    assert (found.at.split(" ", 1)[1], found.helps) == (at, helps)


@pytest.mark.parametrize(("index", "at"), [("x[i]", "x[i]"), ("i + s", "s"), ("2*x[i, i]", "x[i, i]")])
def test_values_are_no_index(index: str, at: str) -> None:
    found = index_error(index)
    assert (found.code, found.message) == ("TAD0307", "tensor index depends on a value")
    assert (found.at.split(" ", 1)[1], found.label) == (at, f"`{at[0]}` is a tensor")


@pytest.mark.parametrize(
    ("index", "at", "label"),
    [
        ("i // 0", "0", "is 0"),
        ("i // -2", "-2", "is -2"),
        ("i // (N - 4)", "N - 4", "is 0"),
        ("i // j", "j", "depends on an index"),
        ("i % 0", "0", "is 0"),
        ("i % (j + 1)", "j + 1", "depends on an index"),
    ],
)
def test_divisors(index: str, at: str, label: str) -> None:
    found = index_error(index)
    operator = "//" if "//" in index else "%"
    assert found.code == "TAD0310"
    assert found.message == f"`{operator}` in an index expression needs a positive integer on its right"
    assert (found.at.split(" ", 1)[1], found.label) == (at, label)


@pytest.mark.parametrize(
    "index",
    [
        "9223372036854775808",
        "i*9223372036854775807*2",
        "4611686018427387904*i",
        "9223372036854775807 + i",
        "9" * 300,
    ],
)
def test_beyond_64_bits(index: str) -> None:
    found = index_error(index)
    assert (found.code, found.message) == ("TAD0309", "tensor index is beyond 64 bits")


def test_bounds_are_index_expressions() -> None:
    texts = ["_0^(i*j)", "_(i/2)^4", "_0^(x[i])", "_0^(max(i, j))", "_(max [0; i**2])^4", "_0^(i // j)"]
    found = [problem(f"x: f64[8]\nf[i: 4, j: 2] = sum{{k}}{text} (1)") for text in texts]
    assert [p.code for p in found] == ["TAD0303", "TAD0304", "TAD0307", "TAD0303", "TAD0303", "TAD0310"]
    assert found[0].message == "bound of the sum is not linear"
    assert found[3].helps == ("several lower bounds are `_(max [e; e])`, several upper ones `^(min [e; e])`",)


def test_conditions_are_on_indices() -> None:
    found = problem("x: f64[8]\nf[i] = if {x[i] > 0} then (x[i]) else (0)")
    assert (found.code, found.message, found.at) == ("TAD0307", "condition depends on a value", "2:12 x[i]")
    assert found.helps == ("to choose by value, write `select(x[i] > 0, …, …)`",)
    assert problem("f[i: 4] = if {i*i = 4} then (1) else (0)").message == "condition is not linear"
    assert problem("f[i: 4] = if {i = i/2} then (1) else (0)").message == "condition may be fractional"
    assert problem("f[i: 4] = if {2 < q} then (1) else (0)").code == "TAD0202"


def test_a_rejected_condition_hides_no_error_in_its_branches_but_proves_nothing() -> None:
    found = problems("x: f64[3]\nf[i] = if {i*i = 4} then (x[i + 1] + x[q]) else (x[i, i] + x[9])")
    assert [p.code for p in found] == ["TAD0303", "TAD0202", "TAD0301"]


def test_an_if_has_a_limit_of_conditions() -> None:
    def text(count: int) -> str:
        return f"f[i: 4] = if {{{' and '.join(f'i != {n}' for n in range(count))}}} then (1) else (0)"

    assert checked(text(100))
    assert problem(text(101)).code == "TAD0314"


# -- guards ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("condition", "row"),
    [
        ("i < j", "j - i - 1 >= 0"),
        ("i <= j", "j - i >= 0"),
        ("i > j", "i - j - 1 >= 0"),
        ("i >= j", "i - j >= 0"),
        ("i = j", "i - j = 0"),
        ("i // 2 = j % 2", "i // 2 - j + 2*(j // 2) = 0"),
    ],
)
def test_conditions_become_rows(condition: str, row: str) -> None:
    body = definition(f"f[i: 4, j: 4] = if {{{condition}}} then (1) else (2)").body
    assert isinstance(body, Guard)
    (found,) = body.conditions
    assert found.equality == row.endswith(" = 0")
    points = [{"i": i, "j": j} for i in range(4) for j in range(4)]
    python = condition.replace(" = ", " == ")
    assert [found.holds(p) for p in points] == [eval(python, {}, p) for p in points]


def test_not_equal_swaps_the_branches() -> None:
    swapped = printed("x: f64[9]\nf[i, j: 9] = if {i != j} then (x[i]) else (x[j])")
    assert swapped == "f[i, j] = if {i = j} then (x[j]) else (x[i])"
    both = printed("x: f64[9]\nf[i, j: 9] = if {i >= 3 and i != j and i != 4} then (x[i]) else (2)")
    inner = "if {i = j} then (2) else (if {i = 4} then (2) else (x[i]))"
    assert both == f"f[i, j] = if {{i >= 3}} then ({inner}) else (2)"


@pytest.mark.parametrize(
    "body",
    [
        "if {i >= 2} then (x[i - 2]) else (0)",
        "if {i < 2} then (0) else (x[i - 2])",
        "if {i - 2 >= 0} then (x[i-1]*x[i-2]) else (0)",
        "if {i != 0} then (x[i - 1]) else (0)",
        "if {i = 0} then (0) else (x[i - 1])",
        "if {i != 0 and i != 7} then (x[i - 1] + x[i + 1]) else (0)",
        "if {i = 0} then (0) else (if {i = 7} then (0) else (x[i - 1] + x[i + 1]))",
        "if {i >= 1 and i <= 6} then (x[i - 1] + x[i + 1]) else (if {i = 0} then (x[i + 1]) else (x[i - 1]))",
        "if {i >= 1 and i <= 6} then (0) else (x[(i + 1) % 8] + x[7 - i])",
        "if {i + j <= 7} then (x[i + j]) else (x[i + j - 8])",
        "if {i > 2 and j > 2} then (0) else (x[7*(i + j) // 9])",
        "if {i > 2 and j != 7} then (0) else (if {j < 7} then (x[7*(i + j) // 8]) else (x[i]))",
        "if {i % 2 = 0} then (x[i + 1]) else (x[i - 1])",
        "if {i = j} then (x[2*i - j]) else (0)",
        "if {2*i = 2*j + 1} then (x[99]) else (0)",
        "if {i >= 8} then (x[99]) else (0)",
        "if {0 = 1} then (x[99]) else (x[i])",
        "if {i > j} then (x[i - j]) else (x[j - i])",
        "sum{k}_0^(i) (x[k] + x[i - k])",
        "sum{k}_(i)^7 (x[k - i])",
        "sum{k}_(max [0; i - 2])^(min [7; i + 2]) (x[k])",
        "sum{k}_1^0 (x[99])",
        "sum{k}_(i + 1)^(i) (x[99])",
        "sum{k: 4} (sum{l}_0^(k) (x[k + l]))",
        "sum{k}_0^(i // 2) (x[2*k])",
        "sum{k}_0^(-((-i) // 2)) (x[i + k - (i + 1) // 2])",
        "sum{k: 2, l: 4} (x[4*k + l])",
        "x[i // 2 + i % 2 + 3]",
        "x[(i + j) // 2]",
        "x[(i % 4) * 2 + i // 4]",
    ],
)
def test_reads_in_range(body: str) -> None:
    assert not problems(f"x: f64[8]\nf[i: 8, j: 8] = {body}")


def test_a_guard_protects_only_what_it_guards() -> None:
    text = "x: f64[8]\nf[i: 9] = (if {i <= 7} then (x[i]) else (0)) + x[i]"
    assert problem(text).at == "2:50 i"


def test_select_protects_nothing() -> None:
    found = problem("x: f64[8]\nf[i: 9] = select(i <= 7, x[i], 0)")
    assert (found.code, found.at) == ("TAD0302", "2:28 i")


def test_an_empty_range_reads_nothing() -> None:
    assert not problems(
        "x: f64[0]\ny: f64[0, 3]\nf[i, j: 4] = x[i + 9] + y[i, j + 5]\ng = sum{k} (x[k] + x[k - 3])"
    )
    found = problem("x: f64[0]\nf = x[0]")
    assert (found.message, found.others) == (
        "`x` is read past its end",
        (("1:8 0", "`x` holds no elements"),),
    )


# -- out of range ----------------------------------------------------------------------------


def test_past_the_end() -> None:
    found = problem("d: f64[6]\nf[i: 3] = sum{k}_0^4 (d[i + k])")
    assert (found.code, found.message) == ("TAD0302", "`d` is read past its end")
    assert (found.at, found.label) == ("2:25 i + k", "takes values 0..6 here")
    assert found.others == (("1:8 6", "`d` holds only elements 0..5"),)
    assert found.notes == ("out of range at `i = 2, k = 4`",)
    assert found.helps == ("let the sum end at 3, or declare `d: f64[7]`",)


def test_before_the_start() -> None:
    found = problem("x: f64[6]\nf[i: 3] = x[i - 1]")
    assert found.message == "`x` is read before its start"
    assert (found.label, found.notes) == ("takes values -1..1 here", ("out of range at `i = 0`",))
    assert found.helps == ("guard it: `if {i - 1 >= 0} then (x[i - 1]) else (0)`",)


@pytest.mark.parametrize(
    ("text", "helps"),
    [
        ("f[i: 3] = x[2*i + 2]", "state the range `i: 2`, or declare `x: f64[7]`"),
        ("f = sum{k: 9} (x[k])", "let the sum end at 4, or declare `x: f64[9]`"),
        ("f = sum{k}_-2^4 (x[k])", "let the sum start at 0"),
        ("f = sum{k}_0^6 (x[4 - k])", "let the sum end at 4"),
        ("f = sum{k}_-3^0 (x[2 - 2*k])", "let the sum start at -1, or declare `x: f64[9]`"),
        (
            "f[i: 2] = sum{k: 2} (sum{l: 4} (x[i + k + l]))",
            "let the sum over `l` end at 2, or declare `x: f64[6]`",
        ),
        ("f = x[5]", "elements are counted from 0: the last one is `x[4]`, or declare `x: f64[6]`"),
        ("f = x[-1]", "elements are counted from 0: from the end, this one is `x[4]`"),
        (
            "f = sum{k}_1^5 (x[k])",
            "elements are counted from 0, and both bounds are taken: write `sum{k}_0^4 (…)`",
        ),
        (
            "f = sum{k}_0^5 (x[k])",
            "elements are counted from 0, and both bounds are taken: write `sum{k}_0^4 (…)`",
        ),
        ("f[i: 3] = h[i]", "state the range `i: 2`"),
        ("f[i: 9] = if {i >= 6} then (h[i - 6]) else (0)", "state the range `i: 8`"),
        (
            "f[i: 9, j: 9] = if {i >= j} then (x[j - i]) else (0)",
            "guard it: `if {j - i >= 0} then (x[j - i]) else (0)`",
        ),
        ("f[i: 4] = h[i // 2 + 1]", "guard it: `if {i // 2 + 1 <= 1} then (h[i // 2 + 1]) else (0)`"),
    ],
)
def test_ways_out(text: str, helps: str) -> None:
    found = problem(f"x: f64[5]\nlet h[a: 2] = 1\n{text}")
    assert (found.code, found.helps) == ("TAD0302", (helps,))


def test_one_dimension_of_several() -> None:
    found = problem("x: f32[4, 5]\nf[i] = sum{k: 9} (x[i, k])")
    assert found.others == (("1:11 5", "`x` holds only elements 0..4 in this dimension"),)
    assert found.helps == ("let the sum end at 4, or declare `x: f32[4, 9]`",)


def test_each_dimension_has_its_error() -> None:
    found = problems("x: f64[2, 1]\nf[i: 3, j: 3] = x[i, j]")
    assert [p.at for p in found] == ["2:19 i", "2:22 j"]
    assert found[1].others[0][1] == "`x` holds only element 0 in this dimension"


def test_the_point_shows_what_the_guards_join() -> None:
    found = problem("x: f64[5]\nf[i: 9, j: 9, k: 9] = if {i = j + 4} then (x[i]) else (0)")
    assert found.notes == ("out of range at `i = 5, j = 1`",)
    assert found.label == "takes values 4..8 here"


def test_a_constant_index_shows_a_point_too() -> None:
    found = problem("x: f64[5]\nf[i: 9] = if {i >= 7} then (x[5]) else (0)")
    assert (found.label, found.notes) == ("takes the value 5 here", ("out of range at `i = 7`",))


def test_the_shadowing_index_is_shown() -> None:
    found = problem("x: f64[5]\nf[k: 3] = sum{k}_(k + 3)^5 (x[k])")
    assert (found.label, found.notes) == ("takes values 3..5 here", ("out of range at `k = 5`",))


def test_too_many_cases_to_prove() -> None:
    names = "ijklmnop"
    different = " and ".join(f"{p} != {q}" for p in names for q in names if p < q)
    found = problem(
        f"x: f64[5]\nf[{', '.join(f'{n}: 7' for n in names)}] = if {{{different}}} then (x[9]) else (0)"
    )
    assert (found.code, found.message) == ("TAD0312", "cannot prove that `x` is read in range")


def test_bounds_of_a_sum_close_over_outer_indices() -> None:
    body = definition("x: f64[9]\nf[i: 9] = sum{k}_(max [0; i - 2])^(min [8; 2*i]) (x[k])").body
    assert isinstance(body, Reduce)
    rows = [str(row).replace(body.binders[0], "k") for row in body.domain]
    assert sorted(rows) == sorted(["k >= 0", "k - i + 2 >= 0", "8 - k >= 0", "2*i - k >= 0"])
