"""`tadc cache`: the kernels on disk."""

from __future__ import annotations

import os

from tadc.backend.disk_cache import DiskCache, configured, parse_size
from tadc.backend.runtime.memory import format_bytes
from tadc.commands.files import Sink, file_error
from tadc.commands.option_parser import UsageError
from tadc.frontend.suggest import did_you_mean

HELP = """\
tadc cache: compiled kernels on disk, which later runs take up

  tadc cache                              where they are, and how much
  tadc cache clear                        remove them

TADC_CACHE=0 turns the cache off, TADC_CACHE_DIR says where it is (else $XDG_CACHE_HOME/tadc, else
~/.cache/tadc), and TADC_CACHE_SIZE how much it may hold, as in 256M or 2G; what was used least recently
goes first. A folder that another user owns or can write to is not used.
"""

_ACTIONS = ("show", "clear")


def cache_command(words: list[str]) -> int:
    """Do what follows `tadc cache`; the exit code. Raises UsageError, CompileError."""
    if "-h" in words or "--help" in words:
        Sink("-").write(HELP)
        return 0
    if len(words) > 1 or (words and words[0] not in _ACTIONS):
        wrong = words[1] if words[0] in _ACTIONS else words[0]
        helps = did_you_mean(wrong, _ACTIONS)
        raise UsageError(f"`tadc cache` cannot `{wrong}`", *helps, "`tadc cache -h` explains it")
    cache = configured()
    Sink("-").write(_clear(cache) if words == ["clear"] else _show(cache))
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
    given = os.environ.get("TADC_CACHE_SIZE")
    if given and parse_size(given) is None:
        lines[-1] += f"  (TADC_CACHE_SIZE=`{given}` is no size; write it as in 256M)"
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
    return "off: there is no folder for it; TADC_CACHE_DIR names one"
