"""The IR before and after passes, on stderr, under the banners of MLIR.

MLIR prints its generic form, and calls arguments `%arg0`; here a dump has the readable form and the
names of the program, or all of the generic form. A dump is a pass of its own around the pass that it shows.
MLIR is imported only to print: passes on terms run without it.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, partial
from typing import Any

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


def asked() -> Printing:
    """What is to be printed here."""
    return _current.get()


def show(module: Any) -> str:
    """The text of a module, in the form that is asked for."""
    from tadc.dialect.readable_text import to_text

    return to_text(module.operation, generic=asked().generic)


def with_dumps(manager: Any, text: str, add: Callable[[], None], *, name: str = "") -> None:
    """Add a pass, and the dumps around it that are asked for; `text` and `name` as of `banners`."""

    def look(action: Callable[[Any], object]) -> None:
        def run(module: Any, external: Any) -> None:
            action(module)

        manager.add(run, name="Dump", argument="dump", description="prints the IR")

    before, after = banners(text, name)
    unchanged: list[str] = []
    if before:
        look(partial(print_dump, before))
    if after and asked().after_change:
        look(lambda module: unchanged.append(show(module)))
    add()
    if after:
        look(lambda module: show(module) in unchanged or print_dump(after, module))


def banners(text: str, name: str = "") -> tuple[str, str]:
    """The titles of the dumps before and after a pass, empty where none is asked for.

    `text` is how a pipeline spells it: a nest, `func.func(cse)`, is shown as a whole where any of its passes
    is named. `name` is that of its class; MLIR tells those of its own.
    """
    wanted = asked()
    if not wanted.dumps:
        return "", ""
    passes = set(re.findall(r"[\w.-]+", re.sub(r"\{[^{}]*\}", "", text)))
    wanted.met.update(passes)
    before = passes & wanted.before
    after = wanted.after_all or wanted.after_change or passes & wanted.after
    if not before and not after:
        return "", ""
    title = f"{name}: {text}" if name else _title(text)
    return f"Before {title}" if before else "", f"After {title}" if after else ""


def print_dump(title: str, module: Any) -> None:
    """Print a module under a banner."""
    print(f"// -----// IR Dump {title} //----- //\n{show(module)}", file=sys.stderr, flush=True)


@cache
def _title(text: str) -> str:
    """How MLIR's banner calls a pass of its own: that of a run on an empty module."""
    import tempfile
    from pathlib import Path

    from tadc.dialect.mlir import ir, new_context, passmanager

    context = new_context()
    with tempfile.TemporaryDirectory() as folder:
        trial = passmanager.PassManager.parse(f"builtin.module({text})", context)
        trial.enable_ir_printing(tree_printing_dir_path=folder)
        trial.run(ir.Module.parse("module {}", context).operation)
        for file in Path(folder).rglob("*.mlir"):
            found = re.match(r"// -----// IR Dump After (.*) //----- //", file.read_text())
            if found:
                return found[1]
    return f"'{text.split('(')[0]}' Pipeline: {text}"
