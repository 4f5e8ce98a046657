"""The threads of this process that kernels share, as the symbol `tadc_parallel` that they are linked with.

The code is `pool.ll` with what differs by system and processor. Helpers start at the first call that is
worth it, take no signals, and end with the process. One call at a time has their help; another at the same
moment runs on its own thread.
"""

from __future__ import annotations

import ctypes
import os
import platform
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tadc.backend.cpu.kept_code import linked, own_code
from tadc.backend.cpu.linking import Library
from tadc.backend.environment import chosen_here
from tadc.backend.runtime.call_watchers import WatchedCall
from tadc.backend.runtime.thread_count import PARALLEL, tell
from tadc.frontend.forks import new_lock

if TYPE_CHECKING:
    from tadc.backend.cpu.processors import Processor

_RESIZE, _HERE, _FORGET = "tadc_pool_resize", "tadc_pool_here", "tadc_pool_forget"

#: The files that say how helpers sleep, by `sys.platform`, and how processors wait, by `platform.machine()`.
SYSTEMS = {"linux": "pool_linux.ll", "darwin": "pool_posix.ll"}
MACHINES = {
    "x86_64": "pool_x86_64.ll",
    "aarch64": "pool_aarch64.ll",
    "arm64": "pool_aarch64.ll",
}

#: For systems that `pool.ll` is not written for.
_ALONE = f"""
define void @{PARALLEL}(ptr %body, ptr %args, i64 %elements, i64 %multiple, i64 %operations) {{
  call void %body(ptr %args, i64 0, i64 %elements)
  ret void
}}
"""

_lock = new_lock()
_pool: Library | None = None
#: Helpers run this code until the process ends.
_started: list[Library] = []


def address_of_pool() -> int:
    """The address of `tadc_parallel` in this process.

    Raises:
        ArgumentError: TAD0509, the environment gives no number of threads.
    """
    global _pool
    with _lock:
        if _pool is None:
            _pool = start(pool_text()) if is_supported() else linked(_ALONE, [PARALLEL])
        return _pool[PARALLEL]


def is_supported() -> bool:
    """Whether kernels can use more than one thread on this system."""
    return sys.platform in SYSTEMS and platform.machine() in MACHINES


def system_of(processor: Processor) -> str | None:
    """The system that a pool can be made for, by its name in `SYSTEMS`; None where there is none."""
    if processor.machine not in MACHINES:
        return None
    return next((name for name in SYSTEMS if name in processor.triple), None)


def pool_text(system: str = sys.platform, machine: str = "") -> str:
    """The code of a pool for a system and a processor, those of this process where none is named."""
    files = "pool.ll", SYSTEMS[system], MACHINES[machine or platform.machine()]
    return "".join(own_code(name) for name in files)


def start(text: str) -> Library:
    """A pool of this process, of text like `pool_text`."""
    library = linked(text, [PARALLEL, _RESIZE, _HERE, _FORGET])
    _started.append(library)
    tell(ctypes.CFUNCTYPE(None, ctypes.c_int64)(library[_RESIZE]))
    os.register_at_fork(after_in_child=ctypes.CFUNCTYPE(None)(library[_FORGET]))
    return library


class ThreadsHere:
    """Runs calls by as many threads as a block around them says; the calls of others as they are.

    The thread of the call is told, which is for nothing where kernels have one thread.
    """

    def around(self, call: WatchedCall, run: Callable[[WatchedCall], Any]) -> Any:
        """What a call gives."""
        __tracebackhide__ = True
        number = chosen_here("threads")
        if number is None or not is_supported():
            return run(call)
        address_of_pool()
        with _lock:
            # Two of them might both make the key.
            _tell_here(number)
        try:
            return run(call)
        finally:
            _tell_here(0)


def _tell_here(number: int) -> None:
    assert _pool is not None
    ctypes.CFUNCTYPE(None, ctypes.c_int64)(_pool[_HERE])(number)
