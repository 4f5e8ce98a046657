"""tadc, the Tensor Algebra Differentiation Compiler.

    f = tadc.function("x: f64[8]; f[i: 3, j: 4] = exp(x[i + j])")
    y = f(x=x)
    g = tadc.vjp(f)                  # a Function again: x and df in, dx out
    dx = g(x=x, df=df)

MLIR, LLVM and NumPy are imported where they are needed, and the front end too: a kernel of the disk cache
runs without it, so `import tadc` is cheap.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from tadc.derivatives import (
    grad,
    hessian,
    hvp,
    jacobian,
    jvp,
    value_and_grad,
    value_and_vjp,
    vjp,
)
from tadc.frontend.diagnostics import ArgumentError, CompileError, CompileWarning, Diagnostic
from tadc.functions import (
    Function,
    compile,
    function,
)

if TYPE_CHECKING:
    from tadc import dual
    from tadc.backend.runtime.threads import get_num_threads, set_num_threads
    from tadc.embed import Pass, build, load_dialect, register_pass, run_passes, text
    from tadc.inversion import inverse
    from tadc.lowered import Lowered
    from tadc.reports import certificate, statistics
    from tadc.uncertainty import propagate

__version__ = "0.1.0"

#: Subpackages that are imported when they are named.
_MODULES = ("dual",)

_HOME = {
    "Lowered": "tadc.lowered",
    "Pass": "tadc.embed",
    "build": "tadc.embed",
    "certificate": "tadc.reports",
    "get_num_threads": "tadc.backend.runtime.threads",
    "inverse": "tadc.inversion",
    "load_dialect": "tadc.embed",
    "propagate": "tadc.uncertainty",
    "register_pass": "tadc.embed",
    "run_passes": "tadc.embed",
    "set_num_threads": "tadc.backend.runtime.threads",
    "statistics": "tadc.reports",
    "text": "tadc.embed",
}

__all__ = [
    "ArgumentError",
    "CompileError",
    "CompileWarning",
    "Diagnostic",
    "Function",
    "Lowered",
    "Pass",
    "build",
    "certificate",
    "compile",
    "dual",
    "function",
    "get_num_threads",
    "grad",
    "hessian",
    "hvp",
    "inverse",
    "jacobian",
    "jvp",
    "load_dialect",
    "propagate",
    "register_pass",
    "run_passes",
    "set_num_threads",
    "statistics",
    "text",
    "value_and_grad",
    "value_and_vjp",
    "vjp",
]


def __getattr__(name: str) -> Any:
    """Import what belongs to the compiler itself at its first use."""
    if name in _MODULES:
        return import_module(f"tadc.{name}")
    if name not in _HOME:
        raise AttributeError(f"module 'tadc' has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME, *_MODULES})
