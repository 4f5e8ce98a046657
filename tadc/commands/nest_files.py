"""The command on a file of loop nests: verifies them, and prints them as `--emit nest` does."""

from __future__ import annotations

from dataclasses import replace

from tadc.commands.consistency import given
from tadc.commands.files import Sink
from tadc.commands.option_parser import BadUsage
from tadc.commands.options import Arguments
from tadc.frontend.diagnostics import CompileError
from tadc.frontend.source import Source

#: What nests do not have.
_OF_PROGRAMS = (
    "--emit, --run, --wrt, --passes, --bundle, --check-gradient, --certificate, --plot, --stats, --fix"
)


def is_nest(arguments: Arguments, source: Source) -> bool:
    """Whether the input is nests and no program."""
    lines = (line.strip() for line in source.text.splitlines())
    first = next((line for line in lines if line and not line.startswith("#")), "")
    return arguments.is_nest or (arguments.file == "-" and first.startswith("nest "))


def show_nests(arguments: Arguments, source: Source) -> int:
    """Read, verify, write. Raises CompileError (TAD0610, TAD0613), UsageError for what nests do not take."""
    from tadc.passes.nest.nest_reader import read_nests
    from tadc.passes.nest.nest_text import nest_text
    from tadc.passes.nest.nest_verifier import verify_read

    _refuse(arguments)
    nests = read_nests(source)
    wrong = [found for read in nests for found in verify_read(read)]
    if wrong:
        raise CompileError(wrong)
    Sink(arguments.output or "-").write("\n".join(nest_text(read.nest) for read in nests))
    return 0


def _refuse(a: Arguments) -> None:
    """Raises BadUsage for options that are of programs."""
    others = replace(a, emit=None) if a.emit == "nest" else a
    if other := given(others, _OF_PROGRAMS):
        help = "`tadc f.nest` verifies and prints nests; give a program for anything else"
        raise BadUsage(f"loop nests do not go with `{other}`", help)
