"""argparse with short errors that say what exists, and options that are given once."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from typing import Any, NoReturn

from tadc.frontend.diagnostics import Diagnostic
from tadc.frontend.suggest import did_you_mean

#: What argparse says of a value that an option cannot have, of one that is not there, and of one too many.
_WRONG = re.compile(r"argument (?:\S+/)?(\S+): invalid (?:choice|\S+ value): '?(.*?)'?(?: \(choose|$)")
_LACKING = re.compile(r"argument (?:\S+/)?(\S+): expected")
_IDLE = re.compile(r"argument (?:\S+/)?(\S+): ignored explicit argument '(.*)'")


class BadUsage(Exception):
    """A command line that cannot be understood; its diagnostic, without a code, says what exists."""

    def __init__(self, message: str, *helps: str) -> None:
        super().__init__(message)
        self.diagnostic = Diagnostic("", message, helps=list(helps))


class _Once(argparse.Action):
    """Stores a value; an option that comes again is an error, for one of both would be ignored."""

    given = False

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: str | Sequence[Any] | None,
        option_string: str | None = None,
    ) -> None:
        if self.given and option_string:
            raise BadUsage(f"`{option_string}` is given twice", "give it once, with all that it is to say")
        self.given = True
        setattr(namespace, self.dest, values)


class OptionParser(argparse.ArgumentParser):
    """A parser of the options of one command; `more` is the last help of its errors. Raises BadUsage."""

    def __init__(self, more: str) -> None:
        # What is not given is not set: the defaults are those of `Arguments`.
        super().__init__(add_help=False, allow_abbrev=False, argument_default=argparse.SUPPRESS)
        self.register("action", None, _Once)
        self.more = more

    def error(self, message: str) -> NoReturn:
        """Raise what argparse found as a UsageError."""
        if wrong := _WRONG.match(message):
            name, word = wrong.groups()
            option = next((a for a in self._actions if name in a.option_strings), None)
            raise cannot_be(name, word, (option.choices or ()) if option else (), self.more)
        if lacking := _LACKING.match(message):
            message = f"`{lacking[1]}` lacks a value"
        if idle := _IDLE.match(message):
            message = f"`{idle[1]}` takes no value, and `{idle[2]}` is given"
        raise BadUsage(message, self.more)


def cannot_be(name: str, word: str, choices: Any, more: str) -> BadUsage:
    """The error for a value that is none of those that an option or a command can have."""
    pool = [str(c) for c in choices]
    helps = [*did_you_mean(word, pool), f"it can be {', '.join(pool)}"] if pool else []
    return BadUsage(f"`{name}` cannot be `{word}`", *helps, more)


def file_name(text: str) -> str:
    """The name of a file or folder on a command line. Raises BadUsage where it is empty."""
    if not text:
        raise BadUsage("the name of a file is empty", "is it from a variable of the shell that is not set?")
    return text
