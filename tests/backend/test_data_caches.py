"""Caches of this machine are those that the system tells; those of a target are the same on all machines."""

from __future__ import annotations

from pathlib import Path

import pytest

from tadc.backend import fingerprint
from tadc.backend.cpu import processors
from tadc.backend.cpu.backend import Cpu
from tadc.backend.cpu.data_caches import Caches, host_caches

FACTS = ("level", "type", "size", "ways_of_associativity", "coherency_line_size")
TOLD = (
    ("1", "Data", "48K", "12", "64"),
    ("1", "Instruction", "32K", "8", "64"),
    ("2", "Unified", "1280K", "10", "64"),
)


def test_caches_are_read_from_the_system(tmp_path: Path) -> None:
    for number, facts in enumerate(TOLD):
        folder = tmp_path / f"index{number}"
        folder.mkdir()
        for name, fact in zip(FACTS, facts, strict=True):
            (folder / name).write_text(f"{fact}\n")
    assert host_caches(str(tmp_path)) == Caches(sets=64, ways=12, l2=1280 << 10)


def test_a_system_that_does_not_tell(tmp_path: Path) -> None:
    assert host_caches(str(tmp_path)) is None
    (tmp_path / "index0").mkdir()
    (tmp_path / "index0" / "type").write_text("Data\n")
    assert host_caches(str(tmp_path)) is None


def test_the_caches_of_the_host_are_those_of_its_kernels_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """A named target is the same on all machines; kernels on disk for the host are of its caches."""
    cpu = Cpu()

    def facts() -> tuple[object, object, str]:
        fingerprint.fingerprint.cache_clear()
        named, host = (cpu.machine(cpu.target(name)) for name in ("x86-64-v3", ""))
        return named, host, fingerprint.fingerprint()

    before = facts()
    for module in (processors, fingerprint):
        monkeypatch.setattr(module, "host_caches", lambda: Caches(32, 16, 3 << 20))
    after = facts()
    monkeypatch.undo()
    fingerprint.fingerprint.cache_clear()
    assert [one == other for one, other in zip(before, after, strict=True)] == [True, False, False]
