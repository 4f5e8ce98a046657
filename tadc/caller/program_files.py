"""Programs in files, read with a diagnostic."""

from __future__ import annotations

import contextlib
import os

from tadc.frontend.diagnostics import CompileError, Diagnostic
from tadc.frontend.suggest import did_you_mean


def file_error(message: str, *helps: str) -> CompileError:
    """The error (TAD0801) about a file."""
    return CompileError([Diagnostic("TAD0801", message, helps=list(helps))])


def read_text(name: str | os.PathLike[str]) -> str:
    """The text of a file; raises CompileError where it cannot be read."""
    try:
        with open(name, encoding="utf-8") as file:
            return file.read()
    except FileNotFoundError:
        folder, wanted = os.path.split(name)
        siblings = os.listdir(folder or ".") if os.path.isdir(folder or ".") else []
        raise file_error(f"no file `{name}`", *did_you_mean(wanted, siblings)) from None
    except UnicodeDecodeError:
        raise file_error(f"`{name}` is not a text in UTF-8") from None
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or str(problem)
        raise file_error(f"cannot read `{name}`: {reason}") from None


def write_whole(name: str, content: bytes, *, make_folder: bool = False) -> None:
    """Write a file, which appears whole or not at all. Raises CompileError: TAD0801."""
    import tempfile
    from pathlib import Path

    path = Path(name).resolve()  # a link stays one
    temporary = ""
    try:
        if make_folder:
            path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists() and not path.is_file():
            path.write_bytes(content)  # a device or a pipe
            return
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        mask = os.umask(0)
        os.umask(mask)
        Path(temporary).chmod(0o666 & ~mask)
        Path(temporary).replace(path)
    except OSError as problem:
        if temporary:
            with contextlib.suppress(OSError):
                Path(temporary).unlink()
        raise file_error(f"cannot write `{name}`: {problem.strerror}") from None
