"""Some of many alike in every run, and all of them in the slow one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def slow_but_one_in(step: int, values: Iterable[Any]) -> list[Any]:
    """Parameters of a test, a tuple being several: all but every `step`th are marked `slow`."""
    found: list[Any] = []
    for number, value in enumerate(values):
        several = value if isinstance(value, tuple) else (value,)
        found.append(pytest.param(*several, marks=[pytest.mark.slow] if number % step else []))
    return found
