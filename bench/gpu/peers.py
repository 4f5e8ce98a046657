"""The peers on a GPU. Each is a call without arguments that returns arrays, and the stream it works on.

All compute f32 in f32: the shorter products of tensor cores are turned off.
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


def names_of(workload: Workload) -> list[str]:
    """The peers that can work on a GPU."""
    return [name for name in workload.peers if name.split(",")[0] in ("PyTorch", "JAX", "KeOps")]


def prepare(name: str, workload: Workload, inputs: list[np.ndarray]) -> Peer:
    """A peer on these inputs. Raises UnavailableError."""
    library = name.split(",")[0]
    package = {"PyTorch": "torch", "JAX": "jax", "KeOps": "pykeops"}[library]
    if not find_spec(package):
        raise UnavailableError("not installed")
    if workload.kind != "gradients":
        raise UnavailableError("second derivatives are timed on the CPU")
    form = workload.peers[name]
    return _jax(form, inputs) if library == "JAX" else _torch(form, library, inputs)


def _torch(form: Callable[..., Any], library: str, inputs: list[np.ndarray]) -> Peer:
    torch: Any = import_module("torch")
    if not torch.cuda.is_available():
        raise UnavailableError("PyTorch finds no GPU")
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    package: Any = torch if library == "PyTorch" else import_module("pykeops.torch")
    *arguments, cotangent = (torch.from_numpy(a).cuda() for a in inputs)
    for argument in arguments:
        argument.requires_grad_()

    def gradients() -> Any:
        value = form(package, *arguments)
        return (value.detach(), *torch.autograd.grad(value, arguments, cotangent))

    return Peer(gradients, lambda a: a.detach().cpu().numpy(), torch.cuda.current_stream().cuda_stream)


def _jax(form: Callable[..., Any], inputs: list[np.ndarray]) -> Peer:
    # In its own way JAX takes most of the memory, of which others need some.
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    jax: Any = import_module("jax")
    if all(device.platform == "cpu" for device in jax.devices()):
        raise UnavailableError("JAX finds no GPU")
    jax.config.update("jax_enable_x64", True)
    jax.config.update("jax_default_matmul_precision", "highest")
    arrays = [jax.device_put(a) for a in inputs]

    def gradients(*given: Any) -> Any:
        value, pull = jax.vjp(lambda *a: form(jax, *a), *given[:-1])
        return (value, *pull(given[-1]))

    compiled = jax.jit(gradients)
    return Peer(lambda: compiled(*arrays), np.asarray, None, jax.block_until_ready)
