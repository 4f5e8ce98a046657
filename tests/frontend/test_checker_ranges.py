"""Ranges and shapes: stated, declared, inferred; ranks; sizes; what goes wrong with each."""

from __future__ import annotations

import random

import pytest

from tadc.frontend.extents import shape_text
from tadc.frontend.printer import print_program
from tadc.frontend.terms import Reduce
from tests.frontend.checking import checked, definition, problem, problems

# -- where a range comes from ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("f[i: 3, j: 4] = 1", (3, 4)),
        ("size N = 4\nf[i: N, j: 0] = N", (4, 0)),
        ("f: f64[3, 4]\nf[i, j] = 1", (3, 4)),
        ("f: f64[3, 4]\nf[i: 3, j: 4] = 1", (3, 4)),
        ("f: f64\nf = 1", ()),
        ("f = 1", ()),
        ("x: f64[3, 5]\nf[i, j] = x[i, j]", (3, 5)),
        ("x: f64[3, 5]\nf[i, j] = x[j, i]", (5, 3)),
        ("x: f64[3, 3]\nf[i] = x[i, i]", (3,)),
        ("x: f64[9]\nf[i: 4] = x[i]", (4,)),
        ("x: f64[9]\nf: f64[4]\nf[i] = x[i]", (4,)),
        ("x: f64[3]\nlet h[j] = x[j]\nf[i] = h[i]", (3,)),
        ("g[j: 3] = 1\nf[i] = g[i] + g[2 - i]", (3,)),
        ("x: f64[3]\nf[i] = exp(-(if {i = 0} then (1) else (select(x[i] > 1, 2, 3))))", (3,)),
        ("x: f64[3]\ny: f64[9]\nf[i] = sum{k}_0^6 (x[i] * y[i + k] + sum{i} (y[i])) + sum{k} (x[k])", (3,)),
        ("x: f64[0, 2]\nf[i, j] = x[i, j]", (0, 2)),
    ],
)
def test_shapes(text: str, shape: tuple[int, ...]) -> None:
    assert definition(text).shape == shape


@pytest.mark.parametrize(
    ("total", "size"),
    [("sum{k} (x[k])", 5), ("sum{k: 3} (x[k])", 3), ("sum{k} (h[k])", 4), ("sum{k} (x[(k)] * h[0])", 5)],
)
def test_ranges_of_sums(total: str, size: int) -> None:
    text = f"x: f64[5]\nlet h[i: 4] = 1\nf = {total}"
    domain = f"sum{{k}}_0^{size - 1}"
    stated = text.replace("sum{k: 3}", "sum{k}").replace("sum{k}", domain)
    assert _domain(text) == _domain(stated)


def _domain(text: str) -> set[str]:
    body = definition(text).body
    assert isinstance(body, Reduce)
    return {str(row) for row in body.domain}


def test_every_place_must_agree() -> None:
    found = problem("a: f64[3; 5]\nb: f64[4; 6]\nf[i; j] = sum{k} (a[i; k] * b[j; k])")
    assert (found.code, found.message) == ("TAD0305", "cannot infer one range for index `k`")
    assert (found.at, found.label) == ("3:15 k", "`k` has two candidate ranges")
    assert found.others == (("1:11 5", "0..4 from `a[i; k]`"), ("2:11 6", "0..5 from `b[j; k]`"))
    assert found.helps == ("give the range: `sum{k: 5} (…)`",)


def test_ranges_disagree_on_the_left() -> None:
    found = problem("let h[j: 4] = 1\nx: f64[6]\ny: f64[0]\nf[i] = h[i] + x[i] + y[i] + x[i]")
    assert (found.code, found.at, found.label) == ("TAD0305", "4:3 i", "`i` has 3 candidate ranges")
    assert [place for place, _ in found.others] == ["1:7 j: 4", "2:8 6", "3:8 0"]
    assert found.others[2][1] == "no values from `y[i]`"
    assert found.helps == ("give the range: `i: 0`",)


def test_a_stated_range_needs_no_agreement() -> None:
    assert checked("a: f64[3]\nb: f64[4]\nf[i: 2] = a[i] * b[i]\ng = sum{k}_1^2 (a[k] * b[k])")


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("f[i] = sum{k} (w[k] * x[i + k])", "N - K + 1"),
        ("f[i] = sum{k: 3, l} (w[l] * x[k + i + l + 2*K])", "N - 3*K - 1"),
        ("f[i] = sum{k}_1^2 (x[k + i - 1])", "N - 1"),
        ("f[i] = sum{k} (w[k] * x[i - k + K])", "N - K"),
        ("f[i] = sum{k} (w[k] * x[N - 1 - i - k])", "N - K + 1"),
        ("f[i] = x[N - 1 - i]", "N"),
        ("f[i] = x[i + K] - x[i]", "N - K"),
        ("f[i] = x[i + 2] - 2*x[i + 1] + x[i]", "N - 2"),
        ("f[i] = sum{k} (w[k] * x[i + k]) * x[i]", "N - K + 1"),
        ("f[i] = x[i + 1] * w[i]", "K"),
        ("f[i] = sum{k: k < 2} (w[k] * x[i + k]) * x[i]", "N"),
        ("f[i] = x[i] + (if {N > 4} then (x[4]) else (x[i]))", "N"),
        ("f[i] = x[i] + sum{k: 0} (x[i + 3])", "N"),
        ("f[i] = x[i] + sum{k}_(i)^(N - 2) (x[k + 1])", "N"),
        ("f[i] = select(x[i] > 0, x[i + 1], 0)", "N - 1"),
        ("f[i] = sum{i} (w[i] * x[i + 2]) * x[i]", "N"),
    ],
)
def test_the_range_in_which_all_reads_are(text: str, size: str) -> None:
    """Where nothing is read alone, or beside the same dimension; not where a condition guards."""
    found = definition(f"x: f64[N]; w: f64[K]; m: f64[N, N]; {text}")
    assert shape_text(found.shape) == size


def test_the_range_is_the_largest_in_which_all_reads_are() -> None:
    """By trying all values: of reads of one dimension, at sums of two indices and a number."""
    seen = 0
    for seed in range(200):
        rng = random.Random(seed)
        length, window = rng.randint(6, 12), rng.randint(1, 3)
        reads = [
            (rng.choice((1, 1, -1)), rng.choice((0, 1, -1)), rng.randint(-1, 9))
            for _ in range(rng.randint(1, 3))
        ]
        points = [(i, {s * i + t * k + c for s, t, c in reads for k in range(window)}) for i in range(20)]
        largest = next(i for i, at in points if not at <= set(range(length)))
        body = " * ".join(f"x[{s}*i + {t}*k + {c}]" for s, t, c in reads)
        text = f"x: f64[{length}]; w: f64[{window}]; f[i] = sum{{k}} (w[k] * {body})"
        if largest:
            assert definition(text).shape == (largest,), text
            seen += 1
    assert seen > 60


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("f[i] = x[i - 1] + x[i + 1]", "TAD0302"),
        ("f[i] = x[i + 1] * m[i + 2, 0]", "TAD0305"),
        ("f[i] = m[i + 1, i] + m[i, i + 2]", "TAD0305"),
        ("f[i] = sum{k} (w[k] * sum{l} (u[l] * x[i + k] * x[i + l]))", "TAD0305"),
        ("f[i] = sum{k} (x[i + k])", "TAD0306"),
        ("f[i] = sum{k: k < 2} (w[k] * x[i + k])", "TAD0306"),
        ("f[i] = if {i < N - 1} then (x[i + 1]) else (0)", "TAD0306"),
        ("f[i] = sum{k}_(max [0; 1])^2 (x[i + k])", "TAD0306"),
        ("f[i] = x[2*i + 1]", "TAD0306"),
        ("f[s: 3, i] = x[10*s + i]", "TAD0306"),
        ("f[i] = x[(i + 1) % N]", "TAD0306"),
    ],
)
def test_ranges_that_are_to_be_stated(text: str, code: str) -> None:
    found = problems(f"x: f64[N]; w: f64[K]; u: f64[L]; m: f64[N, N]; size N = 9; {text}")
    assert found[0].code == code


def test_no_range_on_the_left() -> None:
    found = problem("x: f64[5]\nf[i] = x[2*i] + (if {i < 4} then (x[i + 1]) else (0))")
    assert (found.code, found.message, found.at) == ("TAD0306", "index `i` has no range", "2:3 i")
    assert found.label == "no read tells the range of `i`"
    assert found.notes == (
        "`x[i]` and `x[i + 1]` tell the range of `i`, `x[2*i]` does not, nor what a condition on `i` guards",
    )
    assert found.helps == ("state it, for example `i: 3`",)


def test_no_range_of_a_sum() -> None:
    found = problem("x: f64[5]\nf = sum{k} (x[2*k])")
    assert (found.code, found.at) == ("TAD0306", "2:9 k")
    assert found.helps == ("state it, for example `sum{k: 3} (…)`",)


@pytest.mark.parametrize(
    ("body", "size"),
    [
        ("sum{k} (w[k] * x[2*i + k])", "(N - K) // 2 + 1"),
        ("x[3*i + 1]", "(N + 1) // 3"),
        ("x[N - 1 - 2*i]", "(N + 1) // 2"),
        ("sum{s: 4} (x[10*s + i])", "N - 30"),
        ("1", "N"),
        ("if {i < N - 1} then (x[i + 1]) else (0)", "N"),
    ],
)
def test_a_range_that_could_be_meant(body: str, size: str) -> None:
    text = f"x: f64[N]; w: f64[K]; f[i] = {body}"
    assert problem(text).helps == (f"state it, for example `i: {size}`",)
    assert checked(text.replace("f[i]", f"f[i: {size}]"))
    assert problem("x: f64[N]; size T; f[t] = x[0]").helps == ("state it, for example `t: T`",)


@pytest.mark.parametrize("body", ["1", "sum{i} (x[i])", "if {i = 2} then (1) else (0)", "x[(2*i)]"])
def test_what_gives_no_range(body: str) -> None:
    assert problem(f"x: f64[5]\nf[i] = {body}").at == "2:3 i"


def test_a_range_from_a_rejected_read_is_not_missed() -> None:
    assert [p.code for p in problems("x: f64[5]\nf[i] = x[i, 0]")] == ["TAD0301"]
    assert [p.code for p in problems("f[i] = q[i]")] == ["TAD0204"]
    assert [p.code for p in problems("let g[j: 2] = q\nf[i] = g[i]")] == ["TAD0204"]
    assert [p.code for p in problems("f: f64[K]\nf[i] = 1")] == ["TAD0209"]


# -- declared outputs ------------------------------------------------------------------------


def test_a_declared_output_has_its_rank() -> None:
    found = problem("f: f64[3]\nf[i, j] = 3 + i + j")
    assert (found.code, found.message) == ("TAD0301", "`f` has 1 dimension but is defined with 2 indices")
    assert (found.at, found.label) == ("2:1 f[i, j]", "2 indices here")
    assert found.others == (("1:1 f: f64[3]", "declared with 1 dimension here"),)


def test_a_declared_tensor_is_not_defined_as_a_scalar() -> None:
    found = problem("f: f64[3, 3]\nf = 3")
    assert found.message == "`f` has 2 dimensions but is defined without indices"
    assert (found.at, found.label) == ("2:1 f", "no index here")


def test_a_declared_range_is_not_stated_differently() -> None:
    found = problem("f: f64[3, 4]\nf[i: 3, j: 5] = 1")
    assert (found.code, found.message) == ("TAD0305", "index `j` has two ranges")
    assert (found.at, found.label) == ("2:9 j: 5", "0..4 here")
    assert found.others == (("1:11 4", "0..3 in the declaration"),)
    assert found.helps == ("write `j` alone: its range is declared",)


def test_declarations_without_definition_are_the_arguments_in_order() -> None:
    program = checked("b: f32[2]\nf: f64[2]\na: f64\nf[i] = a * b[i]")
    assert [(a.name, a.type, a.shape) for a in program.arguments] == [("b", "f32", (2,)), ("a", "f64", ())]
    assert [(d.name, d.indices) for d in program.outputs] == [("f", ("i",))]


def test_let_is_no_output() -> None:
    program = checked("let h[i: 3] = 1\nf[i] = h[i]\ng = 2\nlet k = 3")
    assert [d.name for d in program.definitions] == ["h", "f", "g", "k"]
    assert [d.name for d in program.outputs] == ["f", "g"]


# -- ranks -----------------------------------------------------------------------------------


def test_rank() -> None:
    found = problem("a: f64[3; 5]\nf[i: 3] = a[i]")
    assert (found.code, found.message) == ("TAD0301", "`a` has 2 dimensions but is read with 1 index")
    assert (found.at, found.label) == ("2:11 a[i]", "1 index here")
    assert found.others == (("1:1 a: f64[3; 5]", "declared with 2 dimensions here"),)


def test_rank_of_a_definition() -> None:
    found = problem("let h[i: 3, j: 2] = 1\nf[i: 3] = h[i, i, i]")
    assert found.message == "`h` has 2 dimensions but is read with 3 indices"
    assert found.others == (("1:5 h[i: 3, j: 2]", "defined with 2 dimensions here"),)


def test_a_tensor_is_read_with_indices() -> None:
    found = problem("a: f64[3]\nf[i: 3] = 2 * a")
    assert (found.code, found.message) == ("TAD0301", "`a` has 1 dimension but is read without indices")
    assert (found.at, found.label) == ("2:15 a", "no index here")


@pytest.mark.parametrize("body", ["x[s]", "x[t[e]]", "sum{i} (x[s])"])
def test_an_index_that_a_read_lacks_needs_no_range(body: str) -> None:
    found = problem(f"s: index[E] in N; t: index[E, 3] in N; x: f64[N]\ny[e, k] = {body}")
    assert found.code == "TAD0301"


def test_a_scalar_is_read_without() -> None:
    found = problem("s: f64\nf[i: 3] = s[i]")
    assert (found.message, found.helps) == ("`s` is a scalar but is read with 1 index", ("write `s` alone",))


# -- sizes -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("size", "message", "label"),
    [
        ("2.5", "a size is an integer", "not an integer"),
        ("3.0", "a size is an integer", "not written as one"),
        ("-1", "a size cannot be negative", "less than 0"),
        ("2 - 3", "a size cannot be negative", "its value is -1"),
        ("pi", "a size is an integer", "not an integer"),
    ],
)
def test_what_is_no_size(size: str, message: str, label: str) -> None:
    for text, line in (
        (f"x: f64[{size}]", 1),
        (f"f[i: {size}] = 1", 1),
        (f"x: f64\nf = sum{{k: {size}}} (x)", 2),
    ):
        found = problem(text)
        assert (found.code, found.message, found.label) == ("TAD0308", message, label)
        assert found.at.startswith(f"{line}:")
        assert found.at.endswith(f" {size}")


def test_a_size_does_not_depend_on_an_index() -> None:
    assert problem("f[i: 3, j: i] = 1").message == "a size cannot depend on an index"
    found = problem("f[i: 3] = sum{k: i} (1)")
    assert (found.code, found.at) == ("TAD0308", "1:18 i")
    assert found.helps == ("state such a range by bounds: `sum{k}_0^(i - 1) (…)`",)


def test_sizes_are_used_everywhere() -> None:
    text = (
        "size M = 4\nx: f64[12, M]\nf[i: 3, j: M] = if {i < M} then (sum{k}_0^M (x[M*i + j, M - 1])) else (M)"
    )
    stated = text.replace("size M = 4\n", "").replace("M", "4")
    assert print_program(checked(text)) == print_program(checked(stated))


@pytest.mark.parametrize("size", [str(2**63), "9" * 300])
def test_sizes_beyond_64_bits(size: str) -> None:
    assert problem(f"x: f64[{size}]").code == "TAD0309"
    assert problem(f"size N = {size}").at == f"1:1 size N = {size}"


@pytest.mark.parametrize(
    "text",
    ["x: f64[4294967296, 4294967296]", "x: f64[0, 4294967296, 4294967296]", "x: f64[1152921504606846976]"],
)
def test_offsets_beyond_64_bits(text: str) -> None:
    found = problem(text)
    assert (found.code, found.message) == ("TAD0309", "offsets in `x` are beyond 64 bits")
    assert found.label.endswith("elements of 8 bytes")


def test_offsets_of_a_definition_beyond_64_bits() -> None:
    found = problem("x: f64[4294967296]\nf[i, j] = x[i] * x[j]")
    assert (found.code, found.at) == ("TAD0309", "2:1 f[i, j]")


def test_large_shapes_that_fit() -> None:
    assert definition("x: f32[2147483648, 1073741823]\nf[i] = x[i, 0]").shape == (2147483648,)


# -- types -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "type"),
    [
        ("1", "f64"),
        ("pi * i + N", "f64"),
        ("s", "f32"),
        ("s * 2.5 + i * N - pi", "f32"),
        ("s * d", "f64"),
        ("exp(s) + max(s, 1)", "f32"),
        ("sum{k}_0^2 (s)", "f32"),
        ("sum{k}_0^2 (i)", "f64"),
        ("if {i = 0} then (s) else (1)", "f32"),
        ("if {i = 0} then (s) else (d)", "f64"),
        ("select(d > 0, s, 1)", "f32"),
        ("select(s > 0, d, s)", "f64"),
        ("h", "f32"),
    ],
)
def test_types(body: str, type: str) -> None:
    text = f"size N = 3\ns: f32\nd: f64\nlet h = s\nf[i: N] = {body}"
    assert definition(text).type == type


@pytest.mark.parametrize(("declared", "other"), [("f32", "f64"), ("f64", "f32")])
def test_a_declared_type_wins(declared: str, other: str) -> None:
    assert definition(f"x: {other}\nf: {declared}\nf = x").type == declared
    assert definition(f"x: {other}\ng: {declared}\ng = x\nf = g").type == declared
