"""`tadc inverse`: how the Jacobian of a program is inverted."""

from __future__ import annotations

from tadc.commands.certificate_plot import picture_format
from tadc.commands.files import Sink
from tadc.commands.option_parser import file_name
from tadc.commands.subcommand import SubcommandParser, program_of
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


def _parser() -> SubcommandParser:
    p = SubcommandParser("inverse")
    p.add_argument("--plan", action="store_true")
    p.add_argument("--plot", type=file_name)
    p.add_argument("--wrt")
    return p


def inverse_command(words: list[str]) -> int:
    """Do what follows `tadc inverse`; the exit code. Raises UsageError, CompileError."""
    if not words or "-h" in words or "--help" in words:
        Sink("-").write(HELP)
        return 0
    found = _parser().parsed(words)
    kind = picture_format(found.plot) if found.plot is not None else ""
    wrt = None if found.wrt in (None, "*") else tuple(found.wrt.replace(" ", "").split(","))
    plan = inverse(program_of(found), wrt).plan
    if kind:
        from tadc.inversion.plot import draw

        Sink(str(found.plot)).write(draw(plan, kind))
    if found.plan or not kind:
        Sink(str(found.output or "-")).write(str(plan))
    return 0
