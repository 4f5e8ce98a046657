"""The cache on disk: what it keeps, what it refuses, and what it survives."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import warnings
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pytest

from tadc.backend import disk_cache
from tadc.backend.disk_cache import (
    DEFAULT_LIMIT,
    Contents,
    DiskCache,
    configured,
)
from tadc.backend.environment import current, parse_size


def key(word: object) -> str:
    return sha256(str(word).encode()).hexdigest()


@pytest.fixture
def cache(tmp_path: Path) -> DiskCache:
    return DiskCache(str(tmp_path / "cache"))


def file_of(cache: DiskCache, word: object) -> Path:
    (found,) = Path(cache.folder).glob(f"{key(word)}*")
    return found


def test_gives_back_what_was_put(cache: DiskCache) -> None:
    assert cache.get(key("a")) is None
    cache.put(key("a"), b"one\n\0two")
    cache.put(key("b"), b"")
    assert (cache.get(key("a")), cache.get(key("b")), cache.get(key("c"))) == (b"one\n\0two", b"", None)
    cache.put(key("a"), b"another")
    assert cache.get(key("a")) == b"another"
    assert cache.contents().entries == 2


def test_the_folder_is_of_the_user_alone(cache: DiskCache) -> None:
    cache.put(key("a"), b"x")
    assert stat.S_IMODE(os.stat(cache.folder).st_mode) == 0o700
    assert stat.S_IMODE(file_of(cache, "a").stat().st_mode) == 0o600


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: b"",
        lambda content: content[:20],
        lambda content: content[:-1],
        lambda content: content + b"x",
        lambda content: b"tadc cache 0\n" + content[13:],
        lambda content: content[:-1] + bytes([content[-1] ^ 4]),
        lambda content: content[:15] + bytes([content[15] ^ 4]) + content[16:],
    ],
    ids=["empty", "head alone", "cut", "longer", "other version", "bit of the payload", "bit of the sum"],
)
def test_a_damaged_entry_is_none_and_is_replaced(cache: DiskCache, damage: Callable[[bytes], bytes]) -> None:
    cache.put(key("a"), b"payload")
    file = file_of(cache, "a")
    file.write_bytes(damage(file.read_bytes()))
    assert cache.get(key("a")) is None
    cache.put(key("a"), b"payload")
    assert cache.get(key("a")) == b"payload"


def test_an_entry_under_another_name_is_none(cache: DiskCache) -> None:
    cache.put(key("a"), b"payload")
    file_of(cache, "a").rename(Path(cache.folder) / file_of(cache, "a").name.replace(key("a"), key("b")))
    assert cache.get(key("b")) is None


def test_what_was_used_least_recently_goes_first(tmp_path: Path) -> None:
    cache = DiskCache(str(tmp_path / "cache"), limit=10_000)
    for n in range(8):
        cache.put(key(n), bytes(1000))
        os.utime(file_of(cache, n), ns=(0, n))
    assert cache.get(key(0)) is not None
    for n in range(8, 12):
        cache.put(key(n), bytes(1000))
    kept = [n for n in range(12) if cache.get(key(n)) is not None]
    assert 0 in kept
    assert kept[-4:] == [8, 9, 10, 11]
    assert 1 not in kept
    assert cache.contents().bytes <= 10_000


def test_entries_of_others_count_towards_the_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = DiskCache(str(tmp_path / "cache"), limit=10_000)
    cache.put(key("mine"), bytes(10))
    other = DiskCache(cache.folder, limit=1 << 30)
    for n in range(20):
        other.put(key(n), bytes(1000))
    # As in a process that has seen nothing of the folder yet.
    monkeypatch.setattr(disk_cache, "_seen", {})
    cache.put(key("last"), bytes(10))
    assert cache.contents().bytes <= 10_000
    assert cache.get(key("last")) is not None


def test_what_is_larger_than_the_limit_is_not_kept(tmp_path: Path) -> None:
    cache = DiskCache(str(tmp_path / "cache"), limit=500)
    cache.put(key("a"), bytes(1000))
    assert cache.contents() == Contents(0, 0)


def test_what_a_crash_left_over_goes(cache: DiskCache) -> None:
    cache.put(key("a"), b"x")
    left = Path(cache.folder) / f"{key('b')}.tadc.0123456789abcdef.part"
    left.write_bytes(b"half")
    os.utime(left, (0, 0))
    recent = left.with_name(left.name.replace("0123", "4567"))
    recent.write_bytes(b"half")
    for n in range(200):
        cache.put(key(n), b"x")
    assert not left.exists()
    assert recent.exists()


def test_clear_removes_entries_and_nothing_else(cache: DiskCache) -> None:
    for n in range(3):
        cache.put(key(n), b"x")
    size = cache.contents().bytes
    (Path(cache.folder) / "thesis.part").write_text("mine")
    (Path(cache.folder) / "notes.tadc").write_text("mine")
    assert cache.clear() == Contents(3, size)
    assert sorted(os.listdir(cache.folder)) == ["notes.tadc", "thesis.part"]
    assert cache.clear() == Contents(0, 0)


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o722])
def test_a_folder_that_others_can_write_to_is_not_used(cache: DiskCache, mode: int) -> None:
    cache.put(key("a"), b"x")
    os.chmod(cache.folder, mode)
    assert cache.get(key("a")) is None
    cache.put(key("b"), b"x")
    assert len(os.listdir(cache.folder)) == 1
    assert "other users can write" in cache.problem()
    with pytest.raises(OSError, match="other users"):
        cache.clear()


def test_a_file_that_others_can_write_to_is_not_used(cache: DiskCache) -> None:
    cache.put(key("a"), b"x")
    file_of(cache, "a").chmod(0o602)
    assert cache.get(key("a")) is None


def test_what_another_user_owns_is_not_used(cache: DiskCache, monkeypatch: pytest.MonkeyPatch) -> None:
    cache.put(key("a"), b"x")
    mine = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: mine + 1)
    assert cache.get(key("a")) is None
    cache.put(key("b"), b"x")
    assert "another user" in cache.problem()
    monkeypatch.undo()
    assert cache.contents().entries == 1


def test_an_entry_that_is_a_link_is_not_followed(cache: DiskCache, tmp_path: Path) -> None:
    cache.put(key("a"), b"x")
    entry = file_of(cache, "a")
    entry.rename(tmp_path / "elsewhere")
    entry.symlink_to(tmp_path / "elsewhere")
    assert cache.get(key("a")) is None


def test_where_nothing_can_be_written_nothing_is_kept(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    for folder in (tmp_path / "file", tmp_path / "file" / "below", Path("/proc/no such folder")):
        cache = DiskCache(str(folder))
        cache.put(key("a"), b"x")
        assert cache.get(key("a")) is None
        assert cache.contents().entries == 0
    assert (tmp_path / "file").read_text() == "no folder"


def test_a_full_disk_leaves_nothing_behind(cache: DiskCache, monkeypatch: pytest.MonkeyPatch) -> None:
    cache.put(key("a"), b"x")

    def full(*args: object, **kwargs: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    cache.put(key("b"), b"y")
    assert len(os.listdir(cache.folder)) == 1
    assert cache.get(key("a")) == b"x"


WRITER = """
import sys
import warnings
from hashlib import sha256
from tadc.backend.disk_cache import DiskCache
cache = DiskCache(sys.argv[1], limit=200_000)
wrong = 0
for n in range(400):
    key = sha256(str(n % 60).encode()).hexdigest()
    content = f"{n % 60}:".encode() * 1000
    found = cache.get(key)
    wrong += found is not None and found != content
    cache.put(key, content)
print(wrong)
"""


def test_processes_write_at_the_same_time(cache: DiskCache) -> None:
    """With a limit that makes each of them remove what others read."""
    processes = [
        subprocess.Popen([sys.executable, "-c", WRITER, cache.folder], stdout=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    assert [p.communicate()[0] for p in processes] == ["0\n"] * 3
    assert cache.contents().entries > 20
    assert not [name for name in os.listdir(cache.folder) if name.endswith(".part")]


def test_where_the_environment_puts_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TADC_CACHE", "TADC_CACHE_DIR", "TADC_CACHE_SIZE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", "/home/someone")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert configured() == DiskCache("/home/someone/.cache/tadc", DEFAULT_LIMIT)
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert configured() == DiskCache("/home/someone/.cache/tadc", DEFAULT_LIMIT)
    monkeypatch.setenv("XDG_CACHE_HOME", "/var/cache/someone")
    assert configured() == DiskCache("/var/cache/someone/tadc", DEFAULT_LIMIT)
    monkeypatch.setenv("TADC_CACHE_DIR", "/scratch/kernels")
    monkeypatch.setenv("TADC_CACHE_SIZE", "2G")
    assert configured() == DiskCache("/scratch/kernels", 2 << 30)
    monkeypatch.setenv("TADC_CACHE", "0")
    assert configured() is None


def test_what_is_no_size_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    for text in ("zz", "-1", "1.5G"):
        monkeypatch.setenv("TADC_CACHE_SIZE", text)
        with pytest.warns(RuntimeWarning, match=f"TADC_CACHE_SIZE=`{text}` is no size and counts as 256M"):
            assert current("cache_size") == DEFAULT_LIMIT
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for text, size in ("", DEFAULT_LIMIT), (" ", DEFAULT_LIMIT), ("64M", 64 << 20), ("0", 0):
            monkeypatch.setenv("TADC_CACHE_SIZE", text)
            assert current("cache_size") == size


@pytest.mark.parametrize("variable", ["TADC_CACHE_SIZE", "TADC_KEEP_MEMORY"])
def test_a_process_warns_of_what_is_no_size(variable: str, tmp_path: Path) -> None:
    program = "import numpy, tadc; tadc.function('x: f64[N]; y[i] = 2*x[i]')(numpy.ones(1 << 16))"
    environment = {**os.environ, variable: "zz", "TADC_CACHE": "1", "TADC_CACHE_DIR": str(tmp_path / "cache")}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
    assert done.returncode == 0
    assert done.stderr.count(f"RuntimeWarning: {variable}=`zz` is no size and counts as 256M") == 1


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("0", 0),
        ("1000", 1000),
        ("64K", 64 << 10),
        ("256m", 256 << 20),
        ("2GiB", 2 << 30),
        ("2 GB", 2 << 30),
        ("", None),
        ("-1", None),
        ("1.5G", None),
        ("G", None),
        ("9" * 99, None),
    ],
)
def test_sizes(text: str, size: int | None) -> None:
    assert parse_size(text) == size
