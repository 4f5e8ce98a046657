"""`tadc inverse`: how the Jacobian of a program is inverted."""

from __future__ import annotations

import argparse
import sys
from typing import NoReturn

from tadc.certificate_plot import picture_format
from tadc.cli_options import UsageError
from tadc.files import Sink, read_stdin, read_text
from tadc.frontend.suggest import did_you_mean
from tadc.functions import Function, function
from tadc.inversion import inverse

HELP = """\
tadc inverse FILE: how products with the inverse of a program's Jacobian are computed

  --plan                    the lumps, what each overwrites, its class, and what it costs (default)
  --plot FILE               draw the flow of values (.svg, .png, .pdf)
  --wrt A,B                 by these inputs (default: all)
  --size N=4                a value of a size symbol
  -e TEXT                   a program on the command line in the place of FILE
  -o FILE                   where the plan goes; `-` is stdout
"""


class _Parser(argparse.ArgumentParser):
    """argparse with errors of the command."""

    def error(self, message: str) -> NoReturn:
        if message.startswith("unrecognized arguments"):
            word = message.split(": ", 1)[1].split()[0]
            known = [o for a in self._actions for o in a.option_strings]
            helps = did_you_mean(word.split("=")[0], known)
            raise UsageError(f"unknown option `{word}`", *helps, "`tadc inverse -h` explains them")
        raise UsageError(message, "`tadc inverse -h` explains the options")


def _parser() -> argparse.ArgumentParser:
    p = _Parser(prog="tadc inverse", add_help=False, allow_abbrev=False)
    p.add_argument("file", nargs="?")
    p.add_argument("-e", dest="expression")
    p.add_argument("--plan", action="store_true")
    p.add_argument("--plot")
    p.add_argument("--wrt")
    p.add_argument("--size", action="extend", nargs="+", default=[])
    p.add_argument("-o", dest="output")
    p.add_argument("--error-format", choices=("human", "json"), default="human")
    return p


def inverse_command(words: list[str]) -> int:
    """Do what follows `tadc inverse`; the exit code. Raises UsageError, CompileError."""
    if not words or "-h" in words or "--help" in words:
        sys.stdout.write(HELP)
        return 0
    found = _parser().parse_args(words)
    if (found.file is None) == (found.expression is None):
        raise UsageError("give a FILE or -e TEXT, one of them", "`tadc inverse -h` explains the options")
    kind = picture_format(found.plot) if found.plot is not None else ""
    wrt = None if found.wrt in (None, "*") else tuple(found.wrt.replace(" ", "").split(","))
    plan = inverse(_program(found), wrt).plan
    if kind:
        from tadc.inversion.plot import draw

        Sink(str(found.plot)).write(draw(plan, kind))
    if found.plan or not kind:
        Sink(str(found.output or "-")).write(str(plan))
    return 0


def _program(found: argparse.Namespace) -> Function:
    sizes = _sizes(found.size)
    if found.expression is not None:
        return function(found.expression, "<expression>", sizes)
    name = str(found.file)
    if name == "-":
        return function(read_stdin(), "<stdin>", sizes)
    return function(read_text(name), name, sizes)


def _sizes(texts: list[str]) -> dict[str, int]:
    found: dict[str, int] = {}
    for item in (item for text in texts for item in text.replace(" ", "").split(",")):
        name, _, value = item.partition("=")
        if not name or not value.isascii() or not value.isdecimal():
            raise UsageError(f"`--size {item}` is not of the form NAME=NUMBER", "write `--size N=4`")
        found[name] = int(value)
    return found
