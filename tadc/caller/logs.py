"""Calls in the log, where everything is logged: what was called, on what, and how long it took."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Any

from tadc.backend.compile_steps import is_logged, log
from tadc.backend.runtime.call_watchers import WatchedCall


class LoggedCalls:
    """Tells of calls at the level `debug`."""

    def around(self, call: WatchedCall, run: Callable[[WatchedCall], Any]) -> Any:
        """What a call gives."""
        __tracebackhide__ = True
        if not is_logged(logging.DEBUG):
            return run(call)
        begin = time.perf_counter()
        result = run(call)
        log(logging.DEBUG, "call of %r: %.3f ms", call.called, 1e3 * (time.perf_counter() - begin))
        return result


LOGGED_CALLS = LoggedCalls()
"""That of this process."""
