"""Schedules that `tadc.tune` found, on disk: a folder in that of the kernels, an entry a program.

An entry is for a text, with what was derived of it and the values of its sizes, for a target, the options
that change what is computed or stored, this compiler and this machine. What is in the folder is not removed
to make room for kernels: it took longer to find.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import asdict, replace
from typing import TYPE_CHECKING

from tadc.api.recipes import UNREADABLE, Recipe
from tadc.backend.disk_cache import DiskCache, configured
from tadc.backend.environment import current
from tadc.frontend.source import Source
from tadc.lattice.late_dataclasses import dataclass

if TYPE_CHECKING:
    from tadc.compiler.compile_options import Options

NAME = "<tuned>"
"""The name of the text of a schedule that was tuned."""

_TUNED = "tuned"


@dataclass(frozen=True)
class TunedSchedule:
    """A schedule that was faster than what is chosen, empty where none was, for what computes `outputs`.

    `base` and `best` are seconds of a call with each of them, by so many `threads`, on a `date`.
    """

    outputs: str
    schedule: str
    base: float
    best: float
    threads: int
    date: str

    @property
    def gain(self) -> float:
        """How many times as fast it is."""
        return self.base / self.best

    def about(self) -> str:
        """What it gained, in a line."""
        threads = "one thread" if self.threads == 1 else f"{self.threads} threads"
        return f"{self.gain:.2f} times as fast as what is chosen, by {threads}, {self.date}"

    @property
    def source(self) -> Source:
        """The text, below a comment that says where it is from."""
        return Source(f"# tuned: {self.about()}\n{self.schedule}", NAME)


def tuned_cache() -> DiskCache | None:
    """Where they are; None where nothing is kept on disk."""
    cache = configured()
    return cache and replace(cache, folder=os.path.join(cache.folder, _TUNED))


def find_tuned(recipe: Recipe | None, options: Options) -> TunedSchedule | None:
    """What was found for a recipe with these options, to be taken in the place of what is chosen."""
    is_off = not current("tuned") or not options.tuned
    if is_off or options.schedule is not None or options.backend.launches_kernels:
        return None
    cache = tuned_cache()
    if recipe is None or cache is None:
        return None
    found = _read(cache.get(_key(recipe, options)))
    return found if found is not None and found.schedule else None


def with_tuned(recipe: Recipe | None, options: Options) -> Options:
    """The options with the schedule that was found for them, if one was."""
    found = find_tuned(recipe, options)
    return options if found is None else replace(options, schedule=found.source)


def keep_tuned(recipe: Recipe | None, options: Options, found: TunedSchedule) -> bool:
    """Keep what was found, in the place of what was found before; whether there is a place for it."""
    cache = tuned_cache()
    if recipe is None or cache is None:
        return False
    key = _key(recipe, options)
    cache.put(key, json.dumps(asdict(found)).encode())
    return cache.get(key) is not None


def all_tuned() -> Iterator[TunedSchedule]:
    """All that was found, of other versions of the compiler too."""
    cache = tuned_cache()
    for payload in cache.payloads() if cache is not None else ():
        if (found := _read(payload)) is not None and found.schedule:
            yield found


def _key(recipe: Recipe, options: Options) -> str:
    # Kernels for calls from Python differ from others in what these do with long fibres.
    about = replace(options, schedule=None, long_fibres=True, sizes=())
    return recipe.key(_TUNED, repr(about))


def _read(payload: bytes | None) -> TunedSchedule | None:
    try:
        return None if payload is None else TunedSchedule(**json.loads(payload))
    except UNREADABLE:
        return None
