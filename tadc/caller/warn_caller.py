"""The line of Python that calls tadc, and warnings about programs there."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from types import FrameType

from tadc.frontend.diagnostics import CompileWarning, Diagnostic


def nearest_caller() -> tuple[FrameType, int]:
    """The nearest frame outside of the package, and its level from 1, that of the function which asks.

    It is none of JAX either, which calls the package while it compiles.
    """
    frame, level = sys._getframe(1), 1  # pyright: ignore[reportPrivateUsage]
    while frame.f_back and f"{frame.f_globals.get('__name__')}.".startswith(("tadc.", "jax.")):
        frame, level = frame.f_back, level + 1
    return frame, level


def warn_of(doubts: Sequence[Diagnostic], kind: type[CompileWarning] = CompileWarning) -> None:
    """Warn of what is unlikely to be meant, at the nearest caller outside of the package."""
    if not doubts:
        return
    _, level = nearest_caller()
    for doubt in doubts:
        warnings.warn(kind(doubt), stacklevel=level)
