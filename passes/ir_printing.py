"""The IR before and after passes, on stderr, under the banners of MLIR.

MLIR prints its generic form, and calls arguments `%arg0`; here a dump has the readable form and the
names of the program, or all of the generic form. A dump is a pass of its own around the pass that it shows.
"""

from __future__ import annotations

import re
import sys
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from tadc.dialect.mlir import ir, new_context, passmanager
from tadc.dialect.readable_text import to_text
from tadc.passes.dump_requests import banners, changes_asked, is_generic


def show(module: Any) -> str:
    """The text of a module, in the form that is asked for."""
    return to_text(module.operation, generic=is_generic())


def with_dumps(manager: Any, text: str, add: Callable[[], None], *, name: str = "") -> None:
    """Add a pass, which a pipeline spells as `text`, and the dumps around it that are asked for.

    `name` is that of its class; MLIR tells those of its own.
    """
    before, after = banners(text, f"{name}: {{}}".format if name else _title)
    text_before: list[str] = []
    if before:
        _add_dump(manager, before)
    elif after and changes_asked():
        _add_look(manager, lambda module: text_before.append(show(module)))
    add()
    if after and changes_asked():
        _add_look(manager, lambda module: show(module) in text_before or print_dump(after, module))
    elif after:
        _add_dump(manager, after)


def print_dump(title: str, module: Any) -> None:
    """Print a module under a banner."""
    print(f"// -----// IR Dump {title} //----- //\n{show(module)}", file=sys.stderr, flush=True)


def _add_dump(manager: Any, title: str) -> None:
    _add_look(manager, lambda module: print_dump(title, module))


def _add_look(manager: Any, look: Callable[[Any], object]) -> None:
    """Look at the module between passes."""

    def run(operation: Any, external: Any) -> None:
        look(operation)

    manager.add(run, name="Dump", argument="dump", description="prints the IR")


@cache
def _title(text: str) -> str:
    """How MLIR's banner calls a pass of its own: that of a run on an empty module."""
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
