"""What tadc is called where packages are installed from, its version, and how a part that is missing is had.

The command and the import are `tadc`; PyPI's `tadc` is somebody else's calculator of tides.
"""

from __future__ import annotations

import os
import re
from importlib import import_module
from typing import Any

from tadc.frontend.diagnostics import CompileError, Diagnostic

DISTRIBUTION = "tadc-compiler"
VERSION = "0.2.0"

#: The folder in which installers note PyPI's `tadc`; ours is `tadc_compiler-….dist-info`.
_OTHER = re.compile(r"tadc-[^-]+\.dist-info")


def install_command(extra: str = "") -> str:
    """The command that installs tadc with the packages of an extra of `pyproject.toml`."""
    return f"pip install '{DISTRIBUTION}[{extra}]'" if extra else f"pip install {DISTRIBUTION}"


def other_package(folder: str) -> Diagnostic | None:
    """The warning TAD0804 where PyPI's `tadc` is installed in a folder that has, or would have, `tadc/`.

    Both packages write `tadc/__init__.py`: whichever was installed last is imported, and if one is removed,
    the other lacks that file.
    """
    try:
        names = os.listdir(folder)
    except OSError:
        return None
    found = next((name for name in names if _OTHER.fullmatch(name)), None)
    if found is None:
        return None
    version = found.split("-")[1].removesuffix(".dist")
    message = f"PyPI's `tadc` {version}, a package about tides, is installed where {DISTRIBUTION} is"
    return Diagnostic(
        "TAD0804",
        message,
        severity="warning",
        notes=[f"both are imported as `tadc`; their files are mixed in {folder}"],
        helps=[f"`pip uninstall tadc`, then `{install_command()} --force-reinstall --no-deps`"],
    )


def imported(module: str, why: str, extra: str, *notes: str) -> Any:
    """A module of a package that an extra has. Raises CompileError (TAD0802) where it cannot be imported."""
    try:
        return import_module(module)
    except ImportError as problem:
        raise missing_package(f"{why}: {problem}", extra, *notes) from None


def missing_package(message: str, extra: str, *notes: str) -> CompileError:
    """The error TAD0802, for something that needs a package of an extra."""
    helps = [f"install it with `{install_command(extra)}`"]
    return CompileError([Diagnostic("TAD0802", message, notes=list(notes), helps=helps)])
