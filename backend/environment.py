"""What may be chosen for a process: by `with tadc.config(…)`, by `tadc.config.set(…)`, by the environment.

The first of these that says something counts. `OPTIONS` is the table of all, by the names that `tadc.config`
has for them. Values are read where they are needed; those of the environment at each use, so that what
cannot be read is said of where it matters.
"""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from operator import index
from typing import Any

from tadc.lattice.late_dataclasses import dataclass

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}

#: Words for what is logged, from nothing to everything.
LOG_LEVELS = ("off", "info", "debug")


#: Of what users were warned.
_warned: dict[Any, Any] = {}


@dataclass(frozen=True)
class EnvironmentSetting:
    """A setting: the variable of the environment, the kind of values, and what holds if nobody chooses.

    `about` is what documentation says, with links relative to `docs/`.
    """

    variable: str
    kind: str
    default: Any
    about: str

    @property
    def shown_default(self) -> str:
        """The default for people."""
        if self.kind == "bytes":
            return f'`"{self.default >> 20}M"`'
        return {"threads": "all processors", "folder": "`~/.cache/tadc`"}.get(
            self.kind, f"`{self.default!r}`"
        )

    def of_environment(self) -> Any:
        """What the environment says, or the default. Warns (RuntimeWarning) of what cannot be read."""
        text = os.environ.get(self.variable, "")
        if not text.strip():
            return self.default
        if self.kind in _WORDS:
            return _WORDS[self.kind](text)
        read, what, shown, example = _READ[self.kind]
        found = read(text)
        if found is None:
            # No error: kernels are as right by the default.
            message = f"{self.variable}=`{text}` is no {what} and counts as {shown(self.default)}; {example}"
            warnings.warn_explicit(message, RuntimeWarning, "<environment>", 1, registry=_warned)
        return self.default if found is None else found


@lru_cache
def parse_size(text: str) -> int | None:
    """`1000`, `64K`, `256M`, `2G` (also `2GiB`) in bytes; None for what is no size."""
    match = re.fullmatch(r"\s*(\d{1,15})\s*([KMG]?)(?:I?B)?\s*", text.upper())
    return int(match[1]) * _UNITS[match[2]] if match else None


def whole_number(value: Any) -> int | None:
    """A value of any type as an integer; None for what is none, as True and arrays of several elements."""
    try:
        return None if isinstance(value, bool) else index(value)
    except TypeError:
        return None


def _parse_count(text: str) -> int | None:
    text = text.strip()
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 9 else None


def _parse_level(text: str) -> str | None:
    word = text.strip().lower()
    return word if word in LOG_LEVELS else None


#: Kinds of which every text is something; of a number of threads `thread_count` says what is wrong.
_WORDS: dict[str, Callable[[str], Any]] = {
    "switch": lambda text: text != "0",
    "folder": os.path.expanduser,
    "threads": str,
}

#: What reads others, what they are, how the default is shown, and an example.
_READ: dict[str, tuple[Callable[[str], Any], str, Callable[[Any], str], str]] = {
    "bytes": (parse_size, "size", lambda size: f"{size >> 20}M", "write it as in 64M"),
    "count": (_parse_count, "number", str, "write it as in 8"),
    "level": (_parse_level, "level", lambda _: "none", "write info or debug"),
}

OPTIONS = {
    "threads": EnvironmentSetting("TADC_NUM_THREADS", "threads", None, "maximum number of threads of a call"),
    "cache": EnvironmentSetting("TADC_CACHE", "switch", True, "keep kernels on disk (`TADC_CACHE=0`: no)"),
    "cache_dir": EnvironmentSetting("TADC_CACHE_DIR", "folder", "", "folder of the cache of kernels"),
    "cache_size": EnvironmentSetting("TADC_CACHE_SIZE", "bytes", 256 << 20, "maximum size of the cache"),
    "tuned": EnvironmentSetting(
        "TADC_TUNED", "switch", True, "use [tuned schedules](tune.md) (`TADC_TUNED=0`: ignore them)"
    ),
    "versions": EnvironmentSetting(
        "TADC_VERSIONS", "count", 4,
        "for how many sets of sizes a function of unknown sizes is compiled again",
    ),
    "keep_memory": EnvironmentSetting(
        "TADC_KEEP_MEMORY", "bytes", 256 << 20, "how much memory of results is kept for reuse"
    ),
    "log": EnvironmentSetting(
        "TADC_LOG", "level", "off",
        "`info`: kernels that are compiled or found on disk; `debug`: steps and calls with their times, too",
    ),
}  # fmt: skip

_for_process: dict[str, Any] = {}


@dataclass(eq=False)
class _ChosenHere:
    """What holds inside of a block, what it says and what the blocks around it say."""

    values: Mapping[str, Any]
    block: Choosing | None
    before: _ChosenHere | None
    has_ended: bool = False


_here: ContextVar[_ChosenHere] = ContextVar("chosen here", default=_ChosenHere({}, None, None))
#: What holds inside of all blocks that have not ended, of all threads, in the order of their begins.
_open: dict[int, _ChosenHere] = {}


def current(name: str) -> Any:
    """What holds here."""
    here = _here.get().values
    return here[name] if name in here else for_process(name)


def for_process(name: str) -> Any:
    """What holds where no block says otherwise."""
    return _for_process[name] if name in _for_process else OPTIONS[name].of_environment()


def chosen_here(name: str) -> Any:
    """What a block around this says; None where none does."""
    return _here.get().values.get(name)


def who_chose(name: str) -> str:
    """What says what holds here, in a word or two."""
    if name in _here.get().values:
        return "with"
    if name in _for_process:
        return "set"
    variable = OPTIONS[name].variable
    return variable if os.environ.get(variable, "").strip() else "default"


def choose_for_process(values: Mapping[str, Any]) -> None:
    """Let values, which have been checked, hold from now on."""
    _for_process.update(values)


class Choosing:
    """Lets values, which have been checked, hold for what blocks do, each in its thread or task."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self.values = values

    def choose(self) -> None:
        """The block begins."""
        here = _here.get()
        made = _ChosenHere({**here.values, **self.values}, self, here)
        _here.set(made)
        _open[id(made)] = made

    def undo(self) -> None:
        """The block ends."""
        here = _here.get()
        mine = here
        while mine is not None and (mine.block is not self or mine.has_ended):
            mine = mine.before
        # A generator may end in another context than it began in, where nothing is to be undone.
        mine = mine or next((each for each in reversed([*_open.values()]) if each.block is self), None)
        if mine is None:
            return
        mine.has_ended = True
        _open.pop(id(mine), None)
        # Generators may end in any order: what one said is no longer there for blocks that began after it.
        if mine is here:
            while here.has_ended and here.before is not None:
                here = here.before
            _here.set(here)


@contextmanager
def settings_of_blocks() -> Generator[None]:
    """Let a thread of a library, as those of XLA and Dask, have the settings of the block that began last.

    What holds in a context with a block of its own goes on to hold.
    """
    before = _here.get()
    if before.block is None and (blocks := [*_open.values()]):
        _here.set(blocks[-1])
    try:
        yield
    finally:
        _here.set(before)
