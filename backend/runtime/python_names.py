"""Names of a program as Python can write them."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Iterable
from keyword import iskeyword
from typing import Any

from tadc.frontend.naming import first_free


def python_names(names: Iterable[str]) -> list[str]:
    """The names; that of a keyword has a `_` behind it, as PEP 8 wants: `lambda_`."""
    given = list(names)
    return [first_free(f"{name}_", given) if iskeyword(name) else name for name in given]


def result_type(names: Iterable[str]) -> Any:
    """The named tuple of several results."""
    return namedtuple("Result", python_names(names))  # pyright: ignore[reportUntypedNamedTuple]
