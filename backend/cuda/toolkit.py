"""Where the files of CUDA's toolkit are: ptxas and libdevice. No compiler and no NumPy is imported here."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

LIBDEVICE = "nvvm/libdevice/libdevice.10.bc"
PTXAS = "bin/ptxas"

_WHEEL = re.compile(r"cu(\d+)")


def toolkit_file(path: str) -> Path | None:
    """The file of the first toolkit that has it, as `bin/ptxas`, or None."""
    return next((folder / path for folder in toolkits() if (folder / path).is_file()), None)


def find_ptxas() -> Path | None:
    """NVIDIA's assembler of PTX."""
    return toolkit_file(PTXAS)


def toolkits() -> Iterator[Path]:
    """Folders that may hold a toolkit, best first.

    `CUDA_HOME` and `CUDA_PATH`, which say what is wanted; then what pip installed of NVIDIA:
    `nvidia/cuda_nvcc` of CUDA 12 and `nvidia/cu13` of CUDA 13, whose files several packages share;
    then the folder whose `bin/ptxas` is on the PATH.
    """
    yield from (Path(folder) for name in ("CUDA_HOME", "CUDA_PATH") if (folder := os.environ.get(name)))
    yield from _wheels()
    program = shutil.which("ptxas")
    if program:
        # A link, as Debian's /usr/bin/ptxas may be, leads to the toolkit.
        yield from (Path(program).parent.parent, Path(program).resolve().parent.parent)


def _wheels() -> list[Path]:
    """CUDA 12 first: older drivers take its machine code, and newer ones too."""
    spec = find_spec("nvidia")
    found: list[tuple[int, Path]] = []
    for place in (spec.submodule_search_locations or ()) if spec else ():
        root = Path(place)
        found.append((0, root / "cuda_nvcc"))
        for folder in root.glob("cu*"):
            if version := _WHEEL.fullmatch(folder.name):
                found.append((int(version[1]), folder))
    return [folder for _, folder in sorted(found)]
