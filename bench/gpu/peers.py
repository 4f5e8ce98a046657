"""The peers on a GPU. Each is a call without arguments that returns arrays, and the stream it works on.

All compute f32 in f32, but for the modes that are named after the shorter products of tensor cores.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

from bench.workloads.workload import Workload


@dataclass
class Peer:
    """A call, which may go on after it returns. Where its stream is None, `wait` waits for its results."""

    call: Callable[[], Any]
    numpy: Callable[[Any], np.ndarray]
    stream: int | None
    wait: Callable[[Any], object] = lambda results: None


class UnavailableError(Exception):
    """Why a peer cannot take part."""


#: Other ways to run the fastest form of PyTorch and of JAX: compiled, or with shorter products in f32.
MODES = ("PyTorch, TF32", "JAX, TF32", "PyTorch, bf16", "PyTorch, compiled")
#: Those whose errors are not those of f32, and how large these may be.
SHORTER = {"PyTorch, TF32": 1e-2, "JAX, TF32": 1e-2, "PyTorch, bf16": 1e-1}


def names_of(workload: Workload, dtype: str) -> list[str]:
    """The peers that can work on a GPU, those that take longest to prepare last."""
    known = [name for name in workload.peers if name.split(",")[0] in ("PyTorch", "JAX", "KeOps")]
    modes = [mode for mode in MODES if mode.split(",")[0] in known] if dtype == "f32" else []
    return [*known, *modes]


def prepare(name: str, workload: Workload, inputs: list[np.ndarray]) -> Peer:
    """A peer on these inputs. Raises UnavailableError."""
    library, _, mode = name.partition(", ")
    package = {"PyTorch": "torch", "JAX": "jax", "KeOps": "pykeops"}[library]
    if not find_spec(package):
        raise UnavailableError("not installed")
    if workload.kind != "gradients":
        raise UnavailableError("second derivatives are timed on the CPU")
    if name in MODES:
        tuned = f"{library}, tuned"
        form = workload.peers[tuned if tuned in workload.peers else library]
    else:
        form, mode = workload.peers[name], ""
    return _jax(form, inputs, mode) if library == "JAX" else _torch(form, library, inputs, mode)


def _torch(form: Callable[..., Any], library: str, inputs: list[np.ndarray], mode: str) -> Peer:
    torch: Any = import_module("torch")
    if not torch.cuda.is_available():
        raise UnavailableError("PyTorch finds no GPU")
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = mode == "TF32"
    package: Any = torch if library == "PyTorch" else import_module("pykeops.torch")
    tensors = [torch.from_numpy(a).cuda() for a in inputs]
    *arguments, cotangent = [a.bfloat16() for a in tensors] if mode == "bf16" else tensors
    for argument in arguments:
        argument.requires_grad_()

    def value_of(*given: Any) -> Any:
        return form(package, *given)

    if mode == "compiled":
        torch._dynamo.reset()  # which compiles a function so many times and no more
    run = torch.compile(value_of) if mode == "compiled" else value_of

    def gradients() -> Any:
        value = run(*arguments)
        return (value.detach(), *torch.autograd.grad(value, arguments, cotangent))

    def numpy(a: Any) -> np.ndarray:
        a = a.detach().cpu()
        return (a.float() if mode == "bf16" else a).numpy()

    return Peer(gradients, numpy, torch.cuda.current_stream().cuda_stream)


def _jax(form: Callable[..., Any], inputs: list[np.ndarray], mode: str) -> Peer:
    # In its own way JAX takes most of the memory, of which others need some.
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    jax: Any = import_module("jax")
    if all(device.platform == "cpu" for device in jax.devices()):
        raise UnavailableError("JAX finds no GPU")
    jax.config.update("jax_enable_x64", True)
    arrays = [jax.device_put(a) for a in inputs]

    def gradients(*given: Any) -> Any:
        value, pull = jax.vjp(lambda *a: form(jax, *a), *given[:-1])
        return (value, *pull(given[-1]))

    with jax.default_matmul_precision("default" if mode == "TF32" else "highest"):
        compiled = jax.jit(gradients).lower(*arrays).compile()
    return Peer(lambda: compiled(*arrays), np.asarray, None, jax.block_until_ready)
