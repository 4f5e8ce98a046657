"""`TADC_LOG=info|debug`: what Python's `logging` hears of tadc, on stderr.

    info    kernels: compiled, or found on disk; for which sizes
    debug   each step of compiling with its time, too

Programs that set up `logging` themselves do without: the logger is named `tadc`.
"""

from __future__ import annotations

import logging
import os
import warnings

from tadc.backend.compile_steps import LOG

VARIABLE = "TADC_LOG"
_LEVELS = {"info": logging.INFO, "debug": logging.DEBUG}


def log_as_asked() -> None:
    """Write to stderr what the environment asks for. Warns (RuntimeWarning) of what is no level."""
    word = os.environ.get(VARIABLE, "").strip().lower()
    if word in _LEVELS:
        handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter("%(relativeCreated)8.0f ms  tadc: %(message)s"))
        LOG.addHandler(handler)
        LOG.setLevel(_LEVELS[word])
        LOG.propagate = False
    elif word:
        message = f"{VARIABLE}=`{word}` is no level and counts as none; write info or debug"
        warnings.warn(message, RuntimeWarning, stacklevel=3)
