"""The grammar, spans, syntax errors and how reading goes on after them."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tadc.frontend import syntax
from tadc.frontend.codes import CODES
from tadc.frontend.cursor import MAX_ERRORS
from tadc.frontend.diagnostics import CompileError, Diagnostic
from tadc.frontend.dump import dump
from tadc.frontend.lexer import RESERVED
from tadc.frontend.parser import parse, read_statements
from tadc.frontend.render import render
from tadc.frontend.source import Source
from tadc.frontend.tree import walk

PAPER = """# The example of section 6 of the paper.
a: f64[3, 5]
b: f64[4, 5]
c: f64[3, 3]
d: f64[8]
f[i, j] = exp(-sum{k}_0^4 ((a[i, k] + b[j, k])**2 * c[i, i] + d[i + k]**3))
"""


def program(text: str) -> tuple[syntax.Statement, ...]:
    return parse(Source(text)).statements


def brief(node: syntax.Node) -> str:
    """An expression with all its structure on one line."""
    match node:
        case syntax.Number():
            return repr(node.value)
        case syntax.Pi():
            return "pi"
        case syntax.Name():
            return node.id
        case syntax.Subscript():
            return f"{node.tensor}[{' '.join(map(brief, node.indices))}]"
        case syntax.Unary():
            return f"(neg {brief(node.operand)})"
        case syntax.Binary() | syntax.RelationExpr():
            return f"({node.operator} {brief(node.lhs)} {brief(node.rhs)})"
        case syntax.CallExpr():
            return f"({node.function} {' '.join(map(brief, node.arguments))})"
        case syntax.IndexSpec():
            return f"{node.name}:{brief(node.size)}" if node.size else node.name
        case syntax.ReduceExpr():
            bounds = f"[{' '.join(map(brief, node.lower))}][{' '.join(map(brief, node.upper))}]"
            return f"({node.kind} {' '.join(map(brief, node.indices))} {bounds} {brief(node.body)})"
        case syntax.IfExpr():
            conditions = " ".join(map(brief, node.conditions))
            return f"(if {conditions} {brief(node.then)} {brief(node.otherwise)})"
        case syntax.SelectExpr():
            return f"(select {brief(node.condition)} {brief(node.then)} {brief(node.otherwise)})"
        case _:
            raise TypeError(node)


def expression(text: str) -> str:
    (statement,) = program("f = " + text)
    assert isinstance(statement, syntax.Define)
    return brief(statement.body)


def errors(text: str) -> list[Diagnostic]:
    with pytest.raises(CompileError) as caught:
        parse(Source(text))
    assert caught.value.diagnostics
    return caught.value.diagnostics


def place(error: Diagnostic) -> str:
    assert error.primary
    assert error.source
    return error.source.text[error.primary.span.start : error.primary.span.end]


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("a + b - c", "(- (+ a b) c)"),
        ("a - b*c", "(- a (* b c))"),
        ("a / b * c % d", "(% (* (/ a b) c) d)"),
        ("i // 2 + 1", "(+ (// i 2) 1)"),
        ("-x**2", "(neg (** x 2))"),
        ("-a * b", "(* (neg a) b)"),
        ("a * -b", "(* a (neg b))"),
        ("a - -b", "(- a (neg b))"),
        ("--a", "(neg (neg a))"),
        ("a**b**c", "(** a (** b c))"),
        ("a**-b**-c", "(** a (neg (** b (neg c))))"),
        ("(a + b) * c", "(* (+ a b) c)"),
        ("exp(a)**2", "(** (exp a) 2)"),
        ("exp x[i]**2", "(** (exp x[i]) 2)"),
        ("exp sin x * y", "(* (exp (sin x)) y)"),
        ("sgn(x)", "(sign x)"),
        ("max(a, b + 1)", "(max a (+ b 1))"),
        ("x[i, 2*i + k - 1; 3]", "x[i (- (+ (* 2 i) k) 1) 3]"),
        ("pi * 3.5e-1", "(* pi 0.35)"),
        ("sum{k} (k)**2", "(** (sum k [][] k) 2)"),
        ("2 * sum{k}_0^4 (k) + 1", "(+ (* 2 (sum k [0][4] k)) 1)"),
        ("sum{k: 5} (k)", "(sum k:5 [][] k)"),
        ("sum{i, j: N} (i)", "(sum i j:N [][] i)"),
        ("sum{k}_-2^-1 (k)", "(sum k [(neg 2)][(neg 1)] k)"),
        ("sum{k}_M^N (k)", "(sum k [M][N] k)"),
        ("sum{k}_(i - 1)^(i // 2) (k)", "(sum k [(- i 1)][(// i 2)] k)"),
        ("sum{k}_(max [0; i - 2])^(min [4; i]) (k)", "(sum k [0 (- i 2)][4 i] k)"),
        ("sum{k}_(-((-i) // 2))^(2) (k)", "(sum k [(neg (// (neg i) 2))][2] k)"),
        ("max{k} (k) + prod{k: 2} (k)", "(+ (max k [][] k) (prod k:2 [][] k))"),
        ("if {i = j and i % 2 != 0} then (a) else (b) * 2", "(* (if (= i j) (!= (% i 2) 0) a b) 2)"),
        ("select(x[i] >= 0, a, b)", "(select (>= x[i] 0) a b)"),
        ("((((x))))", "x"),
    ],
)
def test_expressions(text: str, tree: str) -> None:
    assert expression(text) == tree


def test_statements() -> None:
    found = program("x: f32[3, N]; y: f64\nsize M\nsize K = 4\nf[i: 3, j] = 1; let h = 2\n g[i;j] = 3")
    summary = [(type(s).__name__, s.name) for s in found]
    assert summary == [
        ("Declare", "x"), ("Declare", "y"), ("SizeDecl", "M"), ("SizeDecl", "K"),
        ("Define", "f"), ("Define", "h"), ("Define", "g"),
    ]  # fmt: skip
    x, y, m, k, f, h, g = found
    assert isinstance(x, syntax.Declare)
    assert isinstance(y, syntax.Declare)
    assert (x.element_type, [brief(e) for e in x.shape], y.shape) == ("f32", ["3", "N"], ())
    assert isinstance(m, syntax.SizeDecl)
    assert isinstance(k, syntax.SizeDecl)
    assert (m.value, k.value) == (None, 4)
    assert isinstance(f, syntax.Define)
    assert isinstance(h, syntax.Define)
    assert isinstance(g, syntax.Define)
    assert [brief(i) for i in f.indices] == ["i:3", "j"]
    assert (f.is_let, h.is_let) == (False, True)
    assert [brief(i) for i in g.indices] == ["i", "j"]


def test_an_intermediate_may_state_its_type() -> None:
    found = program("let h[i: 3]: f32 = i\nlet s: f64 = 1\nlet t = 1")
    assert [d.element_type for d in found if isinstance(d, syntax.Define)] == ["f32", "f64", None]
    assert [e.code for e in errors("let h: f8 = 1")] == ["TAD0109"]
    assert [e.code for e in errors("f[i: 3]: f32 = 1")] == ["TAD0102"]


def test_lines_go_on_inside_brackets_only() -> None:
    assert expression("(a +  # first\n\n b) * x[i,\n j]") == "(* (+ a b) x[i j])"
    assert expression("if {i\n= j\nand i > 2} then (\n1) else (0)") == "(if (= i j) (> i 2) 1 0)"
    assert [e.code for e in errors("f = a\n+ b")] == ["TAD0102"]


def test_empty_programs() -> None:
    assert program("") == program("\n;; # nothing\n") == ()


def test_every_span_reads_back_as_its_node() -> None:
    text = PAPER + (
        "g[i: 3] = if {i % 2 = 0 and i < 2} then (exp sin x[i])"
        " else ((x[i] + 1) * select(x[i] > 0, -x[i], 2)**pi)\n"
        "h[i: 3] = sum{k}_(max [0; i - 2])^(min [4; i]) (k) - max(i, 2)"
    )
    source = Source(text)
    expressions = (
        syntax.Number, syntax.Pi, syntax.Name, syntax.Subscript, syntax.Unary, syntax.Binary, syntax.CallExpr,
        syntax.ReduceExpr, syntax.IfExpr, syntax.SelectExpr,
    )  # fmt: skip
    seen = 0
    for _, _, node in walk(parse(source)):
        if isinstance(node, expressions):
            assert expression(text[node.span.start : node.span.end]) == brief(node)
            seen += 1
    assert seen > 70


def test_statement_spans() -> None:
    text = "a: f64[3]  # one\nlet h[i] = (2 * 3)\nsize N = 4"
    assert [text[s.span.start : s.span.end] for s in program(text)] == text.replace("  # one", "").split("\n")


def test_dump_shows_the_tree() -> None:
    assert dump(parse(Source("let h[i: 3] = -x[i]"))) == (
        "Module @0..19\n"
        "  Define let h @0..19\n"
        "    index: IndexSpec i @6..10\n"
        "      Number 3 @9..10\n"
        "    Unary - @14..19\n"
        "      Subscript x @15..19\n"
        "        Name i @17..18\n"
    )


@pytest.mark.parametrize(
    ("text", "code", "where", "said"),
    [
        ("f = (a", "TAD0101", "(", "expected `)`"),
        ("f = x[i", "TAD0101", "[", "expected `]`"),
        ("f = x[(i]", "TAD0101", "(", "expected `)`"),
        ("f = (a + \n g = 3", "TAD0101", "(", "expected `)`"),
        ("f = sum{k (k)", "TAD0101", "{", "expected `}`"),
        ("f = a )", "TAD0108", ")", "closes nothing"),
        ("f = a b", "TAD0102", "b", "to multiply, write `*`"),
        ("f = (a b)", "TAD0102", "b", "an operator or `)`"),
        ("f = a ^ 2", "TAD0102", "^", "a power is written `**`"),
        ("f = +a", "TAD0102", "+", "not needed"),
        ("f = a +", "TAD0102", "", "expected an expression"),
        ("f = (a = b)", "TAD0102", "=", "if {i = j} then"),
        ("f", "TAD0102", "", "f[i] = …"),
        ("f(i) = 2", "TAD0102", "(", "indices stand in brackets: `f[i] = …`"),
        ("f[2*i] = 2", "TAD0102", "2*i", "a name for an index"),
        ("f[i] 2", "TAD0102", "2", "expected `=`"),
        ("3 = 4", "TAD0102", "3", "expected a statement"),
        ("sum{k} (x[k])", "TAD0102", "sum", "expected a statement"),
        ("f = exp", "TAD0102", "", "the argument of `exp`"),
        ("f = sin -x", "TAD0102", "-", "`sin(-…)`"),
        ("f = sum{k} x[k]", "TAD0102", "x", "stands in parentheses"),
        ("f = sum{k}_0 (k)", "TAD0102", "(", "`^` and the upper bound"),
        ("f = sum{k}^4 (k)", "TAD0102", "^", "write both bounds"),
        ("f = sum k", "TAD0102", "k", "name the index"),
        ("f = if {0 <= i < 3} then (1) else (0)", "TAD0102", "<", "0 <= i and i < 3"),
        ("f = if {i} then (1) else (0)", "TAD0102", "}", "= != < <= > >="),
        ("f = if {i = j} then 1 else 0", "TAD0102", "1", "stands in parentheses"),
        ("f = select(x > y, 1)", "TAD0102", ")", "select(x > y, e, e)"),
        ("f = if {i = j} (1) else (0)", "TAD0105", "(", "expected `then`"),
        ("f = if {i = j} then (1)", "TAD0105", "", "else (0)"),
        ("if = 3", "TAD0106", "if", "`if` is reserved"),
        ("let exp = 3", "TAD0106", "exp", "reserved"),
        ("f[sum] = 2", "TAD0106", "sum", "cannot name an index"),
        ("f = sum{f32} (1)", "TAD0106", "f32", "cannot name an index"),
        ("f = 2 * f32", "TAD0106", "f32", "cannot stand in an expression"),
        ("x: i32[3]", "TAD0109", "i32", "elements are floating numbers"),
        ("size N = 2.5", "TAD0103", "2.5", "a size is an integer"),
        ("f = exq(x)", "TAD0201", "exq", "did you mean `exp`?"),
        ("f = exq x", "TAD0201", "exq", "did you mean `exp`?"),
        ("f = x(i)", "TAD0201", "x", "tadc --list functions"),
        ("f = atan2(x)", "TAD0110", "atan2(x)", "takes 2 arguments, not 1"),
        ("f = sin(x, y)", "TAD0110", "sin(x, y)", "takes 1 argument, not 2"),
        ("f = sum{i, j}_0^4 (i)", "TAD0111", "j", "nest them"),
        ("f = sum{k: 5}_0^4 (k)", "TAD0111", "_0^4", "stated twice"),
        ("f = sum{k}_0^4.5 (k)", "TAD0111", "4.5", "a bound is an integer"),
        ("f = sum{k}_(min [0; i])^4 (k)", "TAD0111", "min", "expected `max`"),
        ("f = 3x", "TAD0103", "3x", "no number"),
        ("f = a == b", "TAD0104", "==", "unknown operator"),
    ],
)
def test_errors(text: str, code: str, where: str, said: str) -> None:
    (error,) = errors(text)
    assert (error.code, place(error)) == (code, where)
    assert said in render(error)


def test_reserved_words_name_nothing() -> None:
    for word in RESERVED:
        assert errors(f"let {word}[i] = 2")[0].code == "TAD0106"


def test_an_unclosed_bracket_does_not_hide_what_follows() -> None:
    found = errors("f = exp(a\ng[i] = x[i] + 1\nh = (2\nlet k = 3 4\n")
    assert [(e.code, place(e)) for e in found] == [("TAD0101", "("), ("TAD0101", "("), ("TAD0102", "4")]


def test_an_error_inside_brackets_goes_on_behind_them() -> None:
    found = errors("f = (a b\n + c = d)\ng = 1 2\nh = 3")
    assert [(e.code, place(e)) for e in found] == [("TAD0102", "b"), ("TAD0102", "2")]


def test_errors_come_in_the_order_of_the_text() -> None:
    found = errors("f = exq(a) + 3x\ng = )\nh = \N{MINUS SIGN}1 + sin(1, 2)")
    assert [e.code for e in found] == ["TAD0201", "TAD0103", "TAD0108", "TAD0104", "TAD0110"]


def test_the_number_of_errors_is_limited() -> None:
    assert len(errors("f = )\n" * 100)) == MAX_ERRORS
    assert len(errors("f = 3x\n" * 100)) == MAX_ERRORS


@pytest.mark.parametrize(
    "unit", ["(", "-", "a**", "exp ", "exp(", "x[", "sum{k} (", "if {i = (", "select(a > (", "2*("]
)
@pytest.mark.parametrize("count", [1_000, 30_000])
def test_deep_nesting_is_an_error(unit: str, count: int) -> None:
    closing = {"(": ")", "[": "]", "{": "}"}
    closed = "".join(closing[c] for c in reversed(unit) if c in "([") * count
    for end in ("", "a", "a" + closed):
        codes = {e.code for e in errors("f = " + unit * count + end)}
        assert codes <= {"TAD0107", "TAD0101", "TAD0112"}


def test_moderate_nesting_is_read() -> None:
    assert expression("(" * 400 + "a" + ")" * 400) == "a"


def test_long_chains() -> None:
    (statement,) = program("f = " + " + ".join(["x"] * 9_000))
    assert len(dump(syntax.Module(statement.span, (statement,)))) < 5_000_000
    assert [e.code for e in errors("f = " + " + ".join(["x"] * 100_000))] == ["TAD0107"]


def test_long_hostile_inputs_end_soon() -> None:
    for text in ("f = (\n" * 20_000, "]" * 100_000, "f=(\n+(\n" * 10_000, "f = x[" * 20_000, "{(" * 50_000):
        assert 1 <= len(errors(text)) <= MAX_ERRORS


_WORDS = [
    *"()[]{},;:=+-*/%^_<>", "**", "//", "\n", "<=", "!=", "==", "#", "\t", "f", "x", "i", "3", "2.5", "1e",
    "let ", "size ", "sum{k}", "sum", "if {", " then (", " else (", "select(", " and ", "exp ", "max", "f64",
    "pi ", "\u00e9",
]  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(_WORDS), max_size=40))
def test_any_text_is_read_or_rejected_with_a_place(words: list[str]) -> None:
    source = Source("".join(words))
    try:
        module = parse(source)
    except CompileError as error:
        for diagnostic in error.diagnostics:
            assert diagnostic.code in CODES
            assert diagnostic.primary
            assert 0 <= diagnostic.primary.span.start <= diagnostic.primary.span.end <= len(source.text)
            assert render(diagnostic)
    else:
        assert dump(module)


def test_statements_around_an_error_are_read():
    module = read_statements(Source("size N\nx: f64[N\ny[i: 3] = (1\nlet z = 2 3; w = 1 $\nv = 4"))
    assert [statement.name for statement in module.statements] == ["N", "v"]
    assert [error.code for error in module.errors] == ["TAD0101", "TAD0101", "TAD0102", "TAD0104"]
    assert module.unread == {"x", "f64", "N", "y", "i", "z", "w"}
