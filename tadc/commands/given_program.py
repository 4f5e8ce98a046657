"""The program that a command line gives."""

from __future__ import annotations

from tadc.commands.files import read_source
from tadc.commands.options import Arguments
from tadc.frontend.source import Source


def read_program(arguments: Arguments) -> Source:
    """The text of the program, which a reproducer of a bug holds. Raises CompileError."""
    arguments.source = read_source(arguments.file, arguments.expression)
    return arguments.source
