"""PyTorch, as far as this package uses it.

What gives its name with an underscore is no promise of PyTorch: `tests/torch` finds out where it changes.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any

#: Without types: it need not be there where tadc is checked.
torch: Any = import_module("torch")

forward_ad: Any = import_module("torch.autograd.forward_ad")

#: Lets one layer of `torch.func` record a call by itself.
single_level: Any = import_module("torch._functorch.utils").enable_single_level_autograd_function

#: Whether `torch.func` transforms what runs.
transforms: Any = torch._C._are_functorch_transforms_active

#: Whether one of the arguments requires a gradient.
requires_gradient: Any = torch._C._any_requires_grad

#: False, but where `torch.compile` reads a function.
is_traced: Any = torch.compiler.is_dynamo_compiling

#: Has `_is_compiling_flag`, which is set where `torch.export` runs a function to see what it does.
compiler: Any = torch.compiler


def is_looked_at() -> bool:
    """Whether `torch.compile` or `torch.export` looks at what runs, for a graph of it."""
    return is_traced() or compiler._is_compiling_flag


def runs_alone() -> bool:
    """Whether what a call computes is nothing but computed: neither transformed nor recorded in some way."""
    if is_looked_at() or transforms():
        return False
    return not (torch._C._get_tracing_state() or torch._C._len_torch_dispatch_stack())


def uncompiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, of which `torch.compile` compiles no part where it leaves a call alone."""
    # To ask for it takes seconds, and nothing is compiled before that is imported.
    return _disabled(function) if "torch._dynamo" in sys.modules else function


@cache
def _disabled(function: Callable[..., Any]) -> Callable[..., Any]:
    return compiler.disable(function)
