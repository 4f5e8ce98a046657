"""Shared libraries, which need a linker: that of a C compiler, or the one that PyPI's `ziglang` has."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from tadc.backend.backend_errors import backend_error
from tadc.backend.cpu.processors import host, processor_of
from tadc.frontend.packages import install_command
from tadc.native.unit import NativeUnit


def shared_library(unit: NativeUnit) -> bytes:
    """The bytes of a shared library that exports the functions of a unit.

    Raises CompileError: TAD0711 where there is no linker, or where it fails.
    """
    command = _linker(unit.options.target.architecture)
    with tempfile.TemporaryDirectory(prefix="tadc-") as name:
        folder = Path(name)
        (folder / "unit.o").write_bytes(unit.object())
        # Threads of the library run its code until the process ends.
        stays = ["-Wl,-z,nodelete"] if unit.threads == "pool" else []
        given = ["-shared", "-Wl,-z,noexecstack", *stays, "-o", "unit.so", "unit.o", "-lm"]
        ran = subprocess.run(
            [*command, *given], cwd=folder, capture_output=True, text=True, errors="replace", check=False
        )
        if ran.returncode or not (folder / "unit.so").exists():
            said = ran.stderr.strip().splitlines()[-3:]
            raise backend_error("TAD0711", f"`{' '.join(command)}` makes no shared library", said)
        return (folder / "unit.so").read_bytes()


def _linker(architecture: str) -> Sequence[str]:
    """What links for a processor: `cc`, or of another kind of processor one of its name; else zig."""
    machine = processor_of(architecture).machine
    is_own = machine == host().machine
    cc = shutil.which("cc") if is_own else shutil.which(f"{machine}-linux-gnu-gcc")
    if cc is not None:
        return [cc]
    if find_spec("ziglang") is not None:
        return [sys.executable, "-m", "ziglang", "cc", "-target", f"{machine}-linux-gnu"]
    wanted = "cc" if is_own else f"{machine}-linux-gnu-gcc"
    raise backend_error(
        "TAD0711",
        "a shared library needs a linker, and there is none",
        [f"`{wanted}` is not in PATH, and `ziglang` is not installed"],
        [
            f"install a C compiler, or `{install_command('so')}`",
            "`--emit lib` writes a static library without any tool",
        ],
    )
