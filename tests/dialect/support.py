"""Modules from text and programs, and what their errors say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from tadc.dialect import text_reader
from tadc.dialect.mlir import ir
from tadc.dialect.program_reader import read_program, tad_functions
from tadc.dialect.readable_text import parse_module
from tadc.dialect.writer import write_program
from tadc.frontend.checker import check
from tadc.frontend.diagnostics import CompileError
from tadc.frontend.parser import parse
from tadc.frontend.program import Program
from tadc.frontend.source import Source


def program(text: str) -> Program:
    """A program from its text."""
    source = Source(text, "f.tad")
    return check(parse(source), source)


def written(given: Program | str, context: ir.Context | None = None) -> Any:
    """A verified module that holds a program."""
    context = context or ir.Context()
    with context, ir.Location.unknown(context):
        module = ir.Module.create()
    write_program(program(given) if isinstance(given, str) else given, module)
    assert module.operation.verify()
    return module


def read_back(module: Any) -> Program:
    """The one program of a module."""
    (function,) = tad_functions(module.operation)
    return read_program(function)


def generic(module: Any) -> str:
    """What MLIR itself prints: ops and attributes, without names and places."""
    return module.operation.get_asm(print_generic_op_form=True, use_local_scope=True)


def to_generic(text: str, filename: str = "-") -> str:
    """The generic form of a readable text, one line a line."""
    return text_reader.read(Source(text, filename)).text


def operations(module: Any, name: str) -> list[Any]:
    """Every operation of a name, in order."""
    found: list[Any] = []

    def visit(operation: Any) -> Any:
        if operation.name == name:
            found.append(operation)
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit, ir.WalkOrder.PRE_ORDER)
    return found


@dataclass(frozen=True)
class Problem:
    """An error, its place as `line:column text`."""

    code: str
    at: str
    label: str


def problem(text: str) -> Problem:
    """The only error of a module's text."""
    with pytest.raises(CompileError) as caught:
        parse_module(text, ir.Context(), "f.mlir")
    (found,) = caught.value.diagnostics
    assert found.source is not None
    assert found.primary is not None, found.message
    line, column = found.source.position(found.primary.span.start)
    word = text[found.primary.span.start : found.primary.span.end]
    return Problem(found.code, f"{line}:{column} {word}", found.primary.text)
