"""`tadc cache`: the kernels on disk."""

from __future__ import annotations

import os

from tadc.backend.disk_cache import DiskCache, configured
from tadc.backend.runtime.free_memory import format_bytes
from tadc.commands.files import Sink, file_error
from tadc.commands.options import Arguments


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
    return "\n".join(lines)


def _clear(cache: DiskCache | None) -> str:
    if cache is None:
        return _off()
    try:
        removed = cache.clear()
    except OSError as problem:
        raise file_error(f"cannot clear `{cache.folder}`: {problem.strerror}") from None
    return f"removed {removed.entries} entries, {format_bytes(removed.bytes)}"


def _off() -> str:
    if os.environ.get("TADC_CACHE") == "0":
        return "off: TADC_CACHE is 0"
    if not hasattr(os, "geteuid"):
        return "off: this system does not tell who owns a file"
    return "off: there is no folder for it; TADC_CACHE_DIR names one"
