"""`python -m bench blocks --large GB`: a 3-D stencil and its gradient on files larger than memory, by Dask.

A third of so much data is a field at the start, a third its next step, a third the gradient, in stacks of
NumPy's files, read and written by Dask's threads in a process that may have 2 GB of memory, where the machine
has control groups with the system's cache of files. By turns an eighth of the blocks is computed, and these
files are copied by as many threads, for a disk that others use too is now fast and now slow; each begins with
no file in memory, and ends with all on the disk. Kernels are compiled before.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
import time
from collections.abc import Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import dask.array
import dask.config
import numpy as np
from dask.diagnostics.progress import ProgressBar
from rich.console import Console
from rich.table import Table

import tadc

#: Dask's own types are of no use here.
da: Any = dask.array

MEMORY = 2 << 30
THREADS, TURNS = 2, 8
#: Planes of a chunk, and the sides of each: 64 MB.
PLANES, SIDE = 16, 1024

#: A step of a field between two phases, whose gradient reads both it and the cotangent.
STENCIL = """
u: f32[N, M, K]
v[i, j, k] = if {i >= 1 and i <= N - 2 and j >= 1 and j <= M - 2 and k >= 1 and k <= K - 2} then (
    u[i, j, k] - 0.1*u[i, j, k]**3 + 0.1*(u[i - 1, j, k] + u[i + 1, j, k] + u[i, j - 1, k] + u[i, j + 1, k]
    + u[i, j, k - 1] + u[i, j, k + 1] - 5*u[i, j, k])) else (u[i, j, k])
"""

#: Where a control group for memory may be made, by the name of its limit.
GROUPS = {
    "memory.limit_in_bytes": Path("/sys/fs/cgroup/memory"),
    "memory.max": Path("/sys/fs/cgroup"),
}


@dataclass
class Peak:
    """The most memory that this process had of its own while it ran, and of files that are mapped; bytes."""

    own: int = 0
    mapped: int = 0
    _stop: threading.Event = field(default_factory=threading.Event)

    @contextmanager
    def watched(self) -> Generator[None]:
        """Look every 20 ms."""
        thread = threading.Thread(target=self._watch)
        thread.start()
        try:
            yield
        finally:
            self._stop.set()
            thread.join()

    def _watch(self) -> None:
        while not self._stop.wait(0.02):
            status = Path("/proc/self/status").read_text(encoding="utf-8")
            found = dict(line.split(":\t") for line in status.splitlines() if line.startswith("Rss"))
            kib = {name: int(text.split()[0]) for name, text in found.items()}
            self.own = max(self.own, kib["RssAnon"] << 10)
            self.mapped = max(self.mapped, kib["RssFile"] << 10)


@contextmanager
def limited() -> Generator[str]:
    """This process in a control group of so much memory; what limits it."""
    for limit, root in GROUPS.items():
        group = root / f"tadc-bench-{os.getpid()}"
        try:
            group.mkdir()
            (group / limit).write_text(str(MEMORY))
            (group / "cgroup.procs").write_text(str(os.getpid()))
        except OSError:
            continue
        try:
            yield "a control group, files in memory among it"
        finally:
            (root / "cgroup.procs").write_text(str(os.getpid()))
            group.rmdir()
        return
    yield "nothing"


def main(gigabytes: float) -> None:
    """Make the files, run both, print, and remove the files."""
    chunks = max(2, round(gigabytes * 2**30 / 3 / (PLANES * SIDE * SIDE * 4)))
    folder = Path(tempfile.mkdtemp(prefix="tadc-large-"))
    table = Table("", "data", "time", "speed", "copies of files", "ratio", "own memory", "mapped files")
    try:
        with limited() as limit, dask.config.set(scheduler="threads", num_workers=THREADS):
            _measure(folder, chunks, table)
    finally:
        shutil.rmtree(folder)
    console = Console(width=120)
    console.print(table)
    console.print(f"memory is limited to {MEMORY >> 30} GB by {limit}; load {os.getloadavg()[0]:.1f}")


def _measure(folder: Path, chunks: int, table: Table) -> None:
    f = tadc.function(STENCIL)
    lengths = (PLANES,) * chunks, (SIDE,), (SIDE,)
    start = da.random.default_rng(0).uniform(-1, 1, tuple(map(sum, lengths)), chunks=lengths)
    da.to_npy_stack(folder / "u", start.astype(np.float32))

    def stack(name: str) -> Any:
        return da.map_blocks(
            _loaded, folder / name, chunks=lengths, dtype=np.float32, meta=np.empty((0, 0, 0), np.float32)
        )

    _run(folder, "value", chunks, ["u"], "v", f.dask(stack("u")), table)
    _run(folder, "gradient", chunks, ["u", "v"], "du", tadc.vjp(f).dask(stack("u"), stack("v")), table)


def _loaded(folder: Path, block_id: tuple[int, ...]) -> Any:
    return np.load(folder / f"{block_id[0]}.npy")


def _run(
    folder: Path,
    name: str,
    chunks: int,
    read: Sequence[str],
    written: str,
    result: Any,
    table: Table,
) -> None:
    """Compute to a stack of files, and copy as many files, by turns."""
    (folder / written).mkdir()
    da.compute(result.blocks[0], result.blocks[chunks // 2], result.blocks[-1])
    peak, seconds, copies = Peak(), 0.0, 0.0
    with peak.watched():
        for turn in np.array_split(np.arange(chunks), min(TURNS, chunks)):
            part = folder / f"{written}-part"
            _forget(folder)
            began = time.perf_counter()
            with ProgressBar(dt=0.05):  # it sleeps as long once more where it ends
                da.to_npy_stack(part, result.blocks[turn[0] : turn[-1] + 1])
            _sync(part)
            seconds += time.perf_counter() - began
            for n, number in enumerate(turn):
                (part / f"{n}.npy").rename(folder / written / f"{number}.npy")
            copies += _copied(folder, read, [f"{number}.npy" for number in turn])
    size = sum(_size(folder / each) for each in (*read, written))
    table.add_row(
        name,
        f"{size / 1e9:.1f} GB",
        f"{seconds:.0f} s",
        f"{size / seconds / 1e9:.2f} GB/s",
        f"{size / copies / 1e9:.2f} GB/s",
        f"{copies / seconds:.0%}",
        f"{peak.own / 1e9:.2f} GB",
        f"{peak.mapped / 1e9:.2f} GB",
    )


def _copied(folder: Path, read: Sequence[str], files: Sequence[str]) -> float:
    """Seconds to read files of these stacks, and to write as many as one of them has."""
    target = folder / "copy"
    target.mkdir()

    def copy(file: str) -> None:
        arrays = [np.load(folder / each / file) for each in read]
        np.save(target / file, arrays[0])

    _forget(folder)
    began = time.perf_counter()
    with ThreadPoolExecutor(THREADS) as threads:
        list(threads.map(copy, files))
    _sync(target)
    seconds = time.perf_counter() - began
    shutil.rmtree(target)
    return seconds


def _sync(folder: Path) -> None:
    """Have the files of a folder on the disk."""
    for path in folder.rglob("*.npy"):
        with path.open("rb") as file:
            os.fsync(file.fileno())


def _forget(folder: Path) -> None:
    """Have no file of a folder in memory."""
    _sync(folder)
    for path in folder.rglob("*.npy"):
        with path.open("rb") as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.glob("*.npy"))
