"""Formulas as trees, with nodes in place of their letters."""

from __future__ import annotations

import ast
import functools
from collections.abc import Mapping

from tests.fuzz.operations import OPERATIONS
from tests.fuzz.tree import Apply, Literal, Node

BINARY: dict[type[ast.operator], str] = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.Div: "div",
    ast.Mod: "mod",
    ast.Pow: "pow",
}
COMPARED: dict[type[ast.cmpop], str] = {
    ast.Eq: "=",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
}


@functools.cache
def _syntax(formula: str) -> ast.expr:
    return ast.parse(formula.replace(" = ", " == "), mode="eval").body


def letters(formula: str) -> list[str]:
    """The names of values in it, in order."""
    names = [node for node in ast.walk(_syntax(formula)) if isinstance(node, ast.Name)]
    called = {id(node.func) for node in ast.walk(_syntax(formula)) if isinstance(node, ast.Call)}
    return sorted({node.id for node in names if id(node) not in called})


def tree(formula: str, values: Mapping[str, Node]) -> Node:
    """Its tree."""
    return _tree(_syntax(formula), values)


def _tree(node: ast.expr, values: Mapping[str, Node]) -> Node:
    match node:
        case ast.Name(name):
            return values[name]
        case ast.Constant(int() | float() as value):
            return Literal(float(value))
        case ast.UnaryOp(ast.USub(), operand):
            return Apply("neg", (_tree(operand, values),))
        case ast.BinOp(left, ast.Pow(), right) if (op := _power(right)) in OPERATIONS:
            return Apply(op, (_tree(left, values),))
        case ast.BinOp(left, op, right):
            return Apply(BINARY[type(op)], (_tree(left, values), _tree(right, values)))
        case ast.Call(ast.Name("select"), [ast.Compare(left, [op], [right]), then, otherwise]):
            operands = tuple(_tree(each, values) for each in (left, right, then, otherwise))
            return Apply(f"select {COMPARED[type(op)]}", operands)
        case ast.Call(ast.Name(name), operands):
            return Apply(name, tuple(_tree(each, values) for each in operands))
        case _:
            raise TypeError(ast.dump(node))


def _power(exponent: ast.expr) -> str:
    """The operation of a literal whole exponent."""
    value = ast.unparse(exponent)
    return f"pow{value}" if value.removeprefix("-").isdigit() else ""
