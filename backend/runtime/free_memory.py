"""Whether there is memory for arrays."""

from __future__ import annotations

import os
from functools import cache

from tadc.backend.runtime.reused_memory import KEPT

SMALL = 1 << 24
"""For so many bytes memory is not asked for."""


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
        with open("/proc/meminfo", encoding="utf-8") as file:
            for line in file:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
    except (OSError, ValueError):
        pass
    return None


def _control_group() -> int | None:
    """The limit of the container. What it uses now counts its caches too, so only the limit is certain."""
    try:
        with open("/sys/fs/cgroup/memory.max", encoding="utf-8") as file:
            return int(file.read())
    except (OSError, ValueError):
        return None


def free_for(needed: int) -> int | None:
    """The bytes that can be had, where these are fewer than are needed; None where there is room."""
    if needed <= SMALL or needed <= _unused_memory():
        return None
    free = available_memory()
    if free is not None and needed > free:
        KEPT.forget()
        free = available_memory()
    return None if free is None or needed <= free else free


def format_bytes(count: int) -> str:
    """`1.5 GiB`."""
    size, unit = float(count), "bytes"
    for larger in ("KiB", "MiB", "GiB", "TiB", "PiB"):
        if size < 1024:
            break
        size, unit = size / 1024, larger
    return f"{count} bytes" if unit == "bytes" else f"{size:.1f} {unit}"
