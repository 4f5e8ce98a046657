"""Warnings about programs, at the line of Python that hands a program over."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path

from tadc.frontend.diagnostics import CompileWarning, Diagnostic

_PACKAGE = str(Path(__file__).parent.parent) + os.sep


def warn_of(doubts: Sequence[Diagnostic]) -> None:
    """Warn (CompileWarning) of what is unlikely to be meant, at the nearest caller outside of the package."""
    if not doubts:
        return
    frame, level = sys._getframe(1), 2  # pyright: ignore[reportPrivateUsage]
    while frame.f_back and frame.f_code.co_filename.startswith(_PACKAGE):
        frame, level = frame.f_back, level + 1
    for doubt in doubts:
        warnings.warn(CompileWarning(doubt), stacklevel=level)
