"""tadc, the Tensor Algebra Differentiation Compiler.

    f = tadc.function("x: f64[8]; f[i: 3, j: 4] = exp(x[i + j])")
    y = f(x=x)
    g = tadc.vjp(f)                  # a Function again: x and df in, dx out
    dx = g(x=x, df=df)

Names are imported at their first use, so that `import tadc` is cheap.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tadc.embed import build, load_dialect, run_passes
    from tadc.frontend.diagnostics import ArgumentError, CompileError, CompileWarning, Diagnostic
    from tadc.functions import (
        Function,
        Lowered,
        certificate,
        compile,
        function,
        grad,
        statistics,
        value_and_grad,
        value_and_vjp,
        vjp,
    )

__version__ = "0.1.0"

_HOME = {
    "ArgumentError": "tadc.frontend.diagnostics",
    "CompileError": "tadc.frontend.diagnostics",
    "CompileWarning": "tadc.frontend.diagnostics",
    "Diagnostic": "tadc.frontend.diagnostics",
    "Function": "tadc.functions",
    "Lowered": "tadc.functions",
    "build": "tadc.embed",
    "certificate": "tadc.functions",
    "compile": "tadc.functions",
    "function": "tadc.functions",
    "grad": "tadc.functions",
    "load_dialect": "tadc.embed",
    "run_passes": "tadc.embed",
    "statistics": "tadc.functions",
    "value_and_grad": "tadc.functions",
    "value_and_vjp": "tadc.functions",
    "vjp": "tadc.functions",
}

__all__ = [
    "ArgumentError",
    "CompileError",
    "CompileWarning",
    "Diagnostic",
    "Function",
    "Lowered",
    "build",
    "certificate",
    "compile",
    "function",
    "grad",
    "load_dialect",
    "run_passes",
    "statistics",
    "value_and_grad",
    "value_and_vjp",
    "vjp",
]


def __getattr__(name: str) -> Any:
    """Import a name of the API at its first use."""
    if name not in _HOME:
        raise AttributeError(f"module 'tadc' has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME])
