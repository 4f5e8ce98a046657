"""The program that a command line gives."""

from __future__ import annotations

from tadc.commands.files import read_source
from tadc.commands.options import Arguments
from tadc.frontend.source import Source


def read_program(arguments: Arguments) -> Source:
    """The text of the program, which a reproducer of a bug holds. Raises CompileError."""
    arguments.source = read_source(arguments.file, arguments.expression)
    return arguments.source


def looks_like_ir(text: str) -> bool:
    """Whether a text from stdin is a module and no program."""
    lines = (line.strip() for line in text.splitlines())
    first = next((line for line in lines if line and not line.startswith("//")), "")
    return first.startswith(("module", "func.func", "builtin.module", '"builtin', "gpu.module", "llvm.func"))


def is_ir(arguments: Arguments, source: Source) -> bool:
    """Whether the input is a module."""
    return arguments.is_mlir or (arguments.file == "-" and looks_like_ir(source.text))
