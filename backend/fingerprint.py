"""What a compiled kernel depends on besides its program: this compiler, and this machine.

Found without importing MLIR or LLVM, which takes longer than to run a cached kernel.
"""

from __future__ import annotations

import os
import platform
import sys
from functools import cache
from hashlib import sha256

from tadc.backend.cpu.data_caches import host_caches

#: Fields of /proc/cpuinfo, of x86 and of ARM, that tell what instructions there are.
_CPU_FIELDS = frozenset(
    "vendor_id,cpu family,model,model name,stepping,flags,"
    "Features,CPU implementer,CPU architecture,CPU variant,CPU part,CPU revision".split(",")
)


@cache
def fingerprint() -> str:
    """A digest that differs between versions of the compiler and between kinds of machines."""
    machine = platform.system(), platform.machine(), cpu(), repr(host_caches())
    return sha256("\n".join([*_sources(), *_suppliers(), *machine]).encode()).hexdigest()


def _sources() -> list[str]:
    """The files of tadc, each with its time and size: what Python itself tells a changed module by."""
    root = os.path.dirname(os.path.dirname(__file__))
    found: list[str] = []
    is_checkout = os.path.isdir(os.path.join(root, "tadc"))
    folders: list[str] = [*"backend dialect frontend lattice passes tadc".split()] if is_checkout else ["."]
    for folder in folders:
        with os.scandir(os.path.join(root, folder)) as files:
            for file in files:
                name = file.name
                if name.endswith(".py"):
                    status = file.stat()
                    found.append(f"{folder}/{name} {status.st_mtime_ns} {status.st_size}")
                elif "." not in name and name != "__pycache__" and file.is_dir():
                    folders.append(f"{folder}/{name}")
    return sorted(found)


def _suppliers() -> list[str]:
    """The packages that compile: where they are, since when, and the version beside them."""
    found: list[str] = []
    for name in ("mlir", "torch_mlir", "llvmlite"):
        for place in sys.path:
            folder = os.path.join(place, name)
            if os.path.isdir(folder):
                versions = sorted(n for n in os.listdir(place or ".") if n.startswith(f"{name}-"))
                found.append(f"{folder} {os.stat(folder).st_mtime_ns} {' '.join(versions)}")
                break
    return found


def cpu() -> str:
    """The processor and its instructions, of which the system may have turned off some."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            fields: list[str] = []
            for line in file:
                name = line.partition(":")[0].strip()
                if name in _CPU_FIELDS:
                    fields.append(line)
                elif not name:
                    break
            if fields:
                return "".join(fields)
    except OSError:
        pass
    from tadc.backend.binding import binding
    from tadc.backend.cpu.processors import host_features

    return f"{binding().get_host_cpu_name()} {sorted(host_features().items())}"
