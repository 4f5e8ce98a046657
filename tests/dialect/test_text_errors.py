"""What does not read as IR is shown where it stands."""

import random

import pytest

from tadc.dialect.mlir import ir
from tadc.dialect.ops import load_dialect
from tadc.dialect.readable_text import parse_module, verify
from tadc.dialect.text_tokens import TextTokens
from tadc.frontend.diagnostics import CompileError, Diagnostic
from tadc.frontend.source import Source
from tests.dialect.support import operations, problem

GOOD = """\
func.func @f(%a: tensor<3x8xf64>) -> tensor<3x4xf64> {
  %f = tad.map (%i, %j) -> tensor<3x4xf64> {
    %0 = tad.sum (%k) in {0 <= %k <= 4} -> f64 {
      %1 = tad.read %a[%i, %k] : tensor<3x8xf64>
      tad.yield %1 : f64
    }
    %2 = tad.guard where {%i == 2} -> f64 {
      tad.yield %0 : f64
    } else {
      %3 = tad.index %i + %j : index
      %4 = tad.value_of %3 : f64
      %5 = tad.apply "sigmoid"(%4) : f64
      tad.yield %5 : f64
    }
    tad.yield %2 : f64
  }
  return %f : tensor<3x4xf64>
}
"""

UNREADABLE = [
    ("[%i, %k]", "[%i, %zz]", "4:28 %zz", "use of undeclared SSA value name"),
    ("[%i, %k]", "[%i %k]", "4:27 %k", "expected `,`, found `%k`"),
    ("[%i, %k]", "[%i, 1.5]", "4:28 1.5", "expected an index such as `%i` or a number, found `1.5`"),
    ("[%i, %k]", "[%i, %k * %i]", "4:31 *", "an index can be multiplied by a number only"),
    ("[%i, %k]", "[%i, %k mod -2]", "4:31 mod", "`mod` needs a positive number on its right"),
    ("[%i, %k]", "[%i, %k", "4:31 :", "expected `,`, found `:`"),
    (": tensor<3x8xf64>\n", ": tensor<3x8xf64\n", "4:40 <", "this `<` is never closed"),
    (": tensor<3x8xf64>\n", ": f64\n", "4:34 f64", "expected a tensor type such as `tensor<3x4xf64>`"),
    ("in {0 <= %k <= 4}", "[%i] in {%j <= %k}", "3:32 %j", "`%j` is not among the indices listed"),
    ("in {0 <= %k <= 4}", "{0 <= %k}", "3:23 {", "expected `in`, found `{`"),
    ("%k <= 4", "%k <= 4 <= 5", "3:40 <=", "expected `,`, found `<=`"),
    ("0 <= %k <= 4", "%k", "3:29 }", "expected one of `<=`, `<`, `>=`, `>`, `==`, found `}`"),
    ("0 <= %k <= 4", "0 <= %k == 4", "3:35 ==", "expected one of `<`, `<=`, found `==`"),
    ("{0 <= %k <= 4}", "affine_map<(d0) -> (d0)>", "3:26 affine_map",
     "expected `affine_set`, found `affine_map`"),
    ("(%i, %j) ->", "(%i, 3) ->", "2:21 3", "expected an index such as `%i`, found `3`"),
    ("(%i, %j) ->", "(%i, %i) ->", "2:21 %i", "redefinition of SSA value '%i'"),
    ("} else {", "} otherwise {", "9:7 otherwise", "expected `else`, found `otherwise`"),
    ("tad.value_of %3", "tad.value_of 3", "11:25 3", "expected an index such as `%i`, found `3`"),
    ("tad.value_of", "tad.value", "11:12 tad.value", "custom op 'tad.value' is unknown"),
    ('"sigmoid"', "sigmoid", "12:22 sigmoid", 'expected a function such as `"sigmoid"`, found `sigmoid`'),
    ('"sigmoid"(', '"sigmoid(', '12:22 "', 'expected a function such as `"sigmoid"`, found `"`'),
    ("tad.yield %5 : f64", "tad.yield %5", "14:5 }", "expected `:`, found `}`"),
    ("tad.yield %5 : f64", "tad.yield %5 : index", "13:17 %5",
     "use of value '%5' expects different type than prior uses: 'index' vs 'f64'"),
    ("return %f : tensor<3x4xf64>", "return %f : tensor<3x4xf6>", "17:22 3x4xf6",
     "expected non-function type"),
    ("tad.read %a", "tad.read = %a", "4:21 =", "expected a tensor such as `%a`, found `=`"),
    ("-> tensor<3x4xf64> {\n    %0", "-> {\n    %0", "2:28 {", "expected a type, found `{`"),
    ("{0 <= %k <= 4}", "{0 <= %k <= 4", "3:40 ->", "expected `,`, found `->`"),
    ("{0 <= %k <= 4}", "#set", "3:26 #set", "undefined symbol alias id 'set'"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "at", "label"), UNREADABLE)
def test_unreadable(old: str, new: str, at: str, label: str) -> None:
    assert old in GOOD
    found = problem(GOOD.replace(old, new, 1))
    assert (found.code, found.at, found.label) == ("TAD0601", at, label)


def test_the_end_of_the_text() -> None:
    assert problem(GOOD[: GOOD.index("%i, %k]")]).label == "this `{` is never closed"
    found = problem("func.func @f() {\n  return\n")
    assert (found.at, found.label) == ("2:3 return", "expected operation name in quotes")
    found = problem("%0 = tad.index")
    assert found.label == "expected an index such as `%i` or a number, found the end of the text"


def test_what_mlir_says_nothing_about() -> None:
    found = problem("func.func @f() {\n  tad.yield, 3\n}")
    assert found.at.startswith("2:")
    found = problem("func.func @f() {tad.yield = 3}")
    assert (found.at, found.label) == ("1:17 tad.yield", "neither an op nor an attribute")


def rendered(text: str, name: str = "f.mlir") -> str:
    with pytest.raises(CompileError) as caught:
        parse_module(text, ir.Context(), name)
    return str(caught.value)


def test_how_an_error_looks() -> None:
    assert rendered(GOOD.replace("tad.value_of", "tad.value")).rstrip() == (
        "error[TAD0601]: cannot read the IR\n"
        "  --> f.mlir:11:12\n"
        "   |\n"
        "11 |       %4 = tad.value %3 : f64\n"
        "   |            ^^^^^^^^^ custom op 'tad.value' is unknown\n"
        "   |\n"
        "   = help: did you mean `tad.value_of`?"
    )
    twice = rendered(GOOD.replace("%i, %j) ->", "%i, %i) ->"), "-")
    assert " --> <stdin>:2:21" in twice
    assert "previously defined here" in twice


def test_columns_count_characters() -> None:
    line = '  %0 = arith.constant {note = "äöü→"} 1.0 : f64 loc("é":1:1) ; \n'
    found = problem("func.func @f() {\n" + line + "  return\n}\n")
    assert found.at == f"2:{line.index(';') + 1} ;"


def test_a_caller_that_handles_errors_itself() -> None:
    context = ir.Context()
    context.emit_error_diagnostics = True
    with pytest.raises(CompileError, match="undeclared"):
        parse_module(GOOD.replace("%k]", "%z]"), context)
    assert context.emit_error_diagnostics


def broken() -> ir.Module:
    """A module that was valid until its function was edited."""
    module = parse_module(GOOD, ir.Context(), "f.mlir")
    (read,) = operations(module, "tad.read")
    read.attributes["at"] = ir.Attribute.parse("affine_map<(d0, d1) -> (d0)>", module.context)
    return module


def test_verify_shows_the_place() -> None:
    module = parse_module(GOOD, ir.Context(), "f.mlir")
    verify(module, Source(GOOD, "f.mlir"))
    with pytest.raises(CompileError) as caught:
        verify(broken(), Source(GOOD, "f.mlir"))
    assert "  --> f.mlir:4:12" in str(caught.value).replace(" --> ", "  --> ")
    assert "^^^^^^^^ 'tad.read' op map yields 1 subscripts" in str(caught.value)


def test_verify_without_the_text() -> None:
    with pytest.raises(CompileError) as caught:
        verify(broken())
    (found,) = caught.value.diagnostics
    assert found.code == "TAD0602"
    assert found.message.startswith("the IR is not valid: 'tad.read' op map yields 1 subscripts")
    assert found.notes == ["at f.mlir:4:12"]


def test_loading_again_changes_nothing() -> None:
    context = ir.Context()
    for _ in range(3):
        load_dialect(context)
        verify(parse_module(GOOD, context))


@pytest.mark.parametrize("seed", range(4))
def test_damaged_text_is_an_error_with_a_place(seed: int) -> None:
    draw = random.Random(seed)
    context = ir.Context()
    words = [token.text for token in TextTokens(GOOD)]
    found: list[Diagnostic] = []
    for _ in range(60):
        token = draw.choice(TextTokens(GOOD)[:-1])
        text = GOOD[: token.start] + draw.choice(["", *words]) + " " * draw.randint(0, 1) + GOOD[token.end :]
        try:
            parse_module(text, context, "f.mlir")
        except CompileError as error:
            found += error.diagnostics
    assert len(found) > 40
    assert {diagnostic.code for diagnostic in found} <= {"TAD0601", "TAD0602"}
    assert [diagnostic for diagnostic in found if diagnostic.primary is None] == []
