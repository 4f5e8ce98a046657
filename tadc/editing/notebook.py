"""Notebooks: `%load_ext tadc` brings `%%tadc NAME`, a cell that is a program."""

from __future__ import annotations

import sys
from typing import Any

from tadc.api.load import function
from tadc.frontend.diagnostics import CompileError
from tadc.frontend.render import render


def add_magic(ipython: Any) -> None:
    """Make functions of cells that begin with `%%tadc`."""

    def made(line: str, cell: str) -> Any:
        return _made(ipython, line, cell)

    ipython.register_magic_function(made, "cell", "tadc")


def _made(ipython: Any, line: str, cell: str) -> Any:
    """The function of a cell, which gets the name on its first line; None where the program is wrong."""
    name = line.strip()
    if name and not name.isidentifier():
        print(f"`%%tadc {name}`: behind `%%tadc` stands a name for the function, or nothing", file=sys.stderr)
        return None
    try:
        made = function(cell, name=name or "<cell>")
    except CompileError as error:
        # As the command says it: where Python was when it found that out helps nobody.
        print("\n\n".join(render(d, color=True) for d in error.diagnostics), file=sys.stderr)
        return None
    if name:
        ipython.user_ns[name] = made
    return made
