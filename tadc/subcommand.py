"""What the commands that take a program and options of their own share: `tadc uncert`, `tadc inverse`."""

from __future__ import annotations

import argparse
from typing import NoReturn

from tadc.cli_options import UsageError
from tadc.files import read_source
from tadc.frontend.suggest import did_you_mean
from tadc.functions import Function, function


class SubcommandParser(argparse.ArgumentParser):
    """argparse with a FILE or -e TEXT, `--size`, `-o`, and errors that name the command."""

    def __init__(self, name: str) -> None:
        super().__init__(prog=f"tadc {name}", add_help=False, allow_abbrev=False)
        self.add_argument("file", nargs="?")
        self.add_argument("-e", dest="expression")
        self.add_argument("--size", action="extend", nargs="+", default=[])
        self.add_argument("-o", dest="output")
        self.add_argument("--error-format", choices=("human", "json"), default="human")

    def error(self, message: str) -> NoReturn:
        """Raise what argparse found as a UsageError."""
        if message.startswith("unrecognized arguments"):
            word = message.split(": ", 1)[1].split()[0]
            known = [o for a in self._actions for o in a.option_strings]
            helps = did_you_mean(word.split("=")[0], known)
            raise UsageError(f"unknown option `{word}`", *helps, f"`{self.prog} -h` explains them")
        raise UsageError(message, f"`{self.prog} -h` explains the options")

    def parsed(self, words: list[str]) -> argparse.Namespace:
        """The options, with one program among them. Raises UsageError."""
        found = self.parse_args(words)
        if (found.file is None) == (found.expression is None):
            raise UsageError("give a FILE or -e TEXT, one of them", f"`{self.prog} -h` explains the options")
        return found


def program_of(found: argparse.Namespace) -> Function:
    """The program that the options give. Raises UsageError, CompileError."""
    source = read_source(found.file, found.expression)
    return function(source.text, source.name, _sizes(found.size))


def _sizes(texts: list[str]) -> dict[str, int]:
    found: dict[str, int] = {}
    for item in (item for text in texts for item in text.replace(" ", "").split(",")):
        name, _, value = item.partition("=")
        if not name or not value.isascii() or not value.isdecimal():
            raise UsageError(f"`--size {item}` is not of the form NAME=NUMBER", "write `--size N=4`")
        found[name] = int(value)
    return found
