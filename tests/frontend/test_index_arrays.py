"""Index arrays: their declarations, elements in index forms, proofs, conditions of reductions, print."""

from __future__ import annotations

import pytest

from tadc.compiler.derive import derive
from tadc.frontend.checker import SizesNeeded
from tadc.frontend.dump import dump
from tadc.frontend.extents import required_text, shape_text
from tadc.frontend.latex import program_latex
from tadc.frontend.parser import parse
from tadc.frontend.printer import print_program
from tadc.frontend.program import Argument, Program
from tadc.frontend.source import Source
from tadc.frontend.specialise import specialised
from tadc.frontend.terms import IndexValue, Read, Reduce
from tadc.lattice.affine import Affine, Constraint, Lookup
from tests.frontend.checking import all_problems, checked, definition, printed, problem, problems

GRAPH = "src: index[E] in N\ndst: index[E] in N\nw: f64[E]\nx: f64[N]\n"


def stable(text: str) -> Program:
    """A program, whose print reads back to the same text."""
    program = checked(text)
    once = print_program(program)
    assert print_program(checked(once)) == once
    return program


def size(text: str) -> str:
    """The size of `y`."""
    return shape_text(definition(text, "y").shape)


# -- declarations --------------------------------------------------------------------------


def test_declarations() -> None:
    program = stable(
        "src: index[E] in N\nq: index[N, 3] in M + 1\ns: index in 7\nptr: index[N + 1] in E + 1 increasing\n"
        "x: f64[M]\nf = s"
    )
    src, q, s, ptr, x = program.arguments
    n, m, e = map(Affine.var, "NME")
    assert src == Argument("src", "i32", (e,), src.span, below=n)
    assert (q.type, q.shape, q.below, q.increasing) == ("i32", (n, 3), m + 1, False)
    assert (s.shape, s.below) == ((), 7)
    assert (ptr.shape, ptr.below, ptr.increasing) == ((n + 1,), e + 1, True)
    assert list(program.index_arrays()) == ["src", "q", "s", "ptr"]
    assert program.differentiable() == (x.name,) == ("x",)
    assert src.lookup([n]) == Affine.atom(Lookup("src", (n,), n))


def test_print_of_declarations() -> None:
    text = "s: index in 7\nptr: index[N + 1] in E + 1 increasing\nv: f64[E]\nf: f64\n\nf = v[0] * s\n"
    assert print_program(checked(text)) == text


def test_words_of_declarations_are_names_elsewhere() -> None:
    text = "index: f64[3]\nin: f64[3]\nincreasing: f64[3]\nf = sum{i} (index[i] * in[i] * increasing[i])"
    assert printed(text) == "f = sum{i}_0^2 (index[i] * in[i] * increasing[i])"
    assert printed("index: index[3] in 4 increasing\nin: f64[4]\nf = in[index[2]]") == "f = in[index[2]]"
    assert printed("size tam\na: index[2] in tam increasing\nx: f64[tam]\nf = x[a[1]]") == "f = x[a[1]]"


def test_a_size_that_only_a_bound_names_is_untold() -> None:
    assert problem("src: index[3] in N\nf[e] = src[e]").code == "TAD0209"
    assert not problems("size N\nsrc: index[3] in N\nf[e] = src[e]")


def test_bad_declarations() -> None:
    assert problem("a: index[2, 2] in 4 increasing\nf = 1").message.startswith("only an index array of one")
    assert problem("a: index[2] in 2147483649\nf = 1").code == "TAD0213"
    assert not problems("a: index[2] in 2147483648\nf = a[0]")
    found = problem("a: index[4] in 4\na[i] = 3\nf[i] = a[i]")
    assert (found.code, found.message) == ("TAD0213", "`a` is defined, so it is no index array")
    assert problem("a: index[2] in -1\nf = 1").code == "TAD0308"


@pytest.mark.parametrize("written", ["a: index[2]", "a: index", "a: i32[2]", "let a[i: 2]: index = 3"])
def test_declarations_that_no_parser_takes(written: str) -> None:
    from tadc.frontend.diagnostics import CompileError

    with pytest.raises(CompileError) as caught:
        parse(Source(written + "\nf = 1", "f.tad"))
    (found,) = caught.value.diagnostics
    assert found.helps
    assert "index" in found.helps[0] or "f32" in found.helps[0]


def test_dump_shows_what_elements_are_below() -> None:
    text = dump(parse(Source("p: index[3] in N + 1\nf = sum{e: p[e] = 2} (1)", "f.tad")))
    assert "below: Binary +" in text
    assert "if: RelationExpr =" in text


# -- elements ------------------------------------------------------------------------------


def test_an_element_is_an_atom_of_a_form() -> None:
    body = definition(GRAPH + "f[e] = x[src[e]]").body
    assert isinstance(body, Read)
    (form,) = body.indices
    assert form == Affine.atom(Lookup("src", (Affine.var("e"),), Affine.var("N")))


@pytest.mark.parametrize(
    "expression",
    [
        "x[2*i[e] + 2]",
        "x[i[p[j[e]]] + 1]",
        "x[i[2*s]]",
        "x[i[e] // 2 + i[e] % 3]",
        "x[3*(i[e] // 2) + 1]",
        "x[i[e]] * i[e]",
        "if {i[e] = s and i[e] // 2 >= 1} then (x[i[e] - 2]) else (i[e])",
        "sum{k}_(i[e])^(2*i[e] + 1) (x[k])",
        "sum{k}_(i[e])^(min [5; i[e] + s]) (x[k])",
    ],
)
def test_expressions_print_as_written(expression: str) -> None:
    head = "i: index[8] in 4\np: index[8] in 8\nj: index[8] in 8\ns: index in 4\nx: f64[16]\n"
    text = f"{head}f[e: 8] = {expression}"
    stable(text)
    assert printed(text) == f"f[e] = {expression}"


def test_an_element_is_a_number_where_values_stand() -> None:
    body = definition("s: index in 4\nf = s").body
    assert isinstance(body, IndexValue)
    assert printed(GRAPH + "f[e] = src[e] * w[e] + src[e] // 2") == "f[e] = src[e] * w[e] + src[e] // 2"
    assert definition("a: index[2] in 3\nx: f32[2]\nf[i] = a[i] * x[i]").type == "f32"


def test_ranges_are_inferred_from_index_arrays() -> None:
    assert definition("a: index[5] in 9\nx: f64[9]\nf[e] = x[a[e]]").shape == (5,)
    assert printed("a: index[5] in 9\nf = sum{e} (a[e])") == "f = sum{e}_0^4 (a[e])"
    assert printed("a: index[5] in 9\nf[e] = if {a[e] = 1} then (2) else (3)").endswith("else (3)")
    assert problem("a: index[5] in 9\nx: f64[9]\nf[e] = x[a[e] + 0*e] * x[e]").code == "TAD0305"
    assert definition("a: index[5] in 9\nx: f64[9]\nf[e] = x[a[e + 1]]").shape == (4,)
    assert problem("a: index[5] in 9\nx: f64[9]\nf[e] = x[a[2*e]]").code == "TAD0306"


def test_forms_with_elements_are_bounded_by_what_index_expressions_are() -> None:
    assert problem("a: index[5] in 9\nx: f64[99]\nf[e] = x[a[e] * e]").code == "TAD0303"
    assert problem("a: index[5] in 9\nx: f64[99]\nf[e: 5] = x[x[e]]").code == "TAD0307"
    assert problem("a: index[5] in 9\nf[i: a[0]] = 1").code == "TAD0307"
    assert problem("a: index[5] in 9\nscan{a[t]} h[t: 5] = 1").code == "TAD0317"
    assert problem("a: index[5] in 9\nf[e] = a[e, 0]").code == "TAD0301"
    assert problem("a: index[5] in 9\nf[e: 5] = a").code == "TAD0301"


def test_specialised_programs_know_what_elements_are_below() -> None:
    program = specialised(checked(GRAPH + "f[e] = x[src[e]]"), {"N": 5})
    assert program.index_arrays()["src"].below == 5
    assert "src: index[E] in 5" in print_program(program)
    body = program.definitions[0].body
    assert isinstance(body, Read)
    assert next(body.indices[0].lookups()).below == Affine.const(5)


# -- proofs --------------------------------------------------------------------------------


def test_a_read_through_an_element_is_proven() -> None:
    assert not problems(GRAPH + "f[e] = x[src[e]] + x[N - 1 - src[e]]")
    found = problem("src: index[6] in 6\nx: f64[5]\nf[e] = x[src[e]]")
    assert (found.code, found.label) == ("TAD0302", "takes values 0..5 here")
    assert found.notes == ("out of range at `e = 0, src[e] = 5`",)
    found = problem("i: index[5] in 6\np: index[4] in 5\nx: f64[5]\nf = sum{e} (x[i[p[e]]])")
    assert found.notes == ("out of range at `e = 0, i[p[e]] = 5`",)


def test_the_place_of_an_element_is_proven() -> None:
    found = problem("src: index[6] in 6\nf[e: 7] = src[e]")
    assert found.notes == ("out of range at `e = 6`",)
    assert "`src: index[7] in 6`" in found.helps[0]
    found = problem("p: index[6] in 9\nsrc: index[6] in 6\nf[e] = src[p[e]]")
    assert found.notes == ("out of range at `e = 0, p[e] = 6`",)


def test_guards_and_conditions_bound_elements() -> None:
    head = "src: index[6] in 6\nx: f64[5]\n"
    assert not problems(head + "f[e] = if {src[e] < 5} then (x[src[e]]) else (0)")
    assert not problems(head + "f[e] = if {src[e] != 5} then (x[src[e]]) else (0)")
    assert not problems(head + "f[e] = if {src[e] = 5} then (0) else (x[src[e]])")
    assert not problems(head + "f[e] = if {src[e] <= e and e < 5} then (x[src[e]]) else (0)")
    assert not problems(head + "f = sum{e: src[e] < 5} (x[src[e]])")
    assert not problems(head + "f = sum{e: src[e] + 1 = e} (x[src[e]])")
    assert not problems(head + "f[e] = sum{k}_0^(src[e] - 1) (x[k])")
    found = problem(head + "f = sum{e: src[e] > 1} (x[src[e]])")
    assert found.notes == ("out of range at `e = 0, src[e] = 5`",)


def test_sizes_that_reads_through_elements_ask_for() -> None:
    program = checked("size N\nsrc: index[E] in N\nx: f64[M]\nf[e] = x[src[e]]")
    assert "M >= N" in next(required_text(rows) for rows in program.excluded)
    assert not checked(GRAPH + "f[e] = x[src[e]]").excluded
    offsets = (
        "ptr: index[N + 1] in E + 1 increasing\nv: f64[E]\nf[i: N] = sum{e}_(ptr[i])^(ptr[i + 1] - 1) (v[e])"
    )
    assert not stable(offsets).excluded


def test_a_recurrence_over_a_tree() -> None:
    head = "parent: index[T] in T\nx: f64[T]\n"
    body = "if {parent[t] < t} then (x[t] + h[parent[t]]) else (x[t])"
    stable(f"{head}scan{{t}} h[t: T] = {body}")
    found = problem(f"{head}scan{{t}} h[t: T] = x[t] + h[parent[t]]")
    assert found.code == "TAD0316"
    assert found.label == "the order is `parent[t]` there"
    assert found.notes[0].startswith("not earlier at `T = 1, t = 0, parent[t] = 0`")


# -- conditions of reductions --------------------------------------------------------------


def test_conditions_join_the_domain() -> None:
    body = definition(GRAPH + "f[n: N] = sum{e: dst[e] = n and src[e] < 3} (w[e])").body
    assert isinstance(body, Reduce)
    (binder,) = body.binders
    e, n, size = Affine.var(binder), Affine.var("n"), Affine.var("N")
    dst, src = (Affine.atom(Lookup(name, (e,), size)) for name in ("dst", "src"))
    assert body.domain[2:] == (Constraint(dst - n, equality=True), Constraint(2 - src))


@pytest.mark.parametrize("kind", ["sum", "prod", "max", "min", "logsumexp"])
@pytest.mark.parametrize(
    ("written", "printed_as"),
    [
        ("{e: dst[e] = n} (w[e] * x[src[e]])", ""),
        # The size is told by what is read at e alone.
        ("{e: E: dst[e] = n} (x[src[e]])", "{e: dst[e] = n} (x[src[e]])"),
        ("{e: dst[e] = n and src[e] >= 4} (w[e])", ""),
        ("{e: dst[e] = n + src[e]} (w[e])", ""),
        ("{e: E - 1: dst[e] = n} (w[e + 1])", ""),
        ("{e: dst[e] = n}_0^(E - 2) (w[e + 1])", "{e: E - 1: dst[e] = n} (w[e + 1])"),
        ("{e: dst[e] = n}_1^(E - 2) (w[e])", ""),
        ("{e: dst[e] = n}_0^(min [E - 1; n + 3]) (w[e])", ""),
        ("{e: src[e] = n}_0^(min [E - 1; dst[n]]) (w[e])", ""),
    ],
)
def test_reductions_print_as_written(kind: str, written: str, printed_as: str) -> None:
    text = f"{GRAPH}f[n: E] = {kind}{written}"
    stable(text)
    assert printed(text) == f"f[n] = {kind}{printed_as or written}"


def test_an_element_that_is_a_bound_is_no_size() -> None:
    text = GRAPH + "s: index in N\nb: index[N] in E\nf[n: N] = sum{e: dst[e] = n}_0^(b[s]) (w[e])"
    stable(text)
    assert printed(text) == "f[n] = sum{e: dst[e] = n}_0^(b[s]) (w[e])"


def test_several_indices_under_conditions() -> None:
    head = "size M\nq: index[N, 5] in M\nx: f64[N]\nb: index[E] in N\n"
    text = head + "f[m: M] = max{i, j: q[i, j] = m} (x[i])"
    stable(text)
    assert printed(text) == "f[m] = max{i, j: q[i, j] = m} (x[i])"
    text = head + "f[m: M] = sum{i, j: q[i, j] = m} (x[i])"
    stable(text)
    assert printed(text) == "f[m] = sum{i}_0^(N - 1) (sum{j: q[i, j] = m} (x[i]))"
    text = head + "f = sum{e, n: N: b[e] = n} (x[n])"
    stable(text)
    assert printed(text) == "f = sum{e}_0^(E - 1) (sum{n: b[e] = n} (x[n]))"


def test_conditions_without_elements_are_bounds() -> None:
    assert printed("x: f64[9]\nf[n: 9] = sum{e: e <= n} (x[e])") == "f[n] = sum{e}_0^(n) (x[e])"
    assert printed("x: f64[9]\nf = sum{e: 7: e = 4 and e < 7} (x[e])") == printed(
        "x: f64[9]\nf = sum{e}_0^6 (if {e = 4} then (x[e]) else (0))"
    )


def test_conditions_that_cannot_be_rows() -> None:
    assert problem(GRAPH + "f = sum{e: src[e] = x[0]} (w[e])").code == "TAD0307"


@pytest.mark.parametrize("place", ["src[e] % 3", "src[dst[e]] // 2", "(src[e] + dst[e]) // 2"])
def test_remainders_and_quotients_of_elements_are_in_range(place: str) -> None:
    stable(
        GRAPH.replace("dst: index[E] in N", "dst: index[E] in E").replace("x: f64[N]", "x: f64[N + E]")
        + f"f[e] = w[e] * x[{place}]"
    )


@pytest.mark.parametrize(
    ("kind", "nothing"), [("sum", "0"), ("prod", "1"), ("max", "-(1 / 0)"), ("min", "1 / 0")]
)
def test_an_index_may_differ(kind: str, nothing: str) -> None:
    """A domain has no place for two ranges: the body is chosen."""
    text = GRAPH + f"f[n: N] = {kind}{{e: dst[e] = n and src[e] != n}} (w[e])"
    stable(text)
    choice = f"if {{src[e] = n}} then ({nothing}) else (w[e])"
    assert printed(text) == f"f[n] = {kind}{{e: dst[e] = n}} ({choice})"


def test_elements_that_are_in_range_where_an_index_differs() -> None:
    """What is looked up at `n - 1` is asked for inside of what says that n is not 0."""
    choice = "if {n = 0} then (0) else (if {src[n - 1] = 2} then (w[n]) else (0))"
    text = GRAPH + "f[n: E] = if {src[n - 1] = 2 and n != 0} then (w[n]) else (0)"
    stable(text)
    assert printed(text) == f"f[n] = {choice}"
    text = GRAPH + "f = sum{n: E: n != 0 and src[n - 1] = 2} (w[n])"
    stable(text)
    assert printed(text) == f"f = sum{{n}}_0^(E - 1) ({choice})"


def test_elements_stand_on_the_left_of_equalities() -> None:
    text = GRAPH + "f[n: N] = sum{e: n = dst[e]} (w[e])"
    assert printed(text) == "f[n] = sum{e: dst[e] = n} (w[e])"
    text = GRAPH + "f[n: N, e] = if {n = 2*dst[e]} then (w[e]) else (0)"
    assert printed(text) == "f[n, e] = if {2*dst[e] = n} then (w[e]) else (0)"


# -- what is meant -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("head", "sum"),
    [
        ("y[src[e]] = w[e]", "y[n: N] = sum{e: src[e] = n} (w[e])"),
        ("y[src[e]] += w[e]*x[n] # a comment", "y[m: N] = sum{e: src[e] = m} (w[e]*x[n])"),
        ("let y[src[e], c] = w[e] / 2", "y[n: N, c] = sum{e: src[e] = n} (w[e] / 2)"),
        ("y[src[e], dst[e]] = w[e]", "y[n: N, m: N] = sum{e: src[e] = n and dst[e] = m} (w[e])"),
        ("y[2*src[e] + 1, e] = w[e]", "y[n: …, e] = if {2*src[e] + 1 = n} then (w[e]) else (0)"),
    ],
)
def test_a_scatter_is_an_error_that_says_the_sum(head: str, sum: str) -> None:
    (found,) = all_problems(GRAPH + head)
    assert (found.code, found.message) == ("TAD0102", "`y` is defined at elements of an index array")
    assert found.helps == (f"each element sums up what belongs to it: `{sum}`",)


def test_the_range_of_an_index_that_elements_are_compared_with() -> None:
    assert size(GRAPH + "y[n] = sum{e: dst[e] = n} (w[e])") == "N"
    head = "d: index[E] in N + 1\nw: f64[E]\nx: f64[N]\n"
    assert printed(head + "y = sum{n} (exp(sum{e: n = d[e]} (w[e])))") == (
        "y = sum{n}_0^(N) (exp(sum{e: d[e] = n} (w[e])))"
    )
    # What is read tells more.
    assert size(head + "y[n] = x[n] * sum{e: d[e] = n} (w[e])") == "N"
    found = problem(GRAPH + "s: index[E] in E\ny[n] = sum{e: dst[e] = n and s[e] = n} (w[e])")
    assert (found.code, found.at) == ("TAD0305", "6:3 n")
    assert [text for _, text in found.others] == ["0..N - 1 from `dst[e]`", "0..E - 1 from `s[e]`"]


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("h[v] * sum{e}_(ptr[v])^(ptr[v + 1] - 1) (s[e])", "V"),
        ("sum{e}_(ptr[v])^(ptr[v + 1] - 1) (s[e]) * h[v]", "V"),
        ("sum{e: e >= ptr[v] and ptr[1 + v] > e} (s[e])", "V"),
        ("sum{e: own[e] = v} (s[e]) + ptr[v] - ptr[v + 2 - 1]", "V"),
        ("if {ptr[v] < ptr[v + 1]} then (h[v]) else (0)", "V"),
        ("sum{e: own[e] = v} (1)", "V"),
        ("sum{e: own[e] = v and e < 7} (h[own[e]] + h[v])", "V"),
        ("if {v < V} then (ptr[v + 1] - ptr[v]) else (0)", "V + 1"),
        ("sum{e}_(v)^(V - 1) (ptr[v + 1]) + ptr[v]", "V + 1"),
        ("long[v] - long[v + V] + long[v + 1]", "V + 2"),
    ],
)
def test_the_range_where_an_element_and_the_next_are_in_range(body: str, told: str) -> None:
    """Of a dimension that is read at v and at v + 1, what both tell, unless a condition compares v."""
    head = "ptr: index[V + 1] in E + 1 increasing\nown: index[E] in V\ns: f64[E]\nh: f64[V]\n"
    head += "long: f64[2*V + 2]\n"
    assert size(head + f"y[v] = {body}") == told
    stable(head + f"y[v] = {body}")


def test_an_end_that_is_one_too_many() -> None:
    head = "ptr: index[V + 1] in E + 1 increasing\ns: f64[E]\n"
    found = problem(head + "y[v] = max{e}_(ptr[v])^(ptr[v + 1]) (s[e])")
    assert found.code == "TAD0302"
    assert found.helps == ("both bounds are taken: write `max{e}_(…)^(ptr[v + 1] - 1) (…)`",)


def test_dimensions_that_tell_different_ranges() -> None:
    found = problem("x: f64[N]\ny: f64[N]\nz[i] = y[i] * (x[i + 1] - x[i])")
    assert (found.code, found.at) == ("TAD0305", "3:3 i")
    assert [text for _, text in found.others] == ["0..N - 1 from `y[i]`", "0..N - 2 from `x[i + 1]`"]
    assert found.helps[0] == "give the range: `i: N - 1`"
    assert problem("x: f64[1]\nz[i] = x[i + 2] - x[i]").code == "TAD0302"


@pytest.mark.parametrize(
    ("declaration", "help"),
    [
        ("src: index[E] into N", "it states what its elements are below: `src: index[E] in N`"),
        ("src: index[E]", "it states what its elements are below: `src: index[E] in N`"),
        ("src: int[E] in N", "elements are floating numbers; indices that read other tensors are"),
        ("src: f64[E] in N", "integers are `src: index[…] in …`"),
        ("src: index[E] in N incresing", "did you mean `increasing`?"),
        ("src: index[E] in N always", "where elements do not fall, `increasing` stands here, else nothing"),
    ],
)
def test_a_bad_declaration_is_the_only_error(declaration: str, help: str) -> None:
    (found,) = all_problems(f"{declaration}\nx: f64[N]\ny[e: 3] = x[src[e]]")
    assert found.helps[0].startswith(help)


def test_values_in_the_place_of_indices() -> None:
    found = problem(GRAPH + "let k[e] = src[e]\ny[e] = x[k[e]]")
    assert found.helps[0] == "`k` has floating numbers: read an index array itself where this reads `k`"
    found = problem(GRAPH + "y[e] = x[scr[e]]")
    assert (found.code, found.helps) == ("TAD0204", ("did you mean `src`?",))
    found = problem(GRAPH + "y = sum{e: w[e] > 0} (w[e])")
    assert found.helps == ("to choose by value, write `select(w[e] > 0, …, 0)` in its body",)


def test_sizes_that_nothing_tells() -> None:
    found = problem("i: index[E] in N\nw: f64[E]\ny[e] = w[e] * i[e]")
    assert (found.code, found.label, found.notes) == ("TAD0209", "only here", ())
    with pytest.raises(SizesNeeded):
        checked("i: index[E] in N*M\nx: f64[N, M]\ny[e] = x[i[e] // M, i[e] % M]")
    found = problem("row: index[E] in N\nA: f64[N, M] at (rov)\nx: f64[M]\nf[m] = x[m]")
    assert (found.code, found.helps) == ("TAD0204", ("did you mean `row`?",))


# -- LaTeX ---------------------------------------------------------------------------------


def test_latex() -> None:
    text = program_latex(checked(GRAPH + "f[n: N] = sum{e: dst[e] = n} (w[e] * x[src[e]])"))
    assert r"\sum_{0 \le e \le E - 1, {\mathit{dst}}_{e} = n} w_{e} \, x_{{\mathit{src}}_{e}}" in text
    text = program_latex(checked("row_ptr: index[9] in 9\nx: f64[9]\nf[i] = x[row_ptr[i] // 2]"))
    assert r"\left\lfloor \frac{{\mathit{row}_{\mathrm{ptr}}}_{i}}{2} \right\rfloor" in text


# -- derivatives ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "body",
    [
        # The place of `i[e]` is in range by the bounds of the sum alone, outside of which a guard may come.
        "f[n: N] = sum{e}_(ptr[n])^(ptr[n + 1] - 1) (if {i[e] = 3} then (x[e + 1]) else (0))",
        "f[n: N] = sum{k}_(ptr[n])^(ptr[n + 1] - 1) (x[k + 1] * x[i[k]])",
        "f[e] = sum{k: N: i[e] = k + o[e]} (x[k])",
        "f = max{e: i[e] + o[e] < N} (x[i[e]])",
        "f[e: E] = if {i[e] // 2 = o[e] and i[e] > e} then (x[2 * o[e] + 1]) else (x[e])",
        "f[n: N] = sum{e: E} (if {o[e] = n} then (0) else (if {i[e] != 0 and ptr[i[e] - 1] = n} then (x[e]) "
        "else (0)))",
    ],
)
def test_derivatives_read_back(body: str) -> None:
    head = "ptr: index[N + 1] in E + 1 increasing\ni: index[E] in N\no: index[E] in N\nx: f64[N + E + N]\n"
    program = checked(head + body)
    for _ in range(2):
        program = derive(program, "vjp")
        text = print_program(program)
        assert print_program(checked(text)) == text
