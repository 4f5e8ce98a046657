"""A folder of small files by key (64 hexadecimal digits), which several processes and versions of tadc share.

It is where `environment.py` says, else $XDG_CACHE_HOME/tadc, else ~/.cache/tadc.

An entry appears whole or not at all, holds its own checksum, and may go at any time. What cannot be read
is no entry, and what cannot be written is left out: nothing here raises. Since entries hold machine code,
a folder or a file that another user owns or may write to is not used, and none is where the system does not
tell, as on Windows.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import stat
import time
from collections.abc import Callable, Generator

from tadc.backend.environment import OPTIONS, current
from tadc.lattice.late_dataclasses import dataclass

DEFAULT_LIMIT = OPTIONS["cache_size"].default

#: After an eviction this part of the limit is in use, so that not every entry evicts another.
_KEPT = 0.9
#: So many entries are added before the folder is looked through: others add to it too.
_LOOK_AFTER = 64
#: Files in the making are left over from a crash when they are older than this, in seconds.
_ABANDONED = 3600.0

_MAGIC = b"tadc cache 1\n"
_DIGEST = hashlib.sha256().digest_size
_SUFFIX, _TEMPORARY = ".tadc", ".part"
#: What a cache may remove: in a folder that is not its alone, nothing else is touched.
_FILE = re.compile(rf"[0-9a-f]{{64}}\{_SUFFIX}(\.\w+\{_TEMPORARY})?")


@dataclass(frozen=True)
class Contents:
    """What a cache holds: `entries` of `bytes` in all."""

    entries: int
    bytes: int


@dataclass(frozen=True)
class DiskCache:
    """A cache in `folder` of at most about `limit` bytes."""

    folder: str
    limit: int = DEFAULT_LIMIT

    def get(self, key: str) -> bytes | None:
        """What was put by this key; None where there is nothing usable."""
        try:
            with self._opened() as folder:
                handle = os.open(_name(key), os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
                with os.fdopen(handle, "rb") as file:
                    _require_own(os.fstat(handle), stat.S_ISREG)
                    content = file.read()
                payload = _unwrapped(content, key)
                if payload is not None:
                    # What was used last is evicted last.
                    os.utime(_name(key), dir_fd=folder)
                return payload
        except OSError:
            return None

    def put(self, key: str, payload: bytes) -> None:
        """Keep bytes by a key; nothing is kept where that is not possible."""
        content = _wrapped(payload, key)
        if len(content) > self.limit:
            return
        with contextlib.suppress(OSError):
            self._make_folder()
            with self._opened() as folder:
                _write(folder, _name(key), content)
                if _adds_up(self.folder, len(content), self.limit):
                    _note_total(self.folder, _evict(folder, self.limit))

    def payloads(self) -> Generator[bytes]:
        """All that can be read, in the order of when it was used last."""
        try:
            with self._opened() as folder:
                found = sorted(_files(folder), key=lambda file: file[1].st_mtime_ns)
        except OSError:
            return
        for name, _ in found:
            payload = self.get(name.removesuffix(_SUFFIX)) if name.endswith(_SUFFIX) else None
            if payload is not None:
                yield payload

    def contents(self) -> Contents:
        """How many entries there are, and their size."""
        try:
            with self._opened() as folder:
                sizes = [found.st_size for name, found in _files(folder) if name.endswith(_SUFFIX)]
        except OSError:
            sizes = []
        return Contents(len(sizes), sum(sizes))

    def clear(self) -> Contents:
        """Remove all entries; what was removed. Raises OSError where the system refuses it."""
        count = size = 0
        if os.path.exists(self.folder):
            with self._opened() as folder:
                for name, found in _files(folder):
                    os.unlink(name, dir_fd=folder)
                    if name.endswith(_SUFFIX):
                        count, size = count + 1, size + found.st_size
        return Contents(count, size)

    def problem(self) -> str:
        """Why the folder is not used; empty where it is, or can be made."""
        try:
            if os.path.exists(self.folder):
                with self._opened():
                    pass
        except OSError as error:
            return error.strerror or str(error)
        return ""

    def _make_folder(self) -> None:
        if not os.path.isdir(self.folder):
            os.makedirs(os.path.dirname(self.folder), exist_ok=True)
            os.mkdir(self.folder, 0o700)

    @contextlib.contextmanager
    def _opened(self) -> Generator[int]:
        """The folder, which is ours alone: files in it are named relative to it, so it stays the same."""
        folder = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            _require_own(os.fstat(folder), stat.S_ISDIR)
            yield folder
        finally:
            os.close(folder)


def configured() -> DiskCache | None:
    """The cache that is asked for here; None where it is off, or has no place."""
    if not current("cache") or not hasattr(os, "geteuid"):
        return None
    folder = configured_folder()
    return DiskCache(os.path.abspath(folder), current("cache_size")) if folder else None


def configured_folder() -> str:
    """Where the cache is; an empty word where it has no place."""
    if chosen := current("cache_dir"):
        return chosen
    base = os.environ.get("XDG_CACHE_HOME", "")
    # A relative path is to be ignored: XDG Base Directory Specification 0.8.
    base = base if os.path.isabs(base) else os.path.expanduser("~/.cache")
    return os.path.join(base, "tadc") if os.path.isabs(base) else ""


def _name(key: str) -> str:
    return key + _SUFFIX


def _wrapped(payload: bytes, key: str) -> bytes:
    body = key.encode() + payload
    return _MAGIC + hashlib.sha256(body).digest() + body


def _unwrapped(content: bytes, key: str) -> bytes | None:
    start = len(_MAGIC) + _DIGEST
    body = content[start:]
    whole = content.startswith(_MAGIC) and content[len(_MAGIC) : start] == hashlib.sha256(body).digest()
    return body.removeprefix(key.encode()) if whole and body.startswith(key.encode()) else None


def _require_own(found: os.stat_result, kind: Callable[[int], bool]) -> None:
    if not kind(found.st_mode):
        raise OSError(0, "it is of another kind")
    if found.st_uid != os.geteuid():
        raise PermissionError(0, "another user owns it")
    if found.st_mode & 0o022:
        raise PermissionError(0, "other users can write to it")


def _write(folder: int, name: str, content: bytes) -> None:
    """Write a file that appears whole or not at all."""
    part = f"{name}.{os.urandom(8).hex()}{_TEMPORARY}"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    handle = os.open(part, flags, 0o600, dir_fd=folder)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.replace(part, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(part, dir_fd=folder)
        raise


def _files(folder: int) -> Generator[tuple[str, os.stat_result]]:
    """The files of a cache; those that go meanwhile are left out."""
    for name in os.listdir(folder):
        if _FILE.fullmatch(name):
            with contextlib.suppress(FileNotFoundError):
                yield name, os.stat(name, dir_fd=folder, follow_symlinks=False)


def _evict(folder: int, limit: int) -> int:
    """Remove what was used least recently until the rest is below the limit; the bytes that are left."""
    found = sorted(_files(folder), key=lambda file: file[1].st_mtime_ns)
    total = sum(status.st_size for _, status in found)
    aim = _KEPT * limit if total > limit else total
    abandoned = time.time() - _ABANDONED
    for name, status in found:
        if total > aim or (name.endswith(_TEMPORARY) and status.st_mtime < abandoned):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(name, dir_fd=folder)
            total -= status.st_size
    return total


#: By folder: the bytes that it held at the last look and those added since, and the entries added since.
_seen: dict[str, tuple[int, int]] = {}


def _adds_up(folder: str, size: int, limit: int) -> bool:
    """Whether it is time to look through a folder, after `size` bytes were added."""
    if folder not in _seen:
        return True
    total, added = _seen[folder]
    _seen[folder] = (total + size, added + 1)
    return total + size > limit or added >= _LOOK_AFTER


def _note_total(folder: str, total: int) -> None:
    _seen[folder] = (total, 0)
