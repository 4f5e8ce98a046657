"""The machine and the versions that numbers belong to."""

from __future__ import annotations

import datetime
import os
import platform
import subprocess
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import tadc

PACKAGES = ("llvmlite", "torch-mlir", "numpy", "jax", "torch", "numba", "pykeops")


def describe() -> dict[str, Any]:
    """Processor, cores, memory, system, versions, date, and how busy the machine is."""
    return {
        "cpu": _cpu(),
        "cores": os.cpu_count(),
        "memory": _memory(),
        "system": platform.platform(),
        "python": platform.python_version(),
        "versions": {"tadc": tadc.__version__, **_versions()},
        "commit": _commit(),
        "date": datetime.date.today().isoformat(),
        "load": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
    }


def headline(machine: dict[str, Any]) -> str:
    """The machine in a line."""
    versions = ", ".join(f"{name} {found}" for name, found in machine["versions"].items())
    return f"{made_on(machine)}; Python {machine['python']}, {versions}"


def made_on(machine: dict[str, Any]) -> str:
    """Where and when the numbers of a run were measured."""
    return f"{machine['cpu']}, {machine['cores']} cores, {machine['date']}"


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    found = {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in lines)}
    name = found.get("model name", platform.machine())
    vector = [flag for flag in ("avx512f", "avx2") if flag in found.get("flags", "").split()]
    return f"{name}{', AVX-512' if 'avx512f' in vector else ', AVX2' if vector else ''}"


def _memory() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None


def _versions() -> dict[str, str]:
    found: dict[str, str] = {}
    for name in PACKAGES:
        with suppress(PackageNotFoundError):
            found[name] = version(name)
    return found


def _commit() -> str | None:
    try:
        command = ["git", "rev-parse", "--short", "HEAD"]
        found = subprocess.run(command, cwd=Path(__file__).parent, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return found.stdout.strip()
