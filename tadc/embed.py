"""The dialect and the passes inside another compiler: its context, its module."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tadc.dialect.mlir import LOCK
from tadc.dialect.ops import load_dialect
from tadc.dialect.writer import write_program
from tadc.frontend.naming import first_free
from tadc.pipeline import run_passes

if TYPE_CHECKING:
    from tadc.functions import Function

__all__ = ["build", "load_dialect", "run_passes"]


def build(f: Function, module: Any, name: str | None = None) -> Any:
    """Add a function to a module of any context; returns the `func.func` operation.

    `name` is its symbol, by default the name of the first output. Where the module has that
    symbol already, it is the first free of `name_1`, `name_2`, …
    """
    with LOCK:
        operations = [op.operation for op in module.operation.regions[0].blocks[0].operations]
        symbols = {op.attributes["sym_name"].value for op in operations if "sym_name" in op.attributes}
        wish = name or next((d.name for d in f.program.outputs), "main")
        return write_program(f.program, module, first_free(wish, symbols))
