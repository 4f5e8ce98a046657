"""Index arrays in the dialect: programs are written, read as text and as programs, and come back the same."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args, get_type_hints

import pytest

from tadc.dialect.locations import place_of
from tadc.dialect.mlir import ir
from tadc.dialect.program_reader import UnsupportedIR, tad_functions
from tadc.dialect.readable_text import parse_module, to_text
from tadc.frontend.program import Argument, Definition, Inspected, Pattern, Program
from tadc.frontend.terms import Terms
from tadc.lattice.affine import Affine, Constraint, box
from tadc.passes.maps.blocks import forms_of
from tadc.passes.maps.read_maps import read_maps
from tadc.passes.maps.write_maps import write_maps
from tests.dialect.random_programs import random_program
from tests.dialect.support import generic, operations, problem, read_back, to_generic, written

E, N, i, k = (Affine.var(name) for name in "ENik")
SRC, PTR = (
    Argument("src", "i32", (E,), below=N),
    Argument("ptr", "i32", (N + 1,), below=E + 1, increasing=True),
)
PERM = Argument("src.perm", "i32", (E,), below=E, inspected=Inspected("perm", ("src",)))
PAIRS = Argument("uv.ptr", "i32", (N, 4), below=E + 1, inspected=Inspected("ptr", ("u", "v")))
AXES = Argument("uv.perm", "i32", (E,), below=3, inspected=Inspected("perm", ("u", "v"), 1))
ONE = Argument("s", "i32", (), below=3)
SUMS = Argument(
    "p.q.values", "i32", (E,), below=2 * N,
    inspected=Inspected("values", ("src",), form=SRC.lookup([Affine.var("#0")]) + 1),
)  # fmt: skip
SPARSE = Argument("A", "f64", (E,), pattern=Pattern(("src", "src"), (N, N)))


def made(terms: Terms, body: object, *arguments: Argument, shape: tuple[Affine, ...] = (N,)) -> Program:
    x = Argument("x", "f64", (N,))
    definition = Definition("f", "f64", shape, tuple("ij"[: len(shape)]), body)  # pyright: ignore[reportArgumentType]
    return Program((*arguments, x), (definition,), terms, sizes=("E", "N"))


def fibre() -> Program:
    """A sum over the places of an index: bounds are lookups, reads have lookups of lookups."""
    terms = Terms()
    rows = [Constraint(k - PTR.lookup([i])), Constraint(PTR.lookup([i + 1]) - 1 - k)]
    read = terms.read("x", [SRC.lookup([PERM.lookup([k])])], "f64")
    return made(terms, terms.reduce(["k"], rows, read), SRC, PTR, PERM)


def delta() -> Program:
    """An equality that holds a lookup, beside one of outside."""
    terms = Terms()
    rows = [*box(["k"], [E]), Constraint(SRC.lookup([PERM.lookup([k])]) - i - ONE.lookup([]), True)]
    return made(terms, terms.reduce(["k"], rows, terms.index(SRC.lookup([k]) + k)), SRC, PERM, ONE)


def test_what_a_sum_looks_up_stands_in_its_head() -> None:
    text = to_text(written(delta()))
    assert "%t = tad.lookup %s[] : tensor<i32>" in text
    assert (
        "tad.sum (%k) at (%t_0 = %src.perm[%k] : tensor<?xi32>, %t_1 = %src[%t_0] : tensor<?xi32>) "
        "in {0 <= %k < %E, %t_1 == %i + %t} -> f64 {"
    ) in text


def test_bounds_are_looked_up_outside() -> None:
    text = to_text(written(fibre()))
    assert "tad.sum (%k) in {%t <= %k < %t_0} -> f64 {" in text
    assert text.index("tad.lookup %ptr[%i + 1]") < text.index("tad.sum") < text.index("%src.perm[%k]")


def test_nothing_is_looked_up_before_its_guard() -> None:
    terms = Terms()
    read = terms.read("x", [SRC.lookup([i])], "f64")
    module = written(made(terms, terms.guard([Constraint(E - 1 - i)], read, terms.const(0)), SRC))
    (lookup,) = operations(module, "tad.lookup")
    assert lookup.parent.name == "tad.guard"


def test_an_element_is_looked_up_once_in_a_region() -> None:
    terms = Terms()
    read = terms.read("x", [SRC.lookup([i])], "f64")
    both = terms.apply("mul", [read, terms.read("x", [N - 1 - SRC.lookup([i])], "f64")])
    inner = terms.guard([Constraint(i - 1)], terms.index(SRC.lookup([i])), read)
    module = written(made(terms, terms.apply("add", [both, inner]), SRC))
    assert len(operations(module, "tad.lookup")) == 1


KINDS = ", ".join(f'"{kind}"' for kind in get_args(get_type_hints(Inspected)["kind"]))


@pytest.mark.parametrize("program", [fibre(), delta()], ids=["fibre", "delta"])
def test_programs_come_back(program: Program) -> None:
    module = written(program)
    text = to_text(module)
    again = parse_module(text, ir.Context())
    assert to_text(again) == text
    back = read_back(again)
    assert [replace(a, span=None) for a in back.arguments] == list(program.arguments)
    assert to_text(written(back)) == text
    located = to_text(module, debug_info=True)
    assert to_text(parse_module(located, ir.Context()), debug_info=True) == located
    assert generic(parse_module(generic(module), ir.Context())) == generic(module)
    assert to_generic(text).count("\n") == text.count("\n")


def test_what_is_said_of_index_arrays_comes_back() -> None:
    terms = Terms()
    program = made(terms, terms.const(1), SRC, PTR, PERM, PAIRS, AXES, ONE, SUMS, SPARSE)
    (output,) = program.definitions
    output = replace(output, shape=(E,), pattern=Pattern(("src",), (N,)))
    program = replace(program, definitions=(output,))
    back = read_back(parse_module(to_text(written(program)), ir.Context()))
    assert [replace(a, span=None) for a in back.arguments] == list(program.arguments)
    assert back.definitions[0].pattern == output.pattern


@pytest.mark.parametrize("first", [0, 20, 40])
def test_random_programs_come_back(first: int) -> None:
    context, found = ir.Context(), 0
    for seed in range(first, first + 20):
        first = written(random_program(seed, index_arrays=3, depth=6), context)
        text = to_text(first)
        found += text.count(" at (%")
        assert generic(parse_module(text, context)) == generic(parse_module(generic(first), context)), seed
        second = written(read_back(first), context)
        assert to_text(written(read_back(second), context)) == to_text(second), seed
    assert found > 6


def test_maps_of_random_programs_come_back() -> None:
    context, found = ir.Context(), 0
    for seed in range(40):
        module = written(random_program(seed, index_arrays=3, depth=4, types=("f64",)), context)
        (function,) = tad_functions(module.operation)
        before = read_maps(function)
        write_maps(function, before, replace(before, maps=tuple(replace(item) for item in before.maps)))
        assert module.operation.verify()
        after = read_maps(function)
        assert after == before, seed
        found += sum(1 for item in before.maps for form in forms_of(item.body) for _ in form.lookups())
    assert found > 100


HEAD = "func.func @f(%p: tensor<4xi32> {tad.below = affine_map<() -> (3)>}, %q: tensor<2x4xi32>"
BODY = """, %a: tensor<4xf64>, %z: f64) -> tensor<4xf64> {
%r = tad.map (%i) -> tensor<4xf64> {
LINE
tad.yield %z : f64 }
return %r : tensor<4xf64> }"""
SUM = '%s = "tad.sum"() ({{ ^bb0(%e: index): {} "tad.yield"(%z) : (f64) -> () }})'
SUM += " {{domain = affine_set<{}>}} : () -> f64"
LOOKUP = '%t = "tad.lookup"(%p, %e) {at = affine_map<(d0) -> (d0)>} : (tensor<4xi32>, index) -> index'


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('%t = "tad.lookup"(%a, %i) {at = affine_map<(d0) -> (d0)>} : (tensor<4xf64>, index) -> index',
         "'tad.lookup' op array must be a tensor of i32, got tensor<4xf64>"),
        ('%t = "tad.lookup"(%q, %i) {at = affine_map<(d0) -> (d0)>} : (tensor<2x4xi32>, index) -> index',
         "'tad.lookup' op map yields 1 subscripts but tensor<2x4xi32> has rank 2"),
        ('%t = "tad.lookup"(%p) {at = affine_map<(d0) -> (d0)>} : (tensor<4xi32>) -> index',
         "'tad.lookup' op map must take the 0 indices given as its dimensions"),
        ('%t = "tad.read"(%p, %i) {at = affine_map<(d0) -> (d0)>} : (tensor<4xi32>, index) -> i32',
         "'tad.read' op result must be f16, bf16, f32 or f64, got i32"),
        (SUM.format("", "(d0, d1) : (d0 - d1 == 0)"),
         "'tad.sum' op region must have 2 index arguments, got 1"),
        (SUM.format(LOOKUP, "(d0, d1, d2) : (d0 - d1 == 0)"),
         "'tad.sum' op region must have 2 index arguments, got 1"),
        ("%s = tad.sum (%e) at (%t = %p[%t] : tensor<4xi32>) in {%t == 0} -> f64 { tad.yield %z : f64 }",
         "operand #1 does not dominate this use"),
    ],
)  # fmt: skip
def test_verifiers(line: str, message: str) -> None:
    assert message in problem((HEAD + BODY).replace("LINE", line)).label


def test_a_set_has_the_lookups_that_its_body_begins_with() -> None:
    line = SUM.format(LOOKUP + LOOKUP.replace("%t", "%u"), "(d0, d1) : (d0 >= 0, -d0 + 3 >= 0, d1 - 2 == 0)")
    module = parse_module((HEAD + BODY).replace("LINE", line), ir.Context())
    text = to_text(module)
    assert "tad.sum (%e) at (%1 = %p[%e] : tensor<4xi32>) in {0 <= %e <= 3, %1 == 2} -> f64 {\n" in text
    assert text.count("tad.lookup") == 1


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ("", "tensor<4xi32> needs a map 'tad.below' to one form"),
        ("tad.below = affine_map<() -> (1, 2)>", "tensor<4xi32> needs a map 'tad.below' to one form"),
        ("tad.below = 3 : i64", "'tad.below' must be a map of the sizes, got 3 : i64"),
        ("tad.below = affine_map<(d0) -> (d0)>",
         "'tad.below' is no map of the sizes: affine_map<(d0) -> (d0)>"),
        ('tad.below = affine_map<() -> (3)>, tad.inspected = ["sort", 0, "q"]',
         f"'tad.inspected' must list one of {KINDS}, an axis, "
         'and names of arrays, got ["sort", 0, "q"]'),
        ('tad.below = affine_map<() -> (3)>, tad.inspected = ["perm"]',
         f"'tad.inspected' must list one of {KINDS}, an axis, "
         'and names of arrays, got ["perm"]'),
        ('tad.below = affine_map<() -> (3)>, tad.inspected = ["values", 0, "q"], tad.values = "[3"',
         f"'tad.inspected' must list one of {KINDS}, an axis, "
         'and names of arrays, got ["values", 0, "q"]'),
        ("tad.below = affine_map<() -> (3)>, tad.pattern = [affine_map<(d0) -> (d0)>]",
         "'tad.pattern' must list a map of the sizes and names of arrays, got [affine_map<(d0) -> (d0)>]"),
        ("tad.below = affine_map<() -> (3)>, tad.increasing",
         "'tad.increasing' needs one dimension, not tensor<2x4xi32>"),
    ],
)  # fmt: skip
def test_attributes_that_say_no_index_array(said: str, message: str) -> None:
    kind = "2x4xi32" if "increasing" in said else "4xi32"
    head = f"func.func @f(%p: tensor<{kind}> {{{said}}}"
    module = parse_module((head + BODY).replace("LINE", ""), ir.Context(), "f.mlir")
    with pytest.raises(UnsupportedIR) as caught:
        read_back(module)
    assert caught.value.message == message
    assert place_of(caught.value.location) is not None


def test_floats_are_no_index_array() -> None:
    text = "func.func @f(%x: tensor<4xf64> {tad.below = affine_map<() -> (3)>}" + BODY.replace("LINE", "")
    with pytest.raises(UnsupportedIR, match="tensor<4xf64> is no index array: these are of i32"):
        read_back(parse_module(text, ir.Context(), "f.mlir"))


def test_what_is_looked_up_is_an_argument() -> None:
    text = """func.func @f(%x: tensor<4xf64>) -> tensor<4xf64> {
%p = arith.constant dense<1> : tensor<4xi32>
%r = tad.map (%i) -> tensor<4xf64> {
%t = tad.lookup %p[%i] : tensor<4xi32>
%0 = tad.read %x[%t] : tensor<4xf64>
tad.yield %0 : f64 }
return %r : tensor<4xf64> }"""
    module = parse_module(text, ir.Context(), "f.mlir")
    with pytest.raises(UnsupportedIR, match=r"an index array must be an argument with 'tad\.below'"):
        read_back(module)
