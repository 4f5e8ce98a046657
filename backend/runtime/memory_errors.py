"""The error of a call that there is too little memory for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tadc.backend.runtime.free_memory import format_bytes
from tadc.backend.runtime.parameters import Parameter
from tadc.frontend.diagnostics import ArgumentError, Diagnostic, Label
from tadc.frontend.source import Place, Source

if TYPE_CHECKING:
    from tadc.backend.runtime.fitting import Fitted
    from tadc.backend.runtime.workspace import Temporary


def too_little(
    outputs: Sequence[Parameter],
    temporaries: Sequence[Temporary],
    needed: int,
    free: int,
    source: Source | None = None,
    tried: Fitted[Any] | None = None,
) -> ArgumentError:
    """The error (TAD0506) for tensors that take so many bytes together, and what was tried to need fewer."""
    results = sum(p.bytes for p in outputs)
    temporaries = tried.temporaries if tried is not None else temporaries
    made = Diagnostic(
        "TAD0506", f"the call needs {format_bytes(needed)} of memory, {format_bytes(free)} are available"
    )
    between = sorted(temporaries, key=lambda t: t.tensor.bytes, reverse=True)
    if between and source is not None and between[0].line:
        span = source.span_at(Place(source.name, between[0].line, between[0].column))
        reason = f": {tried.reason}" if tried is not None and tried.reason else ""
        about = f"`{between[0].tensor.name}`{_of(between[0])} is stored for this{reason}"
        made.source, made.primary = source, Label(span, about)
    tensors = [(f"`{p}`", p.bytes) for p in outputs]
    tensors += [(f"`{t.tensor}`{_of(t)}", t.tensor.bytes) for t in between]
    largest = sorted(tensors, key=lambda found: found[1], reverse=True)[:3]
    if tried is not None:
        least = format_bytes(tried.bytes)
        made.notes = [f"with all computed again that can be, it needs {least}, and stores these tensors:"]
        made.helps += tried.helps
    made.notes += [f"{name} takes {format_bytes(size)}" for name, size in largest]
    if results > free:
        made.helps.append(f"the results alone take {format_bytes(results)}: compute a part of each at a time")
    return ArgumentError([made])


def _of(tensor: Temporary) -> str:
    """Whose cotangent a tensor in between is."""
    return f", the cotangent of `{tensor.cotangent_of}`," if tensor.cotangent_of else ""
