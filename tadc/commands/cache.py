"""`tadc cache`: the kernels on disk, and the schedules that were tuned."""

from __future__ import annotations

import os

from tadc.api.tuned import all_tuned, tuned_cache
from tadc.backend.disk_cache import DiskCache, configured
from tadc.backend.environment import current
from tadc.backend.runtime.free_memory import format_bytes
from tadc.commands.files import Sink, file_error
from tadc.commands.options import Arguments
from tadc.frontend.wording import counted


def execute(arguments: Arguments) -> int:
    """Show where the kernels are and how much they are, or remove them. Raises CompileError."""
    cache = configured()
    Sink("-").write(_clear(cache) if arguments.action == "clear" else _show(cache))
    return 0


def _show(cache: DiskCache | None) -> str:
    if cache is None:
        return _off()
    held = cache.contents()
    problem = cache.problem()
    lines = [
        f"folder   {cache.folder}" + (f"  (not used: {problem})" if problem else ""),
        f"entries  {held.entries}",
        f"size     {format_bytes(held.bytes)}",
        f"limit    {format_bytes(cache.limit)}",
    ]
    found = [f"tuned    {each.outputs}: {each.about()}" for each in all_tuned()]
    return "\n".join([*lines, *found])


def _clear(cache: DiskCache | None) -> str:
    if cache is None:
        return _off()
    try:
        tuned = tuned_cache()
        schedules = tuned.clear().entries if tuned is not None else 0
        removed = cache.clear()
    except OSError as problem:
        raise file_error(f"cannot clear `{cache.folder}`: {problem.strerror}") from None
    also = f"; {counted(schedules, 'tuned schedule')}" * bool(schedules)
    return f"removed {removed.entries} entries, {format_bytes(removed.bytes)}{also}"


def _off() -> str:
    if not current("cache"):
        return "off: TADC_CACHE is 0"
    if not hasattr(os, "geteuid"):
        return "off: this system does not tell who owns a file"
    return "off: there is no folder for it; TADC_CACHE_DIR names one"
