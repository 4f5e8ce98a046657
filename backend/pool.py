"""The threads of this process that kernels share, as the symbol `tadc_parallel` that they are linked with.

The code is `pool.ll`. Helpers start at the first call that is worth it, take no signals, and end with
the process. One call at a time has their help; another at the same moment runs on its own thread.
"""

from __future__ import annotations

import ctypes
import os
import platform
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from tadc.backend.object_code import object_code
from tadc.backend.runtime.threads import tell
from tadc.backend.splitting import PARALLEL

if TYPE_CHECKING:
    from tadc.backend.jit import Library

_RESIZE, _FORGET = "tadc_pool_resize", "tadc_pool_forget"

_lock = threading.Lock()
_pool: Library | None = None


def address_of_pool() -> int:
    """The address of `tadc_parallel` in this process; 0 on a system that it is not written for.

    Raises:
        ArgumentError: TAD0509, the environment gives no number of threads.
    """
    global _pool
    if not is_supported():
        return 0
    with _lock:
        if _pool is None:
            _pool = _start()
        return _pool[PARALLEL]


def is_supported() -> bool:
    """Whether kernels can use more than one thread on this system."""
    return sys.platform == "linux" and platform.machine() == "x86_64"


def _start() -> Library:
    from tadc.backend.jit import load

    text = Path(__file__).with_name("pool.ll").read_text()
    # Nothing in it is worth optimising, and without that it takes a few milliseconds.
    library = load(object_code(text, 0), [PARALLEL, _RESIZE, _FORGET])
    tell(ctypes.CFUNCTYPE(None, ctypes.c_int64)(library[_RESIZE]))
    os.register_at_fork(after_in_child=ctypes.CFUNCTYPE(None)(library[_FORGET]))
    return library
