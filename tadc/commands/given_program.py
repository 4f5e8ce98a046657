"""The program that a command line gives."""

from __future__ import annotations

from tadc.commands.files import read_source
from tadc.commands.option_parser import BadUsage
from tadc.commands.options import Arguments
from tadc.commands.several import types_of
from tadc.frontend.source import Source
from tadc.frontend.type_parameters import type_parameters


def read_program(arguments: Arguments) -> Source:
    """The text of the program, which a reproducer of a bug holds. Raises CompileError."""
    source = arguments.source = read_source(arguments.file, arguments.expression)
    types = dict(types_of(arguments.dtype))
    if not types:
        return source
    parameters = type_parameters(source)
    names = parameters.names if parameters is not None else ()
    unknown = [name for name in types if name not in names]
    if unknown:
        has = f"it has {', '.join(names)}" if names else "it has none: declare a tensor with one, `x: T[N]`"
        raise BadUsage(f"the program has no type parameter `{unknown[0]}`", has)
    if parameters is not None and set(names) <= types.keys():
        arguments.source = parameters.at(types)
    return arguments.source


def looks_like_ir(text: str) -> bool:
    """Whether a text from stdin is a module and no program."""
    lines = (line.strip() for line in text.splitlines())
    first = next((line for line in lines if line and not line.startswith("//")), "")
    return first.startswith(("module", "func.func", "builtin.module", '"builtin', "gpu.module", "llvm.func"))


def is_ir(arguments: Arguments, source: Source) -> bool:
    """Whether the input is a module."""
    return arguments.is_mlir or (arguments.file == "-" and looks_like_ir(source.text))
