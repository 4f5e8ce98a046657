"""What packages above this one make of a function: `f.jax`, `f.block` and the like."""

from __future__ import annotations

import sys
from contextlib import suppress
from importlib import import_module
from typing import Any

#: The package that makes each, and the module by which one takes relations as trees. These stand above this
#: module, so that it does not name them: `tadc/__init__.py` does.
PACKAGES: dict[str, str] = {}
RELATION_TREES: dict[str, str] = {}


class FrameworkView:
    """A property of a function, made at its first use by `made(f)` of a package, and kept with the function.

    Where the framework is not installed it raises UsageError, which names the extra of tadc to install.
    """

    def __init__(self, about: str) -> None:
        self.__doc__ = about

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, f: Any, owner: type) -> Any:
        if f is None:
            return self
        # Python looks here before it looks for this property the next time.
        kept: dict[str, Any] = f.__dict__
        return kept.setdefault(self._name, import_module(PACKAGES[self._name]).made(f))


JAX = FrameworkView("A function of JAX's arrays, with derivatives and batches (`tadc.jax.wrap`).")
BLOCK = FrameworkView("A function of one block of the results, and f block by block: `f.block(i=1000)`.")
DASK = FrameworkView("A function of Dask arrays, block by block (`tadc.dask.wrap`).")
EXPLAIN = FrameworkView("What one element of a result reads, and what each contributes: `f.explain(i=3)`.")
TORCH = FrameworkView("An operator of PyTorch, with derivatives and batches (`tadc.torch.wrap`).")


def admit_relations() -> None:
    """Let the frameworks that are loaded take relations."""
    for framework in RELATION_TREES.keys() & sys.modules.keys():
        # One that is not whole, or too old, says so where `f.jax` is asked for.
        with suppress(ImportError, AttributeError):
            import_module(RELATION_TREES[framework])
