"""The front half of the compiler where there is neither MLIR nor NumPy, as in a browser.

The layers' contract has passes on terms import nothing that stands above them, but the table that names all
passes imports the others too, and with them MLIR. Here these have stand-ins: modules whose every name is a
class that does nothing. So the stages down to `hoist` run, and those below do not.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from tadc.frontend import limits
from tadc.frontend.forks import MLIR_LOCK

#: What stands above the passes on terms, or belongs to another package.
LEFT_OUT = (
    "numpy",
    "tadc.dialect",
    *(f"tadc.passes.{layer}" for layer in "cpu gpu linalg maps nest schedule wrappers".split()),
)


#: How deep a definition may be: the stack of a browser ends at about 500.
MOST_DEPTH = 200
#: What passes on terms and the writer of the dialect share, which is plain Python.
KEPT = ("tadc.dialect", "tadc.dialect.evaluation_order")


class _Anything(type):
    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return cls

    def __or__(cls, other: object) -> Any:
        return cls

    __ror__ = __or__


class Absent(Exception, metaclass=_Anything):
    """What a module that is left out has by any name: a class, an exception, a decorator, a function."""

    def __init_subclass__(cls, **options: object) -> None:
        """Take any options of a class."""

    def __class_getitem__(cls, item: object) -> Any:
        return cls

    def __new__(cls, *arguments: object, **options: object) -> Any:  # pyright: ignore[reportInconsistentConstructor]
        """What a call returns: the same again, which can be a decorator or an option."""
        return cls


class AbsentModule(ModuleType):
    """A module that has every name."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return MLIR_LOCK if name == "LOCK" else Absent


class StandInFinder(MetaPathFinder, Loader):
    """Finds a stand-in for each module that is left out."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The spec of a stand-in."""
        if fullname not in KEPT and any(
            fullname == name or fullname.startswith(f"{name}.") for name in LEFT_OUT
        ):
            return ModuleSpec(fullname, self, is_package=True)
        return None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """The stand-in."""
        return AbsentModule(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Nothing is run."""


def install() -> None:
    """Have stand-ins for what is left out, whether or not it is installed, and limits that fit a browser.

    To be called before anything else of tadc is imported.
    """
    limits.MAX_DEPTH = MOST_DEPTH
    if not any(isinstance(finder, StandInFinder) for finder in sys.meta_path):
        sys.meta_path.insert(0, StandInFinder())
