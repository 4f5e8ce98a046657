"""tadc, the Tensor Algebra Differentiation Compiler.

>>> import tadc
>>> f = tadc.function("x: f64[4]; f[i: 3, j: 2] = exp(x[i + j])")
>>> y = f(x=[0, 0, 0, 0])                  # NumPy arrays, or those of PyTorch or JAX
>>> g = tadc.vjp(f)                        # a Function again: x and df in, dx out
>>> g(x=[0, 0, 0, 0], df=[[1, 1]] * 3)
array([1., 2., 2., 1.])

MLIR, LLVM and NumPy are imported where they are needed, and the front end too: a kernel of the disk cache
runs without it, so `import tadc` is cheap.
"""

from __future__ import annotations

import sys
from importlib import import_module
from os import environ, path
from typing import TYPE_CHECKING, Any

if not path.isdir(path.join(__path__[0], "passes")):
    __path__.append(path.dirname(__path__[0]))  # in a checkout the layers stand beside this folder

from tadc.api import framework_views
from tadc.api.batches import batched
from tadc.api.derivatives import grad, hessian, hvp, jacobian, jvp, value_and_grad, value_and_vjp, vjp
from tadc.api.function import Function
from tadc.api.load import MODEL_FILES, compile, function, load
from tadc.backend.fingerprint import fingerprint
from tadc.compiler.reversals import REVERSALS
from tadc.frontend.diagnostics import ArgumentError, CompileError, CompileWarning, Diagnostic, UsageError
from tadc.frontend.packages import VERSION, other_package

if TYPE_CHECKING:
    from tadc import dask, dual
    from tadc.analysis.statistics import Statistics
    from tadc.analysis.structure import Structure
    from tadc.api.compiled import Compiled
    from tadc.api.debug_nans import debug_nans
    from tadc.api.explain import Explanation
    from tadc.api.flat_vectors import Flat, flat
    from tadc.api.index_relations import relation
    from tadc.api.jacobians import Compressed, Jacobian
    from tadc.api.lowered import Lowered
    from tadc.api.profiling import Profile, profile
    from tadc.api.reports import certificate, statistics
    from tadc.api.tuning import tune
    from tadc.api.tuning_report import Tuned
    from tadc.apps.blocks import BlockFunction
    from tadc.apps.inversion import Inverse, Plan, inverse
    from tadc.apps.uncertainty import Budget, Result, propagate
    from tadc.backend.backend_errors import BackendError
    from tadc.backend.cuda.bundles import Bundle, load_bundle
    from tadc.backend.cuda.device_arrays import DeviceArray
    from tadc.backend.cuda.driver import NoGpu
    from tadc.backend.runtime.kept_indices import Relation
    from tadc.backend.runtime.thread_count import get_num_threads, set_num_threads
    from tadc.building import (
        ArrayExpression,
        Condition,
        ElementType,
        Expression,
        Index,
        IndexArray,
        Size,
        Tensor,
        argument,
        bf16,
        define,
        einsum,
        f16,
        f32,
        f64,
        index,
        index_array,
        indices,
        kernel,
        let,
        logsumexp,
        max,
        min,
        norm,
        prod,
        program,
        rearrange,
        reduce,
        repeat,
        select,
        size,
        sizes,
        sum,
        where,
    )
    from tadc.caller.config import CONFIG as config
    from tadc.certificates.certify import Certificates
    from tadc.embed import Pass, build, load_dialect, register_pass, run_passes, text
    from tadc.frontend.program import Program
    from tadc.importing.jax_functions import from_jax
    from tadc.importing.torch_modules import from_torch
    from tadc.native.export import export

__version__ = VERSION

if (_other := other_package(path.dirname(__path__[0]))) is not None:
    from tadc.caller.warn_caller import warn_of

    warn_of([_other])

if "TADC_LOG" in environ:
    from tadc.caller.config import follow_environment

    follow_environment()

framework_views.PACKAGES.update(
    block="tadc.apps.blocks",
    dask="tadc.dask",
    explain="tadc.api.explain",
    jax="tadc.jax",
    torch="tadc.torch",
)
MODEL_FILES.update(dict.fromkeys((".mlir", ".onnx", ".pt2"), "tadc.importing.model_files"))
framework_views.RELATION_TREES.update(jax="tadc.jax.relation_tree")

#: Subpackages that are imported when they are named.
_MODULES = ("dask", "dual", "jax", "torch")

#: What is imported at its first use, by the module that has it.
_HOMES = {
    "tadc.backend.cuda.device_arrays": ("DeviceArray",),
    "tadc.backend.cuda.driver": ("NoGpu",),
    "tadc.backend.backend_errors": ("BackendError",),
    "tadc.backend.cuda.bundles": ("Bundle", "load_bundle"),
    "tadc.backend.runtime.thread_count": ("get_num_threads", "set_num_threads"),
    "tadc.building": (
        "ArrayExpression Condition ElementType Expression Index IndexArray Size Tensor argument bf16 define "
        "einsum f16 f32 f64 index index_array indices kernel let logsumexp max min norm prod program "
        "rearrange reduce repeat select size sizes sum where"
    ).split(),
    "tadc.caller.config": ("config",),
    "tadc.certificates.certify": ("Certificates",),
    "tadc.api.compiled": ("Compiled",),
    "tadc.api.debug_nans": ("debug_nans",),
    "tadc.api.explain": ("Explanation",),
    "tadc.analysis.statistics": ("Statistics",),
    "tadc.embed": ("Pass", "build", "load_dialect", "register_pass", "run_passes", "text"),
    "tadc.apps.blocks": ("BlockFunction",),
    "tadc.apps.inversion": ("Inverse", "Plan", "inverse"),
    "tadc.api.flat_vectors": ("Flat", "flat"),
    "tadc.api.jacobians": ("Compressed", "Jacobian"),
    "tadc.api.lowered": ("Lowered",),
    "tadc.api.profiling": ("Profile", "profile"),
    "tadc.api.tuning": ("tune",),
    "tadc.api.tuning_report": ("Tuned",),
    "tadc.api.index_relations": ("relation",),
    "tadc.backend.runtime.kept_indices": ("Relation",),
    "tadc.api.reports": ("certificate", "statistics"),
    "tadc.analysis.structure": ("Structure",),
    "tadc.importing.jax_functions": ("from_jax",),
    "tadc.importing.torch_modules": ("from_torch",),
    "tadc.native.export": ("export",),
    "tadc.apps.uncertainty": ("Budget", "Result", "propagate"),
}
#: The names there, of what has another one here.
_OTHER_NAMES = {"config": "CONFIG"}
_HOME = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "ArgumentError",
    "ArrayExpression",
    "BackendError",
    "BlockFunction",
    "Budget",
    "Bundle",
    "Certificates",
    "CompileError",
    "CompileWarning",
    "Compiled",
    "Compressed",
    "Condition",
    "DeviceArray",
    "Diagnostic",
    "ElementType",
    "Explanation",
    "Expression",
    "Flat",
    "Function",
    "Index",
    "IndexArray",
    "Inverse",
    "Jacobian",
    "Lowered",
    "NoGpu",
    "Pass",
    "Plan",
    "Profile",
    "Relation",
    "Result",
    "Size",
    "Statistics",
    "Structure",
    "Tensor",
    "Tuned",
    "UsageError",
    "argument",
    "batched",
    "bf16",
    "build",
    "certificate",
    "compile",
    "config",
    "dask",
    "debug_nans",
    "define",
    "dual",
    "einsum",
    "export",
    "f16",
    "f32",
    "f64",
    "flat",
    "from_jax",
    "from_torch",
    "function",
    "get_num_threads",
    "grad",
    "hessian",
    "hvp",
    "index",
    "index_array",
    "indices",
    "inverse",
    "jacobian",
    "jvp",
    "kernel",
    "let",
    "load",
    "load_bundle",
    "load_dialect",
    "logsumexp",
    "max",
    "min",
    "norm",
    "prod",
    "profile",
    "program",
    "propagate",
    "rearrange",
    "reduce",
    "register_pass",
    "relation",
    "repeat",
    "run_passes",
    "select",
    "set_num_threads",
    "size",
    "sizes",
    "statistics",
    "sum",
    "text",
    "tune",
    "value_and_grad",
    "value_and_vjp",
    "vjp",
    "where",
]


def _inverted(gradient: Program, base: Program) -> Program:
    """A gradient that makes the states of recurrences backwards, by the inverse of each step."""
    from tadc.apps.undoing.run_backwards import run_backwards

    return run_backwards(gradient, base)


REVERSALS["invert"] = _inverted

if "numpy" in sys.modules and sys.platform == "linux":
    # Who has arrays makes a call, which is not to wait for this. On other systems both need LLVM.
    fingerprint()
    for _name in ("runtime.host_kernel", "cpu.python_calls", "cpu.thread_pool"):
        import_module(f"tadc.backend.{_name}")


def load_ipython_extension(ipython: Any) -> None:
    """What `%load_ext tadc` calls in a notebook: `%%tadc NAME` makes functions of cells then."""
    from tadc.editing.notebook import add_magic

    add_magic(ipython)


def __getattr__(name: str) -> Any:
    """Import what belongs to the compiler itself at its first use."""
    if name in _MODULES:
        return import_module(f"tadc.{name}")
    if name not in _HOME:
        from tadc.building.python_forms import NAMED

        if name in NAMED:
            return NAMED[name]
        from tadc.frontend.suggest import did_you_mean

        near = "".join(f"; {help}" for help in did_you_mean(name, () if name[0] == "_" else __all__))
        raise AttributeError(f"module 'tadc' has no attribute {name!r}{near}")
    value = getattr(import_module(_HOME[name]), _OTHER_NAMES.get(name, name))
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
