"""A command line for arguments: what repeats a command on another file."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

from tadc.commands.command_table import COMMANDS, FLAT
from tadc.commands.option_table import Option
from tadc.commands.options import Arguments

_DEFAULTS = Arguments()
_FIELDS = {f.name for f in fields(Arguments)}


def spelled(arguments: Arguments, file: str) -> list[str]:
    """The words behind `tadc` that ask for the same of a file."""
    command = COMMANDS.get(arguments.command, FLAT)
    words = [command.name] if command.name else []
    if command.word and (word := getattr(arguments, command.word)):
        words.append(word)
    if command.words:
        words += getattr(arguments, command.words)
    if command.takes_program:
        words.append(file)
    if command.arrays:
        words += map(_absolute, getattr(arguments, command.arrays) or ())
    for option in command.taken:
        if option.field in _FIELDS:
            words += _option(option, getattr(arguments, option.field))
    if command.output:
        words += ["-o", getattr(arguments, command.output)]
    return words


def _option(option: Option, value: Any) -> list[str]:
    """The words of an option, none where it has its default."""
    if option.field == "expression" or value == getattr(_DEFAULTS, option.field):
        return []
    flag = option.names[0]
    if not option.value:
        return [flag]
    if not option.several or isinstance(value, str):
        return [flag, str(value)]
    # As many words as may follow, else the flag again.
    if option.words:
        return [flag, *map(_absolute, value)]
    return [word for item in value for word in (flag, item)]


def _absolute(item: str) -> str:
    """`x=x.npy` with the whole path, for another folder."""
    name, equals, where = item.partition("=")
    file, archive, entry = where.partition(".npz:")
    path = Path(file + ".npz" if archive else file)
    return f"{name}={path.resolve()}{':' + entry if archive else ''}" if equals and path.is_file() else item
