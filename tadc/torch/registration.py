"""Operators of the namespace `tadc` in PyTorch: what computes them where, and what their results are like.

An operator has two overloads. `tadc::NAME` is differentiated, batched and cast (`tadc.torch.operators`).
`tadc::NAME.direct` is the kernel itself, for calls that need none of this: PyTorch does not look for a
gradient then, which in Python takes three times as long as the rest of a small call. Where a transform or a
mode of PyTorch is on, it gives the call to the first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from hashlib import sha256
from keyword import iskeyword
from typing import Any

from tadc.api.function import Function
from tadc.caller.boundary import usage
from tadc.native.framed_kernels import Framed, framed_kernel
from tadc.torch.boxed import boxed, called_here
from tadc.torch.libtorch import register
from tadc.torch.pytorch import torch
from tadc.torch.sharding_rules import hand_over_rules

NAMESPACE = "tadc"

#: What hands a call of the direct overload to the other: transforms, modes, autocast, other devices.
_HANDED_ON = ("FuncTorchDynamicLayerFrontMode", "Python", "AutocastCPU", "CompositeExplicitAutograd")

#: As many arguments as a schema of PyTorch can have.
MOST_INPUTS = 64

#: Names that would mean something else in a schema.
_WORDS = ("Tensor", "self")

#: Kernels stay as long as the process: PyTorch may call them at any time.
_KEPT: list[Framed] = []


@cache
def library() -> Any:
    """What operators are defined by."""
    return torch.library.Library(NAMESPACE, "FRAGMENT")


def operator_name(f: Function) -> str:
    """The name of a function's operator: the same in every process."""
    roles = sorted(f.cotangents.items()), sorted(f.gradients.items()), sorted(f.tangents.items())
    options = f.options
    about = repr((str(f), roles, options.materialize, options.memory_limit, options.reverse))
    return f"{f.program.symbol}_{sha256(about.encode()).hexdigest()[:16]}"


def define(name: str, f: Function) -> None:
    """Define both overloads. Raises UsageError for more inputs than PyTorch takes."""
    if len(f.inputs) > MOST_INPUTS:
        message = f"the function has {len(f.inputs)} inputs, and operators of PyTorch at most {MOST_INPUTS}"
        note = "derivatives have an input more for each result, or each tangent"
        raise usage(message, "gather several inputs in one, by an index more", note)
    tensors = ", ".join(f"Tensor {argument}" for argument in argument_names(f.inputs))
    results = ", ".join(["Tensor"] * len(f.outputs))
    schema = f"({tensors}) -> {results if len(f.outputs) == 1 else f'({results})'}"
    tags = (torch.Tag.pt2_compliant_tag,)
    library().define(name + schema, tags=tags)
    library().define(f"{name}.direct{schema}", tags=tags)


def argument_names(inputs: Sequence[str]) -> list[str]:
    """The names of arguments in the operator's schema, which has words of its own."""
    return [f"_{n}" if iskeyword(name) or name in _WORDS else name for n, name in enumerate(inputs)]


def add_kernel(name: str, f: Function) -> Framed:
    """Compile a function, and let the code compute both overloads on CPU tensors."""
    made = framed_kernel(f, f"PyTorch {torch.__version__}", boxed, called_here())
    _KEPT.append(made)
    register(name, made.address)
    register(f"{name}.direct", made.address)
    return made


def hand_on(name: str, op: Callable[..., Any]) -> None:
    """Let the direct overload be the other where it is not enough."""

    def given(*tensors: Any) -> Any:
        hand_over_rules()
        return op(*tensors)

    for key in _HANDED_ON:
        library().impl(f"{name}.direct", given, key)
    library().impl(f"{name}.direct", torch.library.fallthrough_kernel, "Autograd")
