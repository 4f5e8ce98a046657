"""Reading the command line: `tadc COMMAND …` and `tadc FILE [options]` alike."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from tadc.commands.command_table import COMMANDS, FLAT, Command
from tadc.commands.consistency import check_consistency
from tadc.commands.files import Sink
from tadc.commands.help_text import long_help, short_help
from tadc.commands.option_parser import BadUsage, OptionParser, cannot_be, file_name
from tadc.commands.option_table import OPTIONS
from tadc.commands.options import Arguments
from tadc.commands.several import split
from tadc.frontend.suggest import did_you_mean

#: A word that gives an input its array.
_ARRAY = re.compile(r"[^\W\d]\w*=")


def parse_arguments(argv: list[str]) -> Arguments | None:
    """Read the command line; None where help or the version was all that was asked for.

    Raises BadUsage, and CompileError where stdout cannot be written.
    """
    command = COMMANDS.get(argv[0]) if argv else None
    words = argv[1:] if command else argv
    command = command or FLAT
    found, rest = _options_of(command, words)
    short, long, version = (found.pop(k, False) for k in ("short_help", "help", "version"))
    if version:
        from tadc.frontend.packages import VERSION

        Sink("-").write(f"tadc {VERSION}")
        return None
    if long or short or not argv or (command.takes_program and not words):
        Sink("-").write(long_help(command) if long or command.name else short_help())
        return None
    _place_words(command, found, rest)
    if command.output:
        if "output" not in found:
            what = OPTIONS[command.output].value
            raise BadUsage(f"`tadc {command.name}` needs `-o {what}`", f"write `{command.example}`")
        found[command.output] = found.pop("output")
    arguments = Arguments(command.name, **found)
    check_consistency(arguments, command)
    return arguments


def _options_of(command: Command, words: list[str]) -> tuple[dict[str, Any], list[str]]:
    """The options by field, split where they have several values, and the other words."""
    more = (
        f"`tadc {command.name} -h` explains the options"
        if command.name
        else "`tadc --help` explains all options"
    )
    parser = OptionParser(more)
    for option in command.taken:
        option.add_to(parser)
    end = words.index("--") if "--" in words else len(words)
    namespace, rest = parser.parse_known_args(words[:end])
    for word in rest:
        if word.startswith("-") and word != "-":
            raise _unknown_option(command, word.split("=")[0], more)
    found = {**command.sets, **vars(namespace)}
    rest += words[end + 1 :]
    for option in command.taken:
        if option.several and option.field in found:
            items = found[option.field]
            if option.words and "file" not in found:
                # `--run x=x.npy f.tad`: what is no value is the FILE.
                programs = [item for item in items if item == "-" or item.endswith((".tad", ".mlir"))]
                rest += [item for item in programs if "=" not in item]
                items = [item for item in items if "=" in item or item not in programs]
            found[option.field] = split(option.several, items)
    if "wrt" in found:
        found["wrt"] = ",".join(found["wrt"])
    return found, rest


def _unknown_option(command: Command, name: str, more: str) -> BadUsage:
    """The error for an option that a command does not have."""
    flags = [flag for option in command.taken for flag in option.names]
    elsewhere = next((option for option in OPTIONS.values() if name in option.names), None)
    if elsewhere is None:
        return BadUsage(f"unknown option `{name}`", *did_you_mean(name, flags), more)
    if elsewhere.field == command.arrays:
        where = f"arrays are words of their own: `tadc {command.name} f.tad x=x.npy`"
        return BadUsage(f"`tadc {command.name}` has no option `{name}`", where, more)
    if elsewhere.field in command.done:
        without = f"it does that without the option: `{command.example}`"
        return BadUsage(f"`tadc {command.name}` has no option `{name}`", without, more)
    doing = [f"`tadc {other.name}` does that" for other in COMMANDS.values() if elsewhere.field in other.done]
    having = [
        f"`tadc {other.name or 'FILE'}`" for other in (*COMMANDS.values(), FLAT) if elsewhere in other.taken
    ]
    where = doing[0] if doing else f"it is an option of {', '.join(having)}"
    return BadUsage(f"`tadc {command.name or 'FILE'}` has no option `{name}`", where, more)


def _place_words(command: Command, found: dict[str, Any], rest: list[str]) -> None:
    """Give the words that are no options their meaning. Raises BadUsage."""
    if command.word:
        _place_first(command, found, rest)
    if command.words:
        found[command.words], rest = rest, []
    for word in rest:
        if not command.takes_program:
            raise BadUsage(f"`{command.usage}` takes no `{word}`", f"write `{command.example}`")
        is_array = command.arrays and _ARRAY.match(word)
        if not is_array and "file" not in found and "expression" not in found:
            found["file"] = file_name(word)
            if not command.name:
                _may_be_a_command(word)
        elif command.arrays:
            # Not split: a word of its own is one array.
            found[command.arrays] = [*(found.get(command.arrays) or ()), word]
        else:
            raise _second_file(command, word, found)


def _place_first(command: Command, found: dict[str, Any], rest: list[str]) -> None:
    """The word that says of what kind a command is; before the FILE, or behind it where only that can be."""
    option = OPTIONS[command.word]
    choices = option.choices
    name = f"tadc {command.name}"
    if command.word == "topic":
        choices = tuple(COMMANDS)
    # `tadc emit f.tad`: the one word is the FILE.
    if not rest or (command.takes_program and len(rest) == 1 and rest[0].endswith((".tad", ".mlir"))):
        if not option.optional:
            listed = [f"it can be {', '.join(choices)}"] if choices else []
            raise BadUsage(f"`{name}` needs a {option.value}", *listed, f"write `{command.example}`")
        found[command.word] = ""
        return
    place = next((n for n, word in enumerate(rest) if word in choices), 0)
    if choices and rest[place] not in choices:
        raise cannot_be(name, rest[0], choices, f"`{name} -h` explains it")
    found[command.word] = rest.pop(place)


def _may_be_a_command(word: str) -> None:
    """A first word that is no file, and no file's name, may be a misspelt command. Raises BadUsage."""
    if word in COMMANDS and not Path(word).exists():
        raise BadUsage(f"`{word}` stands behind options", f"a command stands first: `tadc {word} …`")
    if word != "-" and re.fullmatch(r"[\w-]+", word) and not Path(word).exists():
        raise BadUsage(
            f"no command and no file `{word}`",
            *did_you_mean(word, [*COMMANDS, "--version"]),
            "`tadc help` lists the commands",
        )


def _second_file(command: Command, word: str, found: dict[str, Any]) -> BadUsage:
    """The error for a word too many; it says what may be meant."""
    first = found.get("file")
    if first is None and word in COMMANDS:
        return BadUsage(f"`{word}` stands behind options", f"a command stands first: `tadc {word} …`")
    if first is None:
        return BadUsage("both a FILE and -e TEXT", "`tadc -h` shows the commands")
    helps = ["a command is about one program"]
    for name, file in ((word, first), (first, word)):
        if name in COMMANDS:
            helps = [f"the command stands first: `tadc {name} {file}`"]
    if re.fullmatch(r"[\w,]+", word) and not Path(word).exists() and word not in COMMANDS:
        helps = [f"`--wrt {word}` names what to differentiate by", *helps]
    if _ARRAY.match(word):
        helps = [f"arrays are for `tadc run {first} {word}`"]
        if OPTIONS["at"] in command.taken:
            value, _, uncertainty = word.replace("+/-", "±").replace("+-", "±").partition("±")
            name = word.partition("=")[0]
            exact = [f"a standard uncertainty by `--u`: `--u {name}={uncertainty or '.01'}`"]
            helps = [f"values are given by `--at`: `tadc {command.name} {first} --at {value}`", *exact]
    return BadUsage(f"a second FILE, `{word}`", *helps)
