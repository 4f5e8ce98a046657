"""Locks and forks.

The child of a fork has one thread, and memory as it was at that moment: a lock that another thread held stays
taken for ever. So a fork waits for what must not be cut in two, and all other locks are open in the child.
"""

from __future__ import annotations

import importlib
import os
import sys
import threading
from contextlib import AbstractContextManager, ExitStack, suppress
from functools import cached_property
from typing import Any
from weakref import WeakSet

REGISTRY_LOCK = threading.RLock()  # noqa: TID251
"""Taken where another library is told of a thing, once and in several steps. A fork waits for this one and
those below. A thread that holds one of them takes only later ones besides."""

MLIR_LOCK = threading.RLock()  # noqa: TID251
"""The bindings are not safe for several threads at once: whatever builds, runs or reads IR holds this."""

LLVM_LOCK = threading.RLock()  # noqa: TID251
"""llvmlite keeps one context of LLVM for the process, which only one thread may use at a time."""

_awaited: list[AbstractContextManager[Any]] = [REGISTRY_LOCK, MLIR_LOCK, LLVM_LOCK]

#: Imported where they are first needed, by any thread.
_PACKAGES = {"tadc", "numpy", "llvmlite", "mlir", "torch_mlir", *sys.stdlib_module_names}

_opened: WeakSet[Any] = WeakSet()
_here = threading.local()


def new_lock() -> AbstractContextManager[Any]:
    """A lock that is open in the child of a fork, whatever another thread had done until then."""
    return _open_in_child(threading.Lock())  # noqa: TID251


def new_rlock() -> AbstractContextManager[Any]:
    """A lock as of `new_lock`, which one thread may take several times."""
    return _open_in_child(threading.RLock())  # noqa: TID251


def _open_in_child(lock: Any) -> Any:
    _opened.add(lock)
    return lock


def wait_for(lock: AbstractContextManager[Any]) -> None:
    """Let forks wait for a lock of another library too, which is taken after all of ours."""
    _awaited.append(lock)


def _before() -> None:
    _here.held, held = ExitStack(), 0
    while held < len(_awaited) or _imported_by_others():
        for lock in _awaited[held:]:
            _here.held.enter_context(lock)
            held += 1
        for name in _imported_by_others():
            with suppress(ImportError):  # of who asked for it
                importlib.import_module(name)


def _imported_by_others() -> list[str]:
    """The modules that other threads are importing: nobody would go on with that in the child."""
    locks: dict[str, Any] = getattr(sys.modules["importlib._bootstrap"], "_module_locks", {})
    ours = [(n, lock()) for n, lock in list(locks.items()) if n.partition(".")[0] in _PACKAGES]
    nobody = (None, threading.get_ident())
    return [name for name, lock in ours if getattr(lock, "owner", None) not in nobody]


def _after() -> None:
    if hasattr(_here, "held"):
        _here.held.close()


def _after_in_child() -> None:
    _after()
    for lock in list(_opened):
        lock._at_fork_reinit()
    if sys.version_info < (3, 12):
        _open_cached_properties()


def _open_cached_properties() -> None:
    """Those of Python 3.11 have a lock each, for all objects of a class."""
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == "tadc":
            kinds = [kind for kind in vars(module).values() if isinstance(kind, type)]
            values: list[Any] = [value for kind in kinds for value in vars(kind).values()]
            for value in values:
                if isinstance(value, cached_property):
                    value.__dict__["lock"] = threading.RLock()  # noqa: TID251


if hasattr(os, "register_at_fork"):
    # What is registered later is asked earlier: `logging` would keep a lock that the import of MLIR takes.
    importlib.import_module("logging")
    os.register_at_fork(before=_before, after_in_parent=_after, after_in_child=_after_in_child)
