"""Maps of few operations get no vectors; what is the same in all turns of a loop stands outside of it."""

from __future__ import annotations

import re

import numpy as np
import pytest

import tadc
from tadc.backend.cpu.invariant_code import hoist
from tadc.dialect.mlir import ir

BOTH = "x: f64[40]; y: f64[100000]\nf[i] = sin(x[i]) + x[i]\ng[i] = y[i]**2"


pytestmark = pytest.mark.as_shipped


def llvm(text: str) -> str:
    return str(tadc.function(text).lower("cpu").as_text("llvm"))


def test_what_is_invariant_stands_outside_of_loops() -> None:
    blocks = llvm("a: f64[3, 9]\nf[i] = sum{k: 4} (a[i, k + 2*i])").split("\n\n")
    (inner,) = [block for block in blocks if " = load double" in block]
    assert " = fadd double" in inner
    assert " = mul nsw " not in inner


def hoisted(body: str, marks: str = "{llvm.noalias}") -> list[str]:
    """The names of the operations of a function, in order, those of constants left out."""
    with ir.Context(), ir.Location.unknown():
        module = ir.Module.parse(f"""
func.func @k(%x: memref<?xf64> {marks}, %y: memref<?xf64> {marks}, %n: index) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c7 = arith.constant 7 : index
  {body}
  return
}}""")
        hoist(module)
        assert module.operation.verify()
        ops = re.findall(r"^ +(?:%\w+ = )?(\w+\.\w+)", str(module), re.M)
    return [op for op in ops if op not in ("func.func", "arith.constant")]


LOOP = """scf.for %j = %c0 to END step %c1 {
    %a = memref.load %x[%c1] : memref<?xf64>
    %b = arith.addf %a, %a : f64
    memref.store %b, OUT[%j] : memref<?xf64>
  }"""


def test_a_read_stands_before_a_loop_that_has_turns() -> None:
    ops = hoisted(LOOP.replace("END", "%c7").replace("OUT", "%y"))
    assert ops[:4] == ["memref.load", "arith.addf", "scf.for", "memref.store"]


def test_a_read_is_under_a_condition_where_a_loop_may_have_no_turn() -> None:
    ops = hoisted(LOOP.replace("END", "%n").replace("OUT", "%y"))
    assert ops[:5] == ["arith.cmpi", "scf.if", "memref.load", "arith.addf", "scf.for"]


@pytest.mark.parametrize(("out", "marks"), [("%x", "{llvm.noalias}"), ("%y", "")])
def test_a_read_of_what_the_loop_may_write_stays(out: str, marks: str) -> None:
    ops = hoisted(LOOP.replace("END", "%c7").replace("OUT", out), marks)
    assert ops[:2] == ["scf.for", "memref.load"]


@pytest.mark.parametrize(("divisor", "moves"), [("%c7", True), ("%n", False)])
def test_numbers_that_a_branch_uses_are_computed_before(divisor: str, moves: bool) -> None:
    """Not a division by what may be 0."""
    ops = hoisted(f"""scf.for %j = %c0 to %c7 step %c1 {{
    %some = arith.cmpi slt, %j, %n : index
    scf.if %some {{
      %d = arith.divsi %n, {divisor} : index
      %a = memref.load %x[%d] : memref<?xf64>
      memref.store %a, %y[%j] : memref<?xf64>
    }}
  }}""")
    assert (ops.index("arith.divsi") < ops.index("scf.for")) == moves
    assert ops.index("memref.load") > ops.index("scf.if")


def test_empty_loops_read_nothing() -> None:
    f = tadc.function("x: f64[N]; y: f64[M]\nf[i: 3] = sum{j: M} (x[i]*y[j]) + 1")
    np.testing.assert_array_equal(tadc.compile(f)(x=np.ones(3), y=np.zeros(0)), np.ones(3))


def test_both_kinds_compute_the_same() -> None:
    x, y = np.linspace(-3, 3, 40), np.linspace(-2, 2, 100000)
    few, many = tadc.compile(tadc.function(BOTH))(x=x, y=y)
    np.testing.assert_allclose(few, np.sin(x) + x, rtol=1e-15)
    np.testing.assert_array_equal(many, y * y)
