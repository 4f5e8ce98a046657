"""A function as a function of a framework: `f.jax` and the like, made by packages above this one."""

from __future__ import annotations

from importlib import import_module
from typing import Any


class FrameworkView:
    """A property of a function, made at its first use by `made(f)` of a module, and kept with the function.

    Where the framework is not installed it raises UsageError, which names the extra of tadc to install.
    """

    def __init__(self, module: str, about: str) -> None:
        self.module = module
        self.__doc__ = about

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, f: Any, owner: type) -> Any:
        if f is None:
            return self
        # Python looks here before it looks for this property the next time.
        kept: dict[str, Any] = f.__dict__
        return kept.setdefault(self._name, import_module(self.module).made(f))


JAX = FrameworkView("tadc.jax", "A function of JAX's arrays, with derivatives and batches (`tadc.jax.wrap`).")
TORCH = FrameworkView(
    "tadc.torch", "An operator of PyTorch, with derivatives and batches (`tadc.torch.wrap`)."
)
