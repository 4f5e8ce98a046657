"""What to do about a bug of the compiler: a file that shows it again, and runs as it is.

The command writes programs (`commands/reproducer.py`); in Python an exception that is no diagnostic gets a
note that says where a script is.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from tadc.frontend.diagnostics import CompileError

if TYPE_CHECKING:
    from tadc.compiler.compile_options import Options

#: What is not the compiler's fault.
_OTHERS = (CompileError, Warning, ImportError, MemoryError, OSError)

_HEAD = """\
import os

os.environ["TADC_CACHE"] = "0"

import numpy as np

import tadc.api.jacobians
from tadc.api.function import Origin
from tadc.backend.base import Target
from tadc.compiler.compile_options import Options

"""

_ABOUT = "tadc met a bug of its own; this script repeats it."

_writes_scripts: ContextVar[bool] = ContextVar("writes_scripts", default=True)

#: The script of a bug by what it says, for a program that meets it again and again.
_known: dict[str, str | None] = {}


@contextmanager
def without_scripts() -> Generator[None]:
    """Leave bugs inside the block to who calls."""
    token = _writes_scripts.set(False)
    try:
        yield
    finally:
        _writes_scripts.reset(token)


@contextmanager
def noted(script: Callable[[], str]) -> Generator[None]:
    """Add to a bug inside the block a note of where its script is."""
    try:
        yield
    except Exception as bug:
        add_note(bug, script)
        raise


def add_note(bug: Exception, script: Callable[[], str]) -> None:
    """Write the script, and say where it is in a note; nothing for what is a diagnostic, or has one."""
    if isinstance(bug, _OTHERS) or not _writes_scripts.get() or hasattr(bug, "tadc_script"):
        return
    what = f"{type(bug).__name__}: {bug}"
    if what not in _known:
        try:
            _known[what] = write_file(".py", f"{commented(bug, _ABOUT, '#')}\n{_HEAD}{script()}")
        except Exception:  # of a program that cannot even be printed there is no script
            _known[what] = None
    bug.tadc_script = where = _known[what]  # pyright: ignore[reportAttributeAccessIssue]
    report = f"please report it with {where}, a script that repeats it" if where else "please report it"
    bug.add_note(f"this is a bug of tadc; {report}")


def commented(bug: BaseException, head: str, comment: str) -> str:
    """The head and the traceback of a bug, in comments."""
    import traceback

    lines = [*head.splitlines(), "", *"".join(traceback.format_exception(bug)).splitlines()]
    return "\n".join(f"{comment} {line}".rstrip() for line in lines)


def write_file(suffix: str, text: str) -> str | None:
    """Write a new file for temporary things; its name, or None where that cannot be."""
    import tempfile

    try:
        with tempfile.NamedTemporaryFile(
            "w", prefix="tadc-bug-", suffix=suffix, delete=False, encoding="utf-8", errors="backslashreplace"
        ) as file:
            file.write(text)
    except OSError:
        return None
    return file.name


def reading(text: str, sizes: Mapping[str, Any] | None) -> str:
    """The script that reads a program."""
    return f"f = tadc.function({text!r}, sizes={None if not sizes else dict(sizes)!r})\n"


def compiling(made: Callable[[], str], options: Options) -> str:
    """The script that compiles a function; `made` gives Python that makes it as `f`."""
    target = str(options.target or "cpu")
    how = f"tadc.compile(f, {target!r}, fast_math={options.fast_math})"
    return made() + ("f.compiled_fused()" if options.fused else how) + "\n"


def calling(made: Callable[[], str], args: Sequence[Any], kwargs: Mapping[str, Any]) -> str:
    """The script that calls a function, on arrays of such shapes and types."""
    words = [*map(_array, args), *(f"{name}={_array(value)}" for name, value in kwargs.items())]
    return made() + f"f({', '.join(words)})\n"


def _array(value: Any) -> str:
    if not hasattr(value, "shape") or not hasattr(value, "dtype"):
        return repr(value)
    dtype = str(value.dtype).rpartition(".")[2]  # PyTorch's is `torch.float64`
    return f"np.ones({tuple(value.shape)}, {dtype!r})"
