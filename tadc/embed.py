"""The dialect and the passes inside another compiler: its context, its module."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tadc.dialect.mlir import LOCK, check_bindings
from tadc.dialect.ops import load_dialect
from tadc.dialect.reader import UnsupportedIR
from tadc.dialect.text import to_text
from tadc.dialect.writer import write_program
from tadc.frontend.naming import first_free
from tadc.passes.catalogue import rewrite_functions
from tadc.passes.registry import Pass, flag_option, names_option, number_option, word_option
from tadc.passes.registry import register as register_pass
from tadc.pipeline import run_passes

if TYPE_CHECKING:
    from tadc.functions import Function

__all__ = [
    "Pass",
    "UnsupportedIR",
    "build",
    "flag_option",
    "load_dialect",
    "names_option",
    "number_option",
    "register_pass",
    "rewrite_functions",
    "run_passes",
    "text",
    "word_option",
]


def text(module: Any, generic: bool = False) -> str:
    """The text of a module or operation of MLIR: readable, or in MLIR's generic form.

    Both read back, with `tadc f.mlir` and in Python; the generic form is the one that any tool of MLIR reads.

        >>> import tadc
        >>> from tadc.dialect.mlir import ir
        >>> module = ir.Module.create(ir.Location.unknown(ir.Context()))
        >>> tadc.load_dialect(module.context)
        >>> f = tadc.function("x: f64[2]; f[i: 2] = x[1 - i]")
        >>> print(tadc.text(tadc.build(f, module)), end="")
        func.func @f(%x: tensor<2xf64> {tad.name = "x"}) -> (tensor<2xf64> {tad.name = "f"}) {
          %f = tad.map (%i) -> tensor<2xf64> {
            %0 = tad.read %x[-%i + 1] : tensor<2xf64>
            tad.yield %0 : f64
          }
          return %f : tensor<2xf64>
        }
    """
    check_bindings(module, "a module")
    with LOCK:
        return to_text(module.operation, generic=generic)


def build(f: Function, module: Any, name: str | None = None) -> Any:
    """Add a function to a module of any context; returns the `func.func` operation.

    `name` is its symbol, by default the name of the first output. Where the module has that
    symbol already, it is the first free of `name_1`, `name_2`, …
    """
    check_bindings(module, "a module")
    with LOCK:
        operations = [op.operation for op in module.operation.regions[0].blocks[0].operations]
        symbols = {op.attributes["sym_name"].value for op in operations if "sym_name" in op.attributes}
        wish = name or next((d.name for d in f.program.outputs), "main")
        return write_program(f.program, module, first_free(wish, symbols))
