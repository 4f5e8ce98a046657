"""Functions of tadc in PyTorch: operators with gradients of every order.

>>> import tadc, torch                                                               # doctest: +SKIP
>>> f = tadc.function("x: f32[N]; w: f32[K]; y[i: N - K + 1] = sum{k} (x[i + k] * w[k])")
>>> w = torch.ones(3, requires_grad=True)                                            # doctest: +SKIP
>>> f.torch(torch.arange(9.0), w).sum().backward()                                   # doctest: +SKIP
>>> w.grad                                                                           # doctest: +SKIP
tensor([21., 28., 35.])

PyTorch is imported when a function is wrapped.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from tadc.api.function import Function
from tadc.caller.boundary import checked_function, public, usage
from tadc.frontend.packages import install_command

if TYPE_CHECKING:
    from tadc.importing.part_plans import LeftOperation
    from tadc.torch.torch_functions import TorchFunction


@public
def wrap(f: Function) -> TorchFunction:
    """The function on tensors of PyTorch; `f.torch` is the same.

    Raises UsageError where PyTorch is not installed, or is older than its stable ABI (2.9).
    """
    checked_function(f, Function, "torch.wrap")
    try:
        import_module("torch")
    except ImportError as error:
        note = f"Python says: {error}"
        raise usage("PyTorch is not installed", f"`{install_command('torch')}` brings it", note) from None
    from tadc.torch.libtorch import missing

    reason = missing()
    if reason:
        help = f"`{install_command('torch')}` brings one that has"
        raise usage("this PyTorch has no stable C ABI, which is there from 2.9 on", help, reason)
    from tadc.torch.torch_functions import TorchFunction

    return TorchFunction(f)


def backend(module: Any, example_inputs: Sequence[Any]) -> Callable[..., Any]:
    """The backend of `torch.compile(model, backend="tadc")`, which is `backend=tadc.torch.backend`, too.

    Programs compute what the language can say of a graph, with gradients of their own, and PyTorch the rest.
    """
    from tadc.torch.compile_backend import compiled_graph

    return compiled_graph(module, example_inputs)


def left_operations() -> tuple[LeftOperation, ...]:
    """What the backend left to PyTorch in this process: names, reasons, lines of the user's source."""
    from tadc.torch.compile_backend import LEFT

    return tuple(dict.fromkeys(LEFT))


#: What the property of functions calls.
made = wrap

__all__ = ["backend", "left_operations", "wrap"]
