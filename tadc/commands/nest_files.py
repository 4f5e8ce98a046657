"""The command on a file of loop nests: verifies them, and prints them as `--emit nest` does."""

from __future__ import annotations

from tadc.commands.files import Sink
from tadc.commands.option_parser import BadUsage
from tadc.commands.options import Arguments
from tadc.frontend.diagnostics import CompileError
from tadc.frontend.source import Source


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
    given = {
        "--emit": a.emit and a.emit != "nest",
        "--run": a.run is not None,
        "--wrt": a.wrt,
        "--passes": a.passes is not None,
        "--bundle": a.bundle is not None,
        "--check-gradient": a.check_gradient,
        "--certificate": a.certificate,
        "--plot": a.plot is not None,
        "--stats": a.stats,
        "--fix": a.fix,
    }
    other = next((option for option, is_given in given.items() if is_given), None)
    if other is not None:
        help = "`tadc f.nest` verifies and prints nests; give a program for anything else"
        raise BadUsage(f"loop nests do not go with `{other}`", help)
