"""Programs in files, read with a diagnostic."""

from __future__ import annotations

import os
from pathlib import Path

from tadc.frontend.diagnostics import CompileError, Diagnostic
from tadc.frontend.suggest import did_you_mean


def file_error(message: str, *helps: str) -> CompileError:
    """The error (TAD0801) about a file."""
    return CompileError([Diagnostic("TAD0801", message, helps=list(helps))])


def read_text(name: str | os.PathLike[str]) -> str:
    """The text of a file; raises CompileError where it cannot be read."""
    path = Path(name)
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        siblings = [p.name for p in path.parent.iterdir()] if path.parent.is_dir() else []
        raise file_error(f"no file `{name}`", *did_you_mean(path.name, siblings)) from None
    except UnicodeDecodeError:
        raise file_error(f"`{name}` is not a text in UTF-8") from None
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or str(problem)
        raise file_error(f"cannot read `{name}`: {reason}") from None
