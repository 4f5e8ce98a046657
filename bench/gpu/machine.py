"""The GPU that numbers belong to, and its bundles."""

from __future__ import annotations

import datetime
import platform
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.gpu.cases import is_among
from tadc.backend.cuda.device import Device, cuda_device
from tadc.frontend.diagnostics import CompileError, Diagnostic


def device_of(target: str) -> tuple[Device, dict[str, Any]]:
    """The device, and its description. Raises CompileError where there is none."""
    if target == "emulated":
        from tadc.backend.emulator.emulated_device import emulated_device

        device = emulated_device()
    else:
        device = cuda_device(0)
    driver = device.driver
    with device.current():
        _, total = driver.memory()
    major, minor = driver.version()
    return device, {
        "device": driver.device_name(device.number),
        "architecture": device.architecture,
        "memory": total,
        "driver": f"{major}.{minor}",
        "python": platform.python_version(),
        "date": datetime.date.today().isoformat(),
    }


def names_in(folder: Path, file: str, only: Sequence[str] | None) -> list[Path]:
    """The bundles with such a file. Raises CompileError where there is none."""
    found = sorted(path.parent for path in folder.glob(f"*/{file}"))
    found = [path for path in found if is_among(path.name, only)]
    if not found:
        helps = [f"write them where the compiler is: python -m bench.gpu write {folder.parent}"]
        raise CompileError([Diagnostic("TAD0710", f"there are no bundles in `{folder}`", helps=helps)])
    return found
