"""What the commands that take a program and options of their own share: `tadc uncert`, `tadc inverse`."""

from __future__ import annotations

import argparse

from tadc.commands.files import read_source
from tadc.commands.option_parser import OptionParser, UsageError, file_name, sizes_of
from tadc.functions import Function
from tadc.programs import function


class SubcommandParser(OptionParser):
    """Options with a FILE or -e TEXT, `--size` and `-o` among them."""

    def __init__(self, name: str) -> None:
        super().__init__(f"`tadc {name} -h` explains the options", prog=f"tadc {name}")
        self.add_argument("file", nargs="?", type=file_name)
        self.add_argument("-e", dest="expression")
        self.add_argument("--size", action="append", default=[])
        self.add_argument("-o", dest="output", type=file_name)
        self.add_argument("--error-format", choices=("human", "json"), default="human")

    def parsed(self, words: list[str]) -> argparse.Namespace:
        """The options, with one program among them. Raises UsageError."""
        found = self.parse_args(words)
        if (found.file is None) == (found.expression is None):
            raise UsageError("give a FILE or -e TEXT, one of them", self.more)
        return found


def program_of(found: argparse.Namespace) -> Function:
    """The program that the options give. Raises UsageError, CompileError."""
    source = read_source(found.file, found.expression)
    return function(source.text, source.name, sizes_of(found.size))
