"""The readable form: what it looks like, and that it comes back."""

import pytest

from tadc.dialect.mlir import ir
from tadc.dialect.ops import load_dialect
from tadc.dialect.readable_text import parse_module, to_text
from tadc.dialect.text_spelling import AttributeSpeller
from tadc.dialect.text_tokens import TextTokens
from tests.dialect.random_programs import random_program
from tests.dialect.support import generic, operations, read_back, to_generic, written

EVERY_OP = """\
module {
  func.func @f(%a: tensor<3x8xf64> {tad.name = "a"}, %n: index) -> (tensor<3x4xf64> {tad.name = "f"}) {
    %f = tad.map (%i, %j) -> tensor<3x4xf64> {
      %0 = tad.sum (%k, %l) in {0 <= %k <= 4, %k < %i, %l == %k + 1, %l <= %j} -> f64 {
        %2 = tad.read %a[%i, %j + %k] : tensor<3x8xf64>
        %3 = tad.sum (%k_0) [%j, %i] in {%k_0 * 2 >= %i + 3, %k_0 <= %j} -> f64 {
          tad.yield %2 : f64
        }
        tad.yield %3 : f64
      }
      %1 = tad.guard where {%i == 2, 0 < %j} -> f64 {
        tad.yield %0 : f64
      } else {
        %2 = tad.index %i + %j floordiv 2 - (%i mod 4) * 3 - 1 : index
        %3 = tad.value_of %2 : f64
        %4 = tad.apply "sigmoid"(%3) : f64
        tad.yield %4 : f64
      }
      tad.yield %1 : f64
    }
    return %f : tensor<3x4xf64>
  }
}
"""


def text_of(text: str, filename: str = "f.mlir") -> str:
    return to_text(parse_module(text, ir.Context(), filename))


def function(body: str) -> str:
    """A body of a function of a tensor, an index and a number, at the indentation of `to_text`."""
    head = "func.func @f(%a: tensor<4xf64>, %i: index, %x: f64)"
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    return f"module {{\n  {head} {{\n{lines}    return\n  }}\n}}\n"


def test_every_op_comes_back() -> None:
    expected = EVERY_OP.replace("0 < %j", "%j >= 1")
    assert text_of(EVERY_OP) == expected
    assert text_of(expected) == expected


def test_generic_form_is_read_too() -> None:
    context = ir.Context()
    module = parse_module(EVERY_OP, context)
    again = parse_module(generic(module), context)
    assert generic(again) == generic(module)
    mixed = EVERY_OP.replace("tad.yield %4 : f64", '"tad.yield"(%4) : (f64) -> ()  // tad.map (%i) in {')
    assert generic(parse_module(mixed, context)) == generic(module)


def test_random_programs_come_back() -> None:
    context = ir.Context()
    for seed in range(40):
        # MLIR's own text says some sums in another order than they were built in.
        module = parse_module(generic(written(random_program(seed), context)), context)
        text = to_text(module)
        assert '"tad.' not in text, seed
        again = parse_module(text, context)
        assert generic(again) == generic(module), seed
        assert to_text(again) == text, seed
        assert generic(parse_module(to_generic(text), context)) == generic(module), seed


@pytest.mark.parametrize(
    ("rows", "shown"),
    [
        ("d0 >= 0, -d0 + 4 >= 0", "0 <= %k <= 4"),
        ("d0 - 1 >= 0, -d0 + s0 - 1 >= 0", "1 <= %k < %i"),
        ("d0 - s0 - 1 >= 0, -d0 + 7 >= 0", "%i < %k <= 7"),
        ("-d0 + 4 >= 0, d0 >= 0, d0 - s0 >= 0", "%k <= 4, %k >= 0, %k >= %i"),
        ("d0 - s0 == 0", "%k == %i"),
        ("-d0 + s0 - 3 == 0", "-%k + %i == 3"),
        ("-d0 + 3 == 0, d0 - s0 >= 0", "3 == %k, %k >= %i"),
        ("d0 * 2 - s0 + 5 >= 0", "%k * 2 >= %i - 5"),
        ("d0 - s0 + d0 floordiv 2 >= 0", "%k - %i + %k floordiv 2 >= 0"),
        ("(d0 + s0) floordiv 3 - d0 mod 2 - 5 >= 0", "(%k + %i) floordiv 3 >= %k mod 2 + 5"),
        ("d0 - (s0 floordiv 2) * 3 >= 0", "%k >= (%i floordiv 2) * 3"),
        ("1 >= 0, -1 >= 0, d0 - s0 >= 0", "1 >= 0, -1 >= 0, %k >= %i"),
    ],
)
def test_rows_of_a_set(rows: str, shown: str) -> None:
    used = "s0" in rows
    raw = f"affine_set<(d0){'[s0]' if used else ''} : ({rows})>"
    head = "%0 = tad.sum (%k) "
    body = " -> f64 {\n  tad.yield %x : f64\n}"
    text = function(f"{head}{'[%i] ' if used else ''}in {raw}{body}")
    assert text_of(text) == function(f"{head}in {{{shown}}}{body}")
    module = parse_module(text_of(text), ir.Context())
    (operation,) = operations(module, "tad.sum")
    assert str(operation.attributes["domain"]) == raw


@pytest.mark.parametrize(
    ("rows", "row"),
    [
        ("%i floordiv 2 <= %k", "d0 - s0 floordiv 2 >= 0"),
        ("%k * -2 mod 3 < %k", "-((d0 * -2) mod 3) + d0 - 1 >= 0"),
        ("%k >= -%i floordiv 2", "d0 - (-s0) floordiv 2 >= 0"),
        ("-%i floordiv 2 <= %k", "d0 - (-s0) floordiv 2 >= 0"),
        ("-(%i floordiv 2) == %k", "-(s0 floordiv 2) - d0 == 0"),
    ],
)
def test_a_sign_in_front_of_a_quotient(rows: str, row: str) -> None:
    """It is that of what is divided, as MLIR reads it, on either side of a comparison."""
    text = f"%0 = tad.sum (%k) in {{{rows}}} -> f64 {{\n  tad.yield %x : f64\n}}"
    (operation,) = operations(parse_module(function(text), ir.Context()), "tad.sum")
    head = "(d0)[s0]" if "s0" in row else "(d0)"
    said = ir.Attribute.parse(f"affine_set<{head} : ({row})>", operation.context)
    assert operation.attributes["domain"] == said


def test_a_sum_with_a_negative_term() -> None:
    """As MLIR prints `d0 + (2 - s0)`."""
    raw = "affine_set<(d0)[s0] : (d0 + -s0 + 2 >= 0)>"
    shown = AttributeSpeller(ir.Context()).spell(raw, TextTokens("%i")[:-1], ["%k"], closed=False)
    assert shown == "%k >= %i - 2"


@pytest.mark.parametrize(
    "line",
    [
        "%0 = tad.read %a[%i] : tensor<4xf64>",
        "%0 = tad.read %a[-%i * 2 - (%i + 1) floordiv 2 + 3] : tensor<4xf64>",
        '%0 = tad.read %a[2] attributes {note = "}", tad.read} : tensor<4xf64>',
        "%0 = tad.index 7 : index",
        "%0 = tad.index -%i : index",
        "%0 = tad.index [%i, %i] at affine_map<(d0, d1) -> (d0 + d1)> : index",
        "%0 = tad.index [%i] at affine_map<(d0) -> (3)> : index",
        "%0 = tad.read %a[%i, %i] at affine_map<(d0, d1) -> (d1)> : tensor<4xf64>",
        "%0 = tad.read %a[%i] attributes {domain = 3 : i64, where} : tensor<4xf64>",
        '%0 = tad.apply "mod"(%x, %x) attributes {y = 1 : i64} : f64',
        "%total = tad.sum (%k) in {} -> f64 {\n  tad.yield %x : f64\n}",
        "%0 = tad.sum (%k) [%i] in {%k >= 0} -> f64 {\n  tad.yield %x : f64\n}",
        '%0 = tad.sum (%k) in {%k >= 0} attributes {a = "->"} -> f64 {\n  tad.yield %x : f64\n}',
        '%0 = tad.reduce "max" (%k) in {%k >= 0} -> f64 {\n  tad.yield %x : f64\n}',
        '%0 = tad.reduce "prod" (%k, %l) [%i] in {%k >= %l} attributes {u} -> f64 {\n  tad.yield %x : f64\n}',
        "%0 = tad.guard where {} -> f64 {\n  tad.yield %x : f64\n} else {\n  tad.yield %x : f64\n}",
        "%0 = tad.map () -> tensor<f64> {\n  tad.yield %x : f64\n}",
        "%0 = tad.map (%j) attributes {u} -> tensor<4xf64> {\n  tad.yield %x : f64\n}",
    ],
)
def test_lines_come_back(line: str) -> None:
    assert text_of(function(line)) == function(line)


def test_one_line_a_line() -> None:
    spread = """\
func.func @f(%x: f64) {
  %0 = tad.sum (%k, // the inner index
                %l)
    in {0 <= %k <= 4, // {
        %l == 2}
    attributes {note = "a // b"}
    -> f64
  { tad.yield %x : f64 } // done
  %1 = tad.guard where
    {} -> f64 { tad.yield %0 : f64 }
    else
    { tad.yield %x : f64 }
  return
}
"""
    made = to_generic(spread, "f.mlir")
    assert made.count("\n") == spread.count("\n")
    (sum,) = operations(parse_module(spread, ir.Context(), "f.mlir"), "tad.sum")
    assert str(sum.location) == 'loc("f.mlir":2:8)'
    shown = text_of(spread)
    assert '%0 = tad.sum (%k, %l) in {0 <= %k <= 4, %l == 2} attributes {note = "a // b"} -> f64 {' in shown


def test_names_survive() -> None:
    shown = text_of(EVERY_OP)
    assert "%f = tad.map (%i, %j)" in shown
    assert "@f(%a: tensor" in shown
    module = parse_module(EVERY_OP, ir.Context(), "f.mlir")
    inner = operations(module, "tad.sum")[1].regions[0].blocks[0].arguments[0]
    assert str(inner.location) == 'loc("k"("f.mlir":6:23))'  # `%k_0` is MLIR's spelling of a second `k`


@pytest.mark.parametrize("name", ["i", "i_0", "x1", "a.b$c-d", "_", "arg", "Index"])
def test_any_name(name: str) -> None:
    line = f"%0 = tad.sum (%{name}) in {{%{name} >= 0}} -> f64 {{\n  tad.yield %x : f64\n}}"
    text = function(line).replace("%i: index", "%arg0: index")
    module = parse_module(text, ir.Context())
    (operation,) = operations(module, "tad.sum")
    assert f'loc("{name}"' in str(operation.regions[0].blocks[0].arguments[0].location)


def test_places_of_every_op() -> None:
    module = parse_module("  " + EVERY_OP, ir.Context(), "f.mlir")
    places = {
        op.name: str(op.location) for name in ("tad.read", "func.func") for op in operations(module, name)
    }
    assert places == {"tad.read": 'loc("f.mlir":5:14)', "func.func": 'loc("f.mlir":2:3)'}
    assert str(module.operation.location) == 'loc("f.mlir":1:3)'


def test_debug_info_comes_back() -> None:
    context = ir.Context()
    module = parse_module(EVERY_OP, context, "f.mlir")
    text = to_text(module, debug_info=True)
    assert '(%i loc("i"("f.mlir":3:19)), %j loc("j"("f.mlir":3:23)))' in text
    assert '%2 = tad.read %a[%i, %j + %k] : tensor<3x8xf64> loc("f.mlir":5:14)' in text
    assert to_text(parse_module(text, context, "g.mlir"), debug_info=True) == text


def test_other_dialects_pass_untouched() -> None:
    text = """\
module {
  func.func @f(%arg0: memref<4xf64>) {
    %c0 = arith.constant 0 : index
    %c4 = arith.constant 4 : index
    %c1 = arith.constant 1 : index
    scf.for %arg1 = %c0 to %c4 step %c1 {
      %0 = memref.load %arg0[%arg1] : memref<4xf64>
      memref.store %0, %arg0[%arg1] : memref<4xf64>
    }
    return
  }
}
"""
    assert text_of(text) == text
    assert to_generic(text) == text


def test_what_is_no_op() -> None:
    text = 'module attributes {tad.map = 1 : i64, tad.note = "tad.map (%i) in {", tad.yield} {\n}\n'
    assert text_of(text) == text


def test_ops_that_are_not_valid_stay_generic() -> None:
    context = ir.Context()
    load_dialect(context)
    with context, ir.Location.unknown():
        module = ir.Module.create()
        i32 = ir.IntegerType.get_signless(32)
        at = ir.Attribute.parse("affine_map<() -> (1)>")
        position = ir.Operation.create("tad.index", [i32], [], {"at": at}, ip=ir.InsertionPoint(module.body))
    assert position.name == "tad.index"
    assert '"tad.index"() {at = affine_map<() -> (1)>} : () -> i32' in to_text(module)


def test_what_is_in_an_op_that_stays_generic_is_readable() -> None:
    inner = '%1 = tad.read %a[%k] attributes {"a b" = 1 : i64, note = "})"} : tensor<4xf64>'
    line = f"%0 = tad.sum (%k) in {{0 <= %k <= 3}} -> f64 {{\n  {inner}\n  tad.yield %1 : f64\n}}"
    module = parse_module(function(line), ir.Context())
    assert to_text(module) == function(line)
    (sum,) = operations(module, "tad.sum")
    del sum.attributes["domain"]
    assert [line.strip() for line in to_text(module).splitlines()[2:7]] == [
        '%0 = "tad.sum"() ({', "^bb0(%k: index):", inner, "tad.yield %1 : f64", "}) : () -> f64"
    ]  # fmt: skip


def test_texts_that_mlir_wrote_with_aliases() -> None:
    module = parse_module(EVERY_OP, ir.Context())
    aliased = module.operation.get_asm()
    assert "#map" in aliased
    assert generic(parse_module(aliased, ir.Context())) == generic(module)


def test_a_program_reads_from_text() -> None:
    text = to_text(written("a: f64[5]\nf[i: 3] = sum{k}_0^2 (a[i + k] * i)"))
    again = parse_module(text, ir.Context())
    assert to_text(written(read_back(again))) == text
