"""What the compiler does now, on a terminal, where it takes longer than a moment."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from tadc.backend.compile_steps import listening, listens
from tadc.frontend.forks import new_lock

#: Seconds after which a compilation shows what it does.
PATIENCE = 1.0

#: What a step begins with that says by itself what it does.
TUNING = "tuning"

#: Steps that are no compiling.
_OTHERS = ("run", "arrays", "write")


class Progress:
    """Shows the step that runs, in one line that goes away when it ends."""

    def __init__(self) -> None:
        self._lock = new_lock()
        self._open: list[str] = []
        self._status: Any = None
        #: When the first step began; imports before it are no compiling.
        self._begin: float | None = None
        self._timer = threading.Timer(PATIENCE, self._late)
        self._timer.daemon = True

    def begin(self, name: str) -> None:
        """A step begins."""
        with self._lock:
            self._open.append(name)
            if self._begin is None:
                self._begin = time.monotonic()
                self._timer.start()
            elif time.monotonic() - self._begin > PATIENCE:
                self._show()

    def end(self, name: str, seconds: float) -> None:
        """A step ends; between steps there is nothing to see, for others write then."""
        with self._lock:
            self._open.pop()
            if self._open:
                self._show()
            else:
                self._hide()

    def close(self) -> None:
        """Show nothing from here on."""
        self._timer.cancel()
        with self._lock:
            self._open.clear()
            self._hide()

    def _late(self) -> None:
        with self._lock:
            self._show()

    def _show(self) -> None:
        if not self._open or self._open[0] in _OTHERS:
            return
        names = ", ".join(self._open)
        text = names if names.startswith(TUNING) else f"compiling: {names}"
        if self._status is None:
            self._status = _LineOfNotebook() if is_notebook() else _line_of_terminal(text)
        self._status.update(text)

    def _hide(self) -> None:
        if self._status is not None:
            self._status.stop()
            if not is_notebook():
                self._status = None


class _LineOfNotebook:
    """A line below a cell that changes, and goes away, in notebooks without widgets too, which rich needs."""

    def __init__(self) -> None:
        self._handle: Any = None
        self._text = ""

    def update(self, text: str) -> None:
        """Show another text."""
        from html import escape

        notebook: Any = import_module("IPython.display")

        shown = {"text/plain": text, "text/html": f"<em>{escape(text)}</em>" if text else ""}
        self._text = text
        if self._handle is None:
            self._handle = notebook.display(shown, raw=True, display_id=True)
        else:
            self._handle.update(shown, raw=True)

    def stop(self) -> None:
        """Show nothing, until the next update."""
        if self._text:
            self.update("")


def _line_of_terminal(text: str) -> Any:
    from rich.console import Console

    status = Console(file=sys.stderr).status(text)
    status.start()
    return status


def is_notebook() -> bool:
    """Whether cells of a notebook are run."""
    return "ipykernel" in sys.modules


def is_watched() -> bool:
    """Whether a person looks at what is written to stderr: in a terminal, or in a notebook."""
    is_terminal = sys.stderr is not None and sys.stderr.isatty()  # pyright: ignore[reportUnnecessaryComparison]
    return is_terminal or is_notebook()


@contextmanager
def shown_progress() -> Generator[None]:
    """Show what the compiler does inside the block where that takes long, unless it is shown already."""
    if not is_watched() or listens(Progress):
        yield
        return
    progress = Progress()
    try:
        with listening(progress):
            yield
    finally:
        progress.close()
