"""The dialect and the passes inside another compiler: its context, its module."""

from __future__ import annotations

from typing import Any

from tadc.api.function import Function
from tadc.caller.boundary import checked_function, public, usage
from tadc.caller.warn_caller import warn_of
from tadc.compiler.plugins import register_pass
from tadc.compiler.run_passes import run_passes as run_on_module
from tadc.dialect import ops
from tadc.dialect.mlir import LOCK, check_bindings
from tadc.dialect.program_reader import UnsupportedIR
from tadc.dialect.readable_text import to_text
from tadc.dialect.writer import write_program
from tadc.frontend.naming import first_free
from tadc.passes.registry import Pass, flag_option, names_option, number_option, word_option
from tadc.passes.wrappers import rewrite_functions

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


@public
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
    _check(module, "a module")
    with LOCK:
        return to_text(module.operation, generic=generic)


@public
def load_dialect(context: Any) -> None:
    """Register `tad` in a context of MLIR; does nothing where it is registered already.

    >>> import tadc
    >>> from tadc.dialect.mlir import ir
    >>> context = ir.Context()
    >>> tadc.load_dialect(context)
    >>> context.is_dialect_loaded("tad")
    True
    """
    _check(context, "a context")
    ops.load_dialect(context)


@public
def run_passes(module: Any, pipeline: str) -> None:
    """Run a textual pipeline of our passes and MLIR's on a module of any context.

    Raises CompileError where the text names no pipeline (TAD0604) or a pass fails (TAD0605). Warns of
    functions that a pass leaves as they are (TAD0614).

    >>> import tadc
    >>> module = tadc.function("x: f64[3]; s = sum{i} (x[i]**2)").lower().module
    >>> tadc.run_passes(module, "tad-reverse-diff{wrt=x},tad-cancel-deltas,canonicalize,cse")
    >>> "@s_vjp" in str(module)
    True
    """
    _check(module, "a module")
    warn_of(run_on_module(module, pipeline))


def _check(thing: Any, what: str) -> None:
    """Raise UsageError for what is not of MLIR, or of other bindings of it."""
    try:
        check_bindings(thing, what)
    except TypeError as problem:
        raise usage(str(problem)) from None


@public
def build(f: Function, module: Any, name: str | None = None) -> Any:
    """Add a function to a module of any context; returns the `func.func` operation.

    `name` is its symbol, by default the name of the first output. Where the module has that
    symbol already, it is the first free of `name_1`, `name_2`, …

    >>> import tadc
    >>> from tadc.dialect.mlir import ir
    >>> context = ir.Context()
    >>> tadc.load_dialect(context)
    >>> with context, ir.Location.unknown():
    ...     module = ir.Module.create()
    >>> _ = tadc.build(tadc.function("x: f64[3]; f[i] = 2*x[i]"), module)
    >>> "@f" in str(module)
    True
    """
    checked_function(f, Function, "build")
    _check(module, "a module")
    with LOCK:
        operations = [op.operation for op in module.operation.regions[0].blocks[0].operations]
        symbols = {op.attributes["sym_name"].value for op in operations if "sym_name" in op.attributes}
        wish = name or next((d.name for d in f.program.outputs), "main")
        return write_program(f.program, module, first_free(wish, symbols))
