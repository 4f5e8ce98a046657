"""Programs to IR and back: what a program says stays, whatever passes did in between."""

import math
from typing import Any

import pytest

from tadc.dialect.mlir import ir, passmanager
from tadc.dialect.program_reader import UnsupportedIR, place_of, read_program, tad_functions
from tadc.dialect.readable_text import parse_module, to_text
from tadc.dialect.writer import write_program
from tadc.frontend.program import Argument, Definition, Program
from tadc.frontend.terms import Terms
from tadc.lattice.affine import Affine, Constraint, box
from tests.dialect.evaluation import FUNCTIONS, outputs
from tests.dialect.random_programs import random_program
from tests.dialect.support import generic, operations, program, read_back, written

i, k = Affine.var("i"), Affine.var("k")


def body_of(make: Any) -> Any:
    """The module of `f[i: 4] = body` with a tensor `a`, the body made from a table of terms."""
    terms = Terms()
    definition = Definition("f", "f64", (4,), ("i",), make(terms))
    return written(Program((Argument("a", "f64", (9,)),), (definition,), terms))


def parents(operation: Any) -> list[str]:
    """The operations around an operation, innermost first."""
    found: list[str] = []
    while operation.parent is not None:
        operation = operation.parent
        found.append(operation.name)
    return found


def run(module: Any, pipeline: str = "canonicalize,cse") -> Any:
    text = f"builtin.module({pipeline})"
    passmanager.PassManager.parse(text, module.context).run(module.operation)
    return module


# -- writing ---------------------------------------------------------------------------------------


def test_a_read_stays_in_its_branch() -> None:
    module = body_of(lambda t: t.guard([Constraint(i - 1)], t.read("a", [i - 1], "f64"), t.const(0)))
    (read,) = operations(module, "tad.read")
    assert parents(read)[:2] == ["tad.guard", "tad.map"]


def test_a_read_that_both_branches_need_stays_in_both() -> None:
    def make(t: Terms) -> Any:
        read = t.read("a", [i], "f64")
        return t.guard([Constraint(i - 1)], t.apply("exp", [read]), t.apply("sin", [read]))

    module = body_of(make)
    reads = operations(module, "tad.read")
    assert [parents(read)[0] for read in reads] == ["tad.guard", "tad.guard"]


def test_a_read_stays_in_its_sum() -> None:
    # The sum may be empty, and then the read may be out of range.
    def make(t: Terms) -> Any:
        return t.reduce(["k"], [Constraint(k), Constraint(i - k)], t.read("a", [i + 3], "f64"))

    module = body_of(make)
    (read,) = operations(module, "tad.read")
    assert parents(read)[0] == "tad.sum"


def test_what_is_needed_outside_is_made_there_once() -> None:
    def make(t: Terms) -> Any:
        read = t.apply("exp", [t.read("a", [i], "f64")])
        total = t.reduce(["k"], box(["k"], [3]), t.apply("mul", [read, t.read("a", [k], "f64")]))
        chosen = t.guard([Constraint(i - 2)], read, total)
        return t.apply("add", [chosen, t.apply("mul", [read, read])])

    module = body_of(make)
    (exponential,) = operations(module, "math.exp")
    assert parents(exponential)[0] == "tad.map"
    assert len(operations(module, "tad.read")) == 2


def test_sums_share_nothing_with_each_other() -> None:
    def make(t: Terms) -> Any:
        shared = t.apply("exp", [t.read("a", [i], "f64")])
        first = t.reduce(["k"], box(["k"], [3]), t.apply("mul", [shared, t.read("a", [k], "f64")]))
        second = t.reduce(["k"], box(["k"], [4]), t.apply("add", [shared, t.read("a", [k], "f64")]))
        return t.apply("add", [first, second])

    module = body_of(make)
    found = operations(module, "math.exp")
    assert [parents(operation)[0] for operation in found] == ["tad.sum", "tad.sum"]


def test_equal_sums_are_one() -> None:
    def make(t: Terms) -> Any:
        one, other = (
            t.reduce([name], box([name], [3]), t.read("a", [Affine.var(name)], "f64")) for name in "kl"
        )
        return t.apply("mul", [one, other])

    assert len(operations(body_of(make), "tad.sum")) == 1


def needed_here(operation: Any) -> bool:
    """Whether the region of an operation itself uses a result of it."""
    return any(use.owner.operation.block == operation.block for use in operation.results[0].uses)


def test_random_programs_compute_nothing_early_or_twice() -> None:
    context = ir.Context()
    for seed in range(30):
        module = written(random_program(seed), context)
        seen: dict[tuple[object, ...], list[Any]] = {}
        for name in ("tad.read", "math.exp", "arith.addf", "arith.extf", "tad.apply", "tad.sum"):
            for operation in operations(module, name):
                assert needed_here(operation), f"seed {seed}: {operation}"
                operands = tuple(hash(value) for value in operation.operands)
                if operation.regions:
                    continue
                attributes = tuple(str(operation.attributes[a]) for a in sorted(operation.attributes))
                key = (name, operands, attributes, str(operation.results[0].type))
                seen.setdefault(key, []).append(operation.block)
        for key, blocks in seen.items():
            assert all(a != b for n, a in enumerate(blocks) for b in blocks[:n]), f"seed {seed}: {key}"


# -- reading back ----------------------------------------------------------------------------------


def mnemonics(module: Any) -> list[str]:
    """The operations of a module, sorted."""
    found: list[str] = []

    def visit(operation: Any) -> Any:
        found.append(operation.name)
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    return sorted(found)


def test_random_programs_write_the_same_again() -> None:
    context = ir.Context()
    for seed in range(25):
        first = written(random_program(seed), context)
        second = written(read_back(first), context)
        # The order of a region is that in which its terms were made, so only the second is the third.
        assert mnemonics(second) == mnemonics(first), seed
        assert to_text(written(read_back(second), context)) == to_text(second), seed


def test_passes_keep_what_a_program_says() -> None:
    context = ir.Context()
    for seed in range(30):
        made = random_program(seed, functions=FUNCTIONS, types=("f64",), literals=(0, 1, 2, -1, 0.5), depth=3)
        wanted = outputs(made)
        found = outputs(read_back(run(written(made, context))))
        assert list(found) == list(wanted), seed
        for name, values in wanted.items():
            assert all(map(_close, values, found[name])), f"seed {seed}: {name}"


def _close(x: float, y: float) -> bool:
    return math.isclose(x, y, rel_tol=1e-9, abs_tol=1e-9) or x != x != y == y or x == y


def test_equal_outputs_both_come_back() -> None:
    text = "a: f64[5]\nf[i: 5] = exp(a[i])\ng[i: 5] = exp(a[i])\nh[i: 5] = g[i] + 1"
    module = run(written(text))
    assert len(operations(module, "tad.map")) == 2
    again = read_back(module)
    assert [d.name for d in again.outputs] == ["f", "g", "h"]
    assert to_text(written(again)).count("math.exp") == 1


def test_names_come_back() -> None:
    text = "x: f32[3, 2]\nlet h[p: 3, q: 2] = x[p, q] * 2\nf[r: 3] = sum{s}_0^1 (h[r, s])"
    for module in (written(text), parse_module(to_text(written(text)), ir.Context())):
        again = read_back(module)
        assert [a.name for a in again.arguments] == ["x"]
        assert [(d.name, d.indices, d.is_output) for d in again.definitions] == [
            ("h", ("p", "q"), False),
            ("f", ("r",), True),
        ]
        assert again.definitions[1].body.hints == ("s",)  # pyright: ignore[reportAttributeAccessIssue]


def test_a_function_of_another_compiler() -> None:
    module = parse_module(
        """
        func.func private @helper(tensor<4xf64>) -> tensor<4xf64>
        func.func @g(%arg0: tensor<4xf64>) -> tensor<4xf64> {
          %cst = arith.constant 2.0 : f64
          %0 = tad.map (%arg1) -> tensor<4xf64> {
            %1 = tad.index [%arg1, %arg1] at affine_map<(d0, d1) -> (d0 + d1)>
            %2 = tad.value_of %1 : f64
            %3 = arith.divf %2, %cst : f64
            tad.yield %3 : f64
          }
          return %0 : tensor<4xf64>
        }
        """,
        ir.Context(),
    )
    assert outputs(read_back(module)) == {"f": [0, 1, 2, 3]}


def test_several_contexts_and_a_caller_s_own() -> None:
    contexts = [ir.Context() for _ in range(3)]
    made = program("a: f64[5]\nf[i: 5] = a[i] * 2")
    texts = {to_text(written(made, context)) for context in contexts}
    assert len(texts) == 1
    with contexts[0]:
        assert to_text(written(made, contexts[1])) in texts  # not the current context
        assert to_text(parse_module(texts.copy().pop(), contexts[2])) in texts


def test_a_module_takes_more_programs() -> None:
    module = written("a: f64[5]\nf[i: 5] = a[i] * 2")
    write_program(program("a: f64[5]\ng[i: 5] = a[i] * 3"), module)
    first, second = tad_functions(module.operation)
    assert read_program(first).outputs[0].name == "f"
    assert read_program(second).outputs[0].name == "g"


def test_places_come_from_the_program() -> None:
    module = written("a: f64[5]\nf[i: 5] = exp(a[i])")
    (read,) = operations(module, "tad.read")
    place = place_of(read.location)
    assert place is not None
    assert (place.file, place.line, place.column) == ("f.tad", 2, 15)


HEAD = "func.func @f(%a: tensor<4xf64>) -> tensor<4xf64> {\n"
CONSTANTS = """\
%true = arith.constant true
%n = arith.constant 2 : i64
%z = arith.constant 2 : index
%t = arith.constant dense<1.0> : tensor<4xf64>
"""
MAP = """\
%f = tad.map (%i) -> tensor<4xf64> {
%r = tad.read %a[%i] : tensor<4xf64>
"""
TAIL = "tad.yield %r : f64\n}\nreturn %f : tensor<4xf64>\n}"

UNSUPPORTED = [
    ("%s = arith.select %true, %r, %r : f64", "a select must choose by an ordered 'arith.cmpf'"),
    ("%q = arith.cmpf ult, %r, %r : f64\n%s = arith.select %q, %r, %r : f64",
     "a select must choose by an ordered 'arith.cmpf'"),
    ("%q = arith.cmpi slt, %n, %n : i64", "'arith.cmpi' has no place in a tensor program"),
    ("%s = arith.sitofp %n : i64 to f64", "'arith.sitofp' has no place in a tensor program"),
    ("%s = tensor.extract %a[%i] : tensor<4xf64>", "'tensor.extract' has no place in a tensor program"),
    ("%s = tad.read %a[%z] : tensor<4xf64>", "an index must be bound by a region or made by 'tad.index'"),
    ("%s = tad.read %t[%i] : tensor<4xf64>", "the tensor read is no argument and no 'tad.map'"),
    ("%s = arith.addf %t, %t : tensor<4xf64>", "a region may use indices and scalars only"),
    ("%s = tad.map () -> tensor<f64> { tad.yield %r : f64 }", "'tad.map' cannot stand inside another op"),
]  # fmt: skip


@pytest.mark.parametrize(("lines", "message"), UNSUPPORTED, ids=[line.split()[2] for line, _ in UNSUPPORTED])
def test_unsupported_in_a_region(lines: str, message: str) -> None:
    text = HEAD + CONSTANTS + MAP + lines + "\n" + TAIL
    module = parse_module(text, ir.Context(), "f.mlir")
    with pytest.raises(UnsupportedIR) as caught:
        read_back(module)
    assert caught.value.message == message
    assert place_of(caught.value.location) is not None


@pytest.mark.parametrize(
    ("text", "message", "line"),
    [
        ("func.func @f(%a: tensor<4xi32>) {\nRETURN\n}",
         "tensor<4xi32> needs a map 'tad.below' to one form", 1),
        ("func.func @f(%a: tensor<?xf64>) {\nRETURN\n}",
         "the shape of tensor<?xf64> needs a map 'tad.shape'", 1),
        ("func.func @f(%a: tensor<?xf64> {tad.shape = affine_map<() -> (4)>}) {\nRETURN\n}",
         "'tad.shape' is no shape of tensor<?xf64> over the sizes", 1),
        ("func.func @f(%n: i64) {\nRETURN\n}", "expected a tensor, got i64", 1),
        ("func.func @f(%n: index) attributes {tad.excluded = [affine_set<(d0) : (d0 >= 0)>]} {\nRETURN\n}",
         "'tad.excluded' must list sets over the sizes", 1),
        (HEAD + "MAP\n%1 = arith.constant dense<1.0> : tensor<4xf64>\nreturn %1 : tensor<4xf64>\n}",
         "a result must be the value of a 'tad.map'", 1),
        (HEAD + "MAP\n%0 = func.call @f(%a) : (tensor<4xf64>) -> tensor<4xf64>\nreturn %0 : tensor<4xf64>\n}",
         "'func.call' has no place in a tensor program", 3),
    ],
)  # fmt: skip
def test_unsupported_functions(text: str, message: str, line: int) -> None:
    text = text.replace("RETURN", "MAP\nreturn")
    text = text.replace(
        "MAP", "%0 = tad.map () -> tensor<f64> {%x = arith.constant 1.0 : f64 tad.yield %x : f64}", 1
    )
    text = text.replace("%0 = func", "%1 = func").replace("return %0", "return %1")
    module = parse_module(text, ir.Context(), "f.mlir")
    with pytest.raises(UnsupportedIR) as caught:
        read_back(module)
    place = place_of(caught.value.location)
    assert caught.value.message == message
    assert place is not None
    assert place.line == line


def test_generic_form_of_a_written_program_reads() -> None:
    module = written("a: f64[5]\nf[i: 5] = exp(a[i])")
    again = parse_module(generic(module), ir.Context())
    assert generic(written(read_back(again))) == generic(module)
