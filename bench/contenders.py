"""Who computes a workload: tadc and its peers, each as a call without arguments that returns arrays.

A peer that is not installed is left out. Arrays are made before the call, in the form the peer likes;
results are made by the call.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

import tadc
from bench.workloads.workload import Arrays, Form, Prepared, Workload
from tadc.backend.runtime.host_kernel import HostKernel
from tadc.backend.runtime.workspace import workspace

TADC = "tadc"
COMPILED = "PyTorch, compiled"

#: The variable that names what tadc compiles for, where that is not the processor of this machine.
TARGET = "TADC_BENCH_TARGET"


class UnavailableError(Exception):
    """Why a contender cannot take part."""


@dataclass
class Contender:
    """A call, and what it took to prepare it."""

    call: Callable[[], Any]
    compile_seconds: float = 0.0
    """Before the first call, where that can be told apart."""
    temporaries: int | None = None
    """Bytes of temporary arrays of a call, where known."""
    numpy: Callable[[Any], np.ndarray] = field(default=np.asarray)
    anew: Callable[[], Any] | None = None
    """Makes relations of index arrays, and calls with them for the first time; None where there are none."""

    def results(self) -> list[np.ndarray]:
        """The results of a call."""
        found = self.call()
        return [self.numpy(a) for a in (found if isinstance(found, tuple | list) else (found,))]


def names_of(workload: Workload) -> list[str]:
    """The contenders that the workload has a form for, and those it says why not."""
    names = [TADC, *workload.peers]
    if "PyTorch" in workload.peers:
        names.insert(names.index("PyTorch") + 1, COMPILED)
    return [*names, *workload.absent]


def prepare(name: str, workload: Workload, sizes: Mapping[str, int], inputs: Arrays) -> Contender:
    """The contender of a name on these inputs, in their element type. Raises UnavailableError."""
    if name in workload.absent:
        raise UnavailableError(workload.absent[name])
    if name == TADC:
        return _tadc(workload, sizes, inputs)
    library, *others = name.split(",")[0].split(" and ")
    package = {"PyTorch": "torch", "KeOps": "pykeops"}.get(library, library.lower())
    if not all(map(find_spec, (package, *(other.lower() for other in others)))):
        raise UnavailableError("not installed")
    if name == COMPILED:
        return _torch_compiled(workload.peers["PyTorch"], workload, inputs)
    makers = {
        "JAX": _jax,
        "PyTorch": _torch,
        "NumPy": _numpy,
        "SciPy": _numpy,
        "numba": _numba,
        "KeOps": _keops,
    }
    direct = workload.kind == "hessian" and name.endswith("tuned")
    form, kind, fixed = workload.peers[name], "value" if direct else workload.kind, workload.fixed
    if isinstance(form, Prepared):
        known = form.prepare(*inputs[:fixed])
        form, inputs, fixed = form.form, (*known, *inputs[fixed:]), len(known)
    return makers[library](form, kind, inputs, fixed)


def _tadc(workload: Workload, sizes: Mapping[str, int], inputs: Arrays) -> Contender:
    begin = time.perf_counter()
    dtype = str(inputs[-1].dtype).replace("float", "f")
    if workload.kind == "stiffness":
        call, temporaries = _stiffness(workload.function(dtype, sizes), workload.fixed), None
        call(*inputs)
    else:
        call = tadc.compile(workload.derivative(dtype, sizes), target=os.environ.get(TARGET, "cpu"))
        assert isinstance(call.kernel, HostKernel)
        temporaries = workspace(call.kernel.temporaries).bytes
    seconds = time.perf_counter() - begin
    made = Contender(lambda: call(*workload.arguments(inputs)), seconds, temporaries)
    below = {n: a.below for n, a in enumerate(workload.function(dtype, sizes).program.passed())}
    if any(bound is not None for bound in below.values()):
        made.anew = lambda: call(*(_related(array, below.get(n)) for n, array in enumerate(inputs)))
    return made


def _stiffness(function: tadc.Function, fixed: int) -> Callable[..., Arrays]:
    """Value, gradient and the values of the sparse Hessian by the first argument that has a derivative."""
    by = function.inputs[fixed]
    slope, curvature = tadc.value_and_grad(function, by), tadc.hessian(function, by)
    return lambda *arrays: (*slope(*arrays), curvature.toscipy(*arrays).data)


def _related(array: np.ndarray, below: Any) -> Any:
    """An index array as a relation, as who calls more than once makes it; another array as it is."""
    return array if below is None else tadc.relation(array, below)


def _jax(form: Form, kind: str, inputs: Arrays, fixed: int) -> Contender:
    import jax

    jax.config.update("jax_enable_x64", True)

    def gradients(*arrays: Any) -> Any:
        *arguments, cotangent = arrays[fixed:]
        value, pull = jax.vjp(lambda *a: form(jax, *arrays[:fixed], *a), *arguments)
        return (value, *pull(cotangent))

    def value(*arrays: Any) -> Any:
        return form(jax, *arrays)

    def tangents(*arrays: Any) -> Any:
        half = len(arrays) // 2
        return jax.jvp(value, arrays[:half], arrays[half:])

    def jacobian(*arrays: Any) -> Any:
        is_tall = jax.eval_shape(value, *arrays).size >= arrays[0].size
        return (jax.jacfwd if is_tall else jax.jacrev)(value)(*arrays)

    works = {
        "gradients": gradients,
        "value": value,
        "hessian": jax.hessian(value),
        "jacobian": jacobian,
        "tangents": tangents,
    }
    arrays = [jax.device_put(a) for a in inputs]
    begin = time.perf_counter()
    compiled = jax.jit(works[kind]).lower(*arrays).compile()
    seconds = time.perf_counter() - begin
    memory = compiled.memory_analysis()
    temporaries = memory.temp_size_in_bytes if memory else None
    return Contender(lambda: jax.block_until_ready(compiled(*arrays)), seconds, temporaries)


def _torch(form: Form, kind: str, inputs: Arrays, fixed: int) -> Contender:
    torch: Any = import_module("torch")
    return _torch_call(lambda *a: form(torch, *a), kind, inputs, fixed)


def _torch_compiled(form: Form, workload: Workload, inputs: Arrays) -> Contender:
    torch: Any = import_module("torch")
    if not any(shutil.which(name) for name in ("g++", "clang++", "c++")):
        raise UnavailableError("no C++ compiler")
    if workload.kind != "gradients":
        raise UnavailableError("does not compile second derivatives")
    torch.compiler.reset()
    compiled = torch.compile(lambda *a: form(torch, *a), dynamic=False)
    made = _torch_call(compiled, workload.kind, inputs, workload.fixed)
    begin = time.perf_counter()
    made.call()
    made.compile_seconds = time.perf_counter() - begin
    return made


def _torch_call(function: Form, kind: str, inputs: Arrays, fixed: int) -> Contender:
    torch: Any = import_module("torch")
    arrays = [torch.from_numpy(a if a.flags.writeable else a.copy()) for a in inputs]
    arguments = [a.requires_grad_() for a in arrays[fixed:-1]]

    def gradients() -> Any:
        value = function(*arrays[:fixed], *arguments)
        return (value.detach(), *torch.autograd.grad(value, arguments, arrays[-1]))

    works: dict[str, Callable[[], Any]] = {
        "gradients": gradients,
        "value": lambda: function(*arrays),
        "hessian": lambda: torch.autograd.functional.hessian(function, *arrays),
    }
    return Contender(works[kind], numpy=lambda a: a.detach().numpy())


def _keops(form: Form, kind: str, inputs: Arrays, fixed: int) -> Contender:
    try:
        keops: Any = import_module("pykeops.torch")
    except Exception as error:
        raise UnavailableError(f"does not load: {error}") from error
    return _torch_call(lambda *a: form(keops, *a), kind, inputs, fixed)


def _numpy(form: Form, kind: str, inputs: Arrays, fixed: int) -> Contender:
    return Contender(lambda: form(*inputs))


def _numba(form: Form, kind: str, inputs: Arrays, fixed: int) -> Contender:
    numba: Any = import_module("numba")
    # Kept beside the module's bytecode: compiling takes seconds.
    compiled = numba.njit(parallel=True, fastmath=True, cache=True)(form)
    begin = time.perf_counter()
    compiled.compile(tuple(numba.typeof(a) for a in inputs))
    return Contender(lambda: compiled(*inputs), time.perf_counter() - begin)
