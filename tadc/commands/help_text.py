"""The texts of help, from the tables of commands and options."""

from __future__ import annotations

import textwrap

from tadc.commands.command_table import COMMANDS, FLAT, Command
from tadc.commands.option_table import OPTIONS
from tadc.commands.several import CONVENTION

_WIDTH = 98
_COLUMN = 26

_SHORT = """\
tadc: compile tensor expressions and their derivatives

  tadc f.tad                check, and print the program
  tadc f.tad --wrt a,d      print the gradients as programs (`tadc --help`: all options)
  tadc COMMAND …            one of these; `tadc COMMAND -h` explains it
"""

_NOTES = """\
`tadc -h` lists the commands, as `tadc run` and `tadc cache`.
FILE is a program (.tad), IR of any stage (.mlir), or `-` for stdin; a file named `run` is `./run`.
exit codes: 0 done, 1 wrong program or array, 2 wrong usage, 70 bug of the compiler, 130 interrupted
"""


def short_help() -> str:
    """The commands, in groups."""
    lines = [_SHORT]
    groups = dict.fromkeys(command.group for command in COMMANDS.values())
    for group in groups:
        title = f"{group}:"
        for command in COMMANDS.values():
            if command.group == group:
                lines.append(f"{title:15}{command.name:13}{command.about}\n")
                title = ""
    return "".join([*lines[:1], "\n", *lines[1:]])


def long_help(command: Command) -> str:
    """How a command is written, an example, and its options."""
    about = f"{command.usage}: {command.about}"
    if command is FLAT:
        about = "tadc [FILE | -e TEXT] [options]: compile tensor expressions and their derivatives"
    left_out = {"short_help", *(() if command is FLAT else ("help",))}
    taken = [option for option in command.taken if option.field not in left_out]
    lines = [about, "", f"  {command.example}", ""]
    if command.word:
        lines += _row(OPTIONS[command.word].value, OPTIONS[command.word].about)
    for option in taken:
        lines += _row(" ".join([option.names[0], option.value]), option.about)
    if several := [option.names[0] for option in taken if option.several]:
        lines += ["", *textwrap.wrap(f"{CONVENTION}; so for {', '.join(several)}", _WIDTH)]
    if command is FLAT:
        lines += [_NOTES]
    return "\n".join(lines)


def _row(what: str, about: str) -> list[str]:
    """A word of a command line and what it is about, in two columns."""
    first, *others = textwrap.wrap(about, _WIDTH - _COLUMN)
    return [f"{'  ' + what:{_COLUMN}}{first}", *(" " * _COLUMN + line for line in others)]
