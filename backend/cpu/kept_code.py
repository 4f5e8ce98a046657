"""Code of our own that stands beside kernels: compiled once, then kept on disk."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from hashlib import sha256
from weakref import WeakValueDictionary

from tadc.backend.cpu.linking import Library, link
from tadc.backend.disk_cache import configured
from tadc.backend.fingerprint import fingerprint
from tadc.frontend.forks import new_rlock

_LOCK = new_rlock()
_LINKED: WeakValueDictionary[object, Library] = WeakValueDictionary()


def own_code(name: str) -> str:
    """The text of a file beside this one."""
    # With `open`: `pathlib` takes longer to import than a kernel from disk to load.
    with open(os.path.join(os.path.dirname(__file__), name), encoding="utf-8") as file:
        return file.read()


def linked(
    text: str, symbols: Sequence[str], externals: Mapping[str, int] | None = None, level: int = 0
) -> Library:
    """LLVM IR in this process, as `link`. Where nothing is worth optimising, level 0 takes milliseconds.

    Threads that ask for the same at once have one library: of two, one would be dropped while the other
    thread has addresses in it.
    """
    key = text, tuple(symbols), frozenset((externals or {}).items()), level
    with _LOCK:
        found = _LINKED.get(key)
        if found is None:
            found = _LINKED[key] = link(_object_code(text, level), symbols, externals)
        return found


def _object_code(text: str, level: int) -> bytes:
    """Its code, from disk where it is there: a kernel from there is not to wait for the compiler."""
    cache = configured()
    key = sha256(f"kept code {level} {fingerprint()} {text}".encode()).hexdigest()
    code = cache.get(key) if cache else None
    if code is None:
        from tadc.backend.object_code import object_code

        code = object_code(text, level)
        if cache:
            cache.put(key, code)
    return code
