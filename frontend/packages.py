"""What tadc is called where packages are installed from, its version, and how a part that is missing is had.

The command and the import are `tadc`; PyPI's `tadc` is somebody else's calculator of tides.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from tadc.frontend.diagnostics import CompileError, Diagnostic

DISTRIBUTION = "tadc-compiler"
VERSION = "0.1.0"


def install_command(extra: str = "") -> str:
    """The command that installs tadc with the packages of an extra of `pyproject.toml`."""
    return f"pip install '{DISTRIBUTION}[{extra}]'" if extra else f"pip install {DISTRIBUTION}"


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
