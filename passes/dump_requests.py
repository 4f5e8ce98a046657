"""Which passes the IR is to be printed before and after, and in which form."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar

from tadc.lattice.late_dataclasses import dataclass, field


@dataclass(frozen=True)
class Printing:
    """What is printed: the IR before and after passes by name, after all, or after those that change it;
    whether in the generic form; and, when a pipeline is through, how long each pass took."""

    before: frozenset[str] = frozenset()
    after: frozenset[str] = frozenset()
    after_all: bool = False
    after_change: bool = False
    generic: bool = False
    timing: bool = False
    #: The names that stood in a pipeline.
    met: set[str] = field(default_factory=set[str])

    @property
    def dumps(self) -> bool:
        """Whether anything is printed between passes."""
        return bool(self.before or self.after or self.after_all or self.after_change)


_current: ContextVar[Printing] = ContextVar("printing", default=Printing())


@contextmanager
def printing(wanted: Printing) -> Generator[None]:
    """All pipelines in this block print IR to stderr as `wanted` says; `show` prints in its form."""
    token = _current.set(wanted)
    try:
        yield
    finally:
        _current.reset(token)


def dumps_asked() -> bool:
    """Whether anything is to be printed between passes."""
    return _current.get().dumps


def is_generic() -> bool:
    """Whether it is printed in the generic form."""
    return _current.get().generic


def changes_asked() -> bool:
    """Whether the IR is to be printed after passes that change it alone."""
    return _current.get().after_change


def is_timed() -> bool:
    """Whether pipelines say how long each pass took."""
    return _current.get().timing


def banners(text: str, title: Callable[[str], str]) -> tuple[str, str]:
    """The titles of the dumps before and after a pass, empty where none is asked for.

    `text` is how a pipeline spells it: a nest, `func.func(cse)`, is shown as a whole where any of its passes
    is named. `title` names it in full.
    """
    wanted = _current.get()
    if not wanted.dumps:
        return "", ""
    passes = set(re.findall(r"[\w.-]+", re.sub(r"\{[^{}]*\}", "", text)))
    wanted.met.update(passes)
    before = passes & wanted.before
    after = wanted.after_all or wanted.after_change or passes & wanted.after
    if not before and not after:
        return "", ""
    full = title(text)
    return f"Before {full}" if before else "", f"After {full}" if after else ""
