"""LLVM IR text made complete: definitions of the scalar functions that it calls."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from tadc.backend.ir_text import declarations
from tadc.backend.scalar_functions import DEFINITIONS

_DECLARED = re.compile(r"^declare [^\n]*?@([\w.]+)\([^\n]*\n?", re.M)
_DEFINED = re.compile(r"^define [^\n]*?@([\w.]+)\(", re.M)
_CALLED = re.compile(r"call [^@\n]* @([\w.]+)\(")


def complete(text: str, definitions: Mapping[str, Callable[[], str]] = DEFINITIONS) -> str:
    """Replace the declarations of functions in `definitions` by these, and add what they call in turn."""
    defined = set(_DEFINED.findall(text))
    waiting = [name for name in _DECLARED.findall(text) if name in definitions and name not in defined]
    if not waiting:
        return text
    bodies: list[str] = []
    while waiting:
        name = waiting.pop()
        if name in defined or name not in definitions:
            continue
        bodies.append(definitions[name]())
        defined.add(name)
        waiting += _CALLED.findall(bodies[-1])
    text = _DECLARED.sub(lambda m: "" if m[1] in defined else m[0], text)
    declared = set(_DECLARED.findall(text))
    needed = sorted(
        line for line in declarations("".join(bodies)) if _DECLARED.findall(line)[0] not in declared
    )
    return "\n".join([text.rstrip("\n"), "", *bodies, *needed, ""])
