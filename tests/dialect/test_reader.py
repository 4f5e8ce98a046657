"""What the reader makes of modules that others wrote."""

import pytest

from tadc.dialect.mlir import ir
from tadc.dialect.program_reader import UnsupportedIR, read_program, tad_functions
from tadc.dialect.readable_text import parse_module
from tadc.frontend.diagnostics import CompileError
from tadc.frontend.printer import print_program


def read(text: str):
    module = parse_module(text, ir.Context())
    (function,) = tad_functions(module.operation)
    return read_program(function)


def body(lines: str, type: str = "f64", more: str = "") -> str:
    """A function of one argument whose element the lines turn into %y."""
    return f"""
    func.func @f(%x: tensor<3x{type}> {{tad.name = "x"}}) -> (tensor<3x{type}> {{tad.name = "f"}}) {{
      {more}
      %f = tad.map (%i) -> tensor<3x{type}> {{
        %a = tad.read %x[%i] : tensor<3x{type}>
        {lines}
        tad.yield %y : {type}
      }}
      return %f : tensor<3x{type}>
    }}"""


def test_several_blocks():
    text = """
    func.func @f(%x: tensor<3xf64> {tad.name = "x"}) -> (tensor<3xf64> {tad.name = "f"}) {
      cf.br ^next
    ^next:
      %f = tad.map (%i) -> tensor<3xf64> {
        %a = tad.read %x[%i] : tensor<3xf64>
        tad.yield %a : f64
      }
      return %f : tensor<3xf64>
    }"""
    with pytest.raises(UnsupportedIR, match="one block"):
        read(text)


def test_rounding_inside_an_expression_has_no_word():
    lines = "%s = arith.truncf %a : f64 to f32\n%y = arith.extf %s : f32 to f64"
    with pytest.raises(UnsupportedIR, match="only where it is stored"):
        read(body(lines))


def test_half_precision_is_not_read():
    lines = "%s = arith.truncf %a : f64 to f8E5M2\n%y = arith.extf %s : f8E5M2 to f64"
    with pytest.raises(UnsupportedIR, match="only f16, bf16, f32 and f64"):
        read(body(lines))


def test_a_power_stays_a_power():
    """`math.powf` with a literal is no integer power."""
    lines = "%c = arith.constant 2.0 : f64\n%y = math.powf %a, %c : f64"
    assert "x[i]**2.0" in print_program(read(body(lines)))
    lines = "%c = arith.constant 2 : i64\n%y = math.fpowi %a, %c : f64, i64"
    assert "x[i]**2\n" in print_program(read(body(lines)))


def test_single_precision_literals_are_short():
    lines = "%c = arith.constant 0.1 : f32\n%y = arith.mulf %c, %a : f32"
    assert "0.1 * x[i]" in print_program(read(body(lines, "f32")))


def test_names_come_from_where_there_are_some():
    text = """
    func.func @f(%image: tensor<3xf64>, %sum: tensor<3xf64>) -> tensor<3xf64> {
      %blurred = tad.map (%i) -> tensor<3xf64> {
        %a = tad.read %image[%i] : tensor<3xf64>
        %b = tad.read %sum[%i] : tensor<3xf64>
        %y = arith.addf %a, %b : f64
        tad.yield %y : f64
      }
      return %blurred : tensor<3xf64>
    }"""
    program = read(text)
    assert [a.name for a in program.arguments] == ["image", "x"]  # `sum` is a word of the language
    assert [d.name for d in program.outputs] == ["blurred"]


def test_equal_names_are_told_apart():
    text = body("%y = arith.negf %a : f64").replace('tad.name = "f"', 'tad.name = "x"')
    program = read(text)
    assert [d.name for d in program.outputs] == ["x_1"]


def test_a_name_is_a_string():
    with pytest.raises(UnsupportedIR, match="must be a string"):
        read(body("%y = arith.negf %a : f64").replace('tad.name = "f"', "tad.name = 3"))


def test_the_domain_of_a_map_is_the_box_of_its_shape():
    text = body("%y = arith.negf %a : f64").replace(
        "tad.map (%i) ->", "tad.map (%i) in affine_set<(d0) : (d0 >= 0, -d0 + 1 >= 0)> ->"
    )
    with pytest.raises(CompileError, match="box of its shape"):
        read(text)


def test_a_result_that_is_another_one_has_indices_of_its_own():
    """A name of a tensor is none of an index."""
    text = """
    func.func @f(%x: tensor<3xf64> {tad.name = "g_0"})
        -> (tensor<3xf64> {tad.name = "f"}, tensor<3xf64> {tad.name = "g"}) {
      %f = tad.map (%i) -> tensor<3xf64> {
        %y = tad.read %x[%i] : tensor<3xf64>
        tad.yield %y : f64
      }
      return %f, %f : tensor<3xf64>, tensor<3xf64>
    }"""
    assert "g[g_0_1] = f[g_0_1]" in print_program(read(text))
