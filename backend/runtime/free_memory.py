"""Whether there is memory for the arrays of a call."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from tadc.backend.runtime.host_arrays import Parameter
from tadc.backend.runtime.reused_memory import KEPT
from tadc.frontend.diagnostics import ArgumentError, Diagnostic, Label
from tadc.frontend.source import Place, Source

if TYPE_CHECKING:
    from tadc.backend.runtime.fitting import Fitted
    from tadc.backend.runtime.workspace import Temporary


def available_memory() -> int | None:
    """Bytes that can be had without swapping, as the system estimates; None where it does not say."""
    limits = [n for n in (_linux(), _control_group()) if n is not None]
    return min(limits) if limits else _free_pages()


def _unused_memory() -> int:
    """Bytes that nothing uses, which is soon asked: after a kernel has used the caches, the list of all that
    Linux keeps about its memory takes 100 microseconds."""
    limit = _first_limit()
    free = _free_pages() or 0
    return free if limit is None else min(free, limit)


def _free_pages() -> int | None:
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None


@cache
def _first_limit() -> int | None:
    return _control_group()


def _linux() -> int | None:
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            for line in file:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
    except (OSError, ValueError):
        pass
    return None


def _control_group() -> int | None:
    """The limit of the container. What it uses now counts its caches too, so only the limit is certain."""
    try:
        with open("/sys/fs/cgroup/memory.max", encoding="ascii") as file:
            return int(file.read())
    except (OSError, ValueError):
        return None


def free_for(needed: int) -> int | None:
    """The bytes that can be had, where these are fewer than are needed; None where there is room."""
    if needed <= _unused_memory():
        return None
    free = available_memory()
    if free is not None and needed > free:
        KEPT.forget()
        free = available_memory()
    return None if free is None or needed <= free else free


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


def format_bytes(count: int) -> str:
    """`1.5 GiB`."""
    size, unit = float(count), "bytes"
    for larger in ("KiB", "MiB", "GiB", "TiB", "PiB"):
        if size < 1024:
            break
        size, unit = size / 1024, larger
    return f"{count} bytes" if unit == "bytes" else f"{size:.1f} {unit}"
