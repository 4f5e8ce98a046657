"""The supplier of MLIR: the one module that names it.

Upstream's bindings (`mlir`) are taken where they are installed, else the same bindings as
torch-mlir ships them (`torch_mlir`). Exports, each imported at its first use:

    ir, passmanager, rewrite   modules of the bindings
    ext, arith, func, …        modules of `dialects`; `gpu` and `llvm` cost 30 to 60 ms each
    llvm_translation           `translate_module_to_llvmir`, without the rest of `llvm`
    stablehlo, torch_mlir      `register_dialect`, of dialects that torch-mlir brings; the second has passes

`mlir.pyi` beside this file tells type checkers what is there; the bindings bring no types.
"""

import sys
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any

from tadc.frontend.forks import MLIR_LOCK as LOCK
from tadc.frontend.packages import install_command

_CORE = ("ir", "passmanager", "rewrite")
_DIALECTS = ("affine arith builtin cf ext func gpu irdl linalg llvm math memref scf tensor ub vector").split()

#: Extension modules that a module of `dialects` would import with much else.
_EXTENSIONS = {
    "llvm_translation": "_mlir_libs._mlirDialectsLLVM",
    "stablehlo": "_mlir_libs._stablehlo",
    "torch_mlir": "_mlir_libs._torchMlir",
}

#: The dialects of new contexts. To load all that there are takes six times as long.
_LOADED = "affine arith cf func gpu llvm math memref scf ub vector".split()

__all__ = ["LOCK", "check_bindings", "new_context", *_CORE, *_DIALECTS, *_EXTENSIONS]  # pyright: ignore[reportUnsupportedDunderAll]


def new_context() -> Any:
    """A context with the dialects that programs are compiled through; text and passes may load more."""
    context = __getattr__("ir").Context(load_on_create_dialects=[])
    for name in _LOADED:
        # To load them at creation would import the Python modules of all.
        context.get_dialect_descriptor(name)
    return context


def check_bindings(thing: Any, what: str) -> None:
    """Raise TypeError, which says what to do, where what is handed over is not of these bindings of MLIR.

    `what` is "a context" or "a module". Bindings of two suppliers hold objects of two copies of MLIR, which
    know nothing of each other.
    """
    ir = __getattr__("ir")
    wanted = ir.Context if what == "a context" else (ir.Module, ir.Operation, ir.OpView)
    if isinstance(thing, wanted):
        return
    ours, theirs = f"{__getattr__('SUPPLIER')}.ir", type(thing).__module__
    if "mlir" not in theirs or theirs.startswith(__getattr__("SUPPLIER") + "."):
        raise TypeError(f"this takes {what} of `{ours}`, not {type(thing).__name__}")
    raise TypeError(
        f"this takes {what} of `{ours}`, the bindings of MLIR that tadc uses, and not of `{theirs}`: objects"
        f" of two bindings cannot be mixed; hand it over as text, `{ours}.Module.parse(str(module), context)`"
    )


def _supplier() -> str:
    for name in ("mlir", "torch_mlir"):
        # A bare `mlir` is not enough: PyPI's `mlir-python-bindings` is an empty placeholder.
        if find_spec(name) is not None and find_spec(f"{name}.ir") is not None:
            return name
    raise ImportError(f"tadc needs the Python bindings of MLIR, which come with `{install_command()}`")


def __getattr__(name: str) -> Any:
    """Import a module of the supplier. Raises AttributeError for a name it does not export."""
    if name == "SUPPLIER":
        module: Any = _supplier()
        # The bindings look for a Python module of a dialect at every one of its operations.
        sys.modules.setdefault(f"{module}.dialects.tad", ModuleType(f"{module}.dialects.tad"))
    elif name in _CORE:
        module = import_module(f"{__getattr__('SUPPLIER')}.{name}")
    elif name in _DIALECTS:
        module = import_module(f"{__getattr__('SUPPLIER')}.dialects.{name}")
    elif name in _EXTENSIONS:
        module = import_module(f"{__getattr__('SUPPLIER')}.{_EXTENSIONS[name]}")
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = module
    return module
