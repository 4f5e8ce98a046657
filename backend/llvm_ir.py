"""LLVM IR text made complete: definitions of the scalar functions that it calls."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial

from tadc.backend.cpu.processors import Processor, host
from tadc.backend.functions import scalar_functions
from tadc.backend.functions.scalar_functions import scalar_function
from tadc.backend.ir_text import declarations

#: What finds the text of a function by its name, or None.
Find = Callable[[str], str | None]

_DECLARED = re.compile(r"^declare [^\n]*?@([\w.]+)\([^\n]*\n?", re.M)
_DEFINED = re.compile(r"^define [^\n]*?@([\w.]+)\(", re.M)
_CALLED = re.compile(r"call [^@\n]* @([\w.]+)\(")


def functions_for(processor: Processor) -> Find:
    """The scalar functions as a processor computes them best."""
    has_fma = processor.has_fma or processor.has_libm
    has_half = processor.has_half
    return partial(scalar_function, has_ldexp=processor.has_ldexp, has_fma=has_fma, has_half=has_half)


def complete(text: str, find: Find | None = None) -> str:
    """Replace the declarations of functions that `find` has by definitions; add what these call in turn.

    Without `find` these are the scalar functions, for the host.
    """
    find = find or functions_for(host())
    defined = set(_DEFINED.findall(text))
    waiting: list[str] = _DECLARED.findall(text)
    bodies: list[str] = []
    while waiting:
        name = waiting.pop()
        body = None if name in defined else find(name)
        if body is not None:
            bodies.append(body)
            defined.add(name)
            waiting += _CALLED.findall(body)
    if not bodies:
        return text
    text = _DECLARED.sub(lambda m: "" if m[1] in defined else m[0], text)
    declared = set(_DECLARED.findall(text))
    needed = sorted(
        line for line in declarations("".join(bodies)) if not declared & set(_DECLARED.findall(line))
    )
    return "\n".join([text.rstrip("\n"), "", *bodies, *needed, ""])


_SUM_OF_INDICES = re.compile(r"( = (?:add|sub)) (i64 )")


def exact_indices(text: str) -> str:
    """The text of kernels with their sums of indices marked as exact.

    An index is the place of an element, or the end of a loop: none comes near 2**63. Upstream's lowerings
    mark products of indices, but not sums, without which LLVM takes up to half longer, and leaves more
    code. Texts must have no scalar functions yet, some of which compute with the bits of numbers.
    """
    return _SUM_OF_INDICES.sub(r"\1 nsw \2", text)


def fused_if_fast(text: str, processor: Processor) -> str:
    """The text for a processor: without an instruction for it a fused product and sum is a slow call."""
    return text if processor.has_fma else text.replace("@llvm.fma.", "@llvm.fmuladd.")


def not_inlined(text: str) -> str:
    """The complete text with functions that branch left as calls."""
    functions = "|".join(scalar_functions.BRANCHING)
    head = rf"^(define [^\n]*@tadc_(?:{functions})_(?:v\d+)?f\d+\([^\n]*) alwaysinline"
    return re.sub(head, r"\1 noinline", text, flags=re.M)
