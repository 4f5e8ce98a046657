"""Files of the command: read with a diagnostic, written whole or not at all."""

from __future__ import annotations

import sys
from pathlib import Path

from tadc.caller.program_files import file_error, read_text, write_whole
from tadc.frontend.source import Source


def read_stdin() -> str:
    """The text on stdin; raises CompileError where there is none."""
    if sys.stdin is None:  # pyright: ignore[reportUnnecessaryComparison]  # `<&-` closes it
        raise file_error("cannot read stdin: it is closed")
    stream = getattr(sys.stdin, "buffer", None)
    if stream is None:
        return sys.stdin.read()
    try:
        text = stream.read().decode("utf-8")
    except UnicodeDecodeError:
        raise file_error("stdin is not a text in UTF-8") from None
    # As Python reads the lines of a file.
    return text.replace("\r\n", "\n").replace("\r", "\n")


def read_source(file: str | None, expression: str | None) -> Source:
    """The text on a command line, or else that of a file, `-` for stdin; raises CompileError."""
    if expression is not None:
        return Source(expression, "<expression>")
    assert file is not None
    if file == "-":
        return Source(read_stdin(), "<stdin>")
    return Source(read_text(file), file)


class Sink:
    """Where a result goes: a file, or stdout for `-`."""

    def __init__(self, name: str, *, make_folder: bool = False) -> None:
        self.name = name
        self.make_folder = make_folder

    def write(self, content: str | bytes) -> None:
        """Write text (its last line ended) or bytes; a file appears whole or not at all."""
        if isinstance(content, str):
            content = (content if content.endswith("\n") else content + "\n").encode()
        if self.name == "-":
            self._print(content)
        else:
            write_whole(self.name, content, make_folder=self.make_folder)

    def _print(self, content: bytes) -> None:
        if sys.stdout is None:  # pyright: ignore[reportUnnecessaryComparison]  # `>&-` closes it
            raise file_error("cannot write to stdout: it is closed")
        try:
            sys.stdout.flush()
            stream = getattr(sys.stdout, "buffer", None)
            if stream is None:
                sys.stdout.write(content.decode(errors="replace"))
            else:
                stream.write(content)
                stream.flush()
        except BrokenPipeError:
            raise
        except OSError as problem:
            raise file_error(f"cannot write to stdout: {problem.strerror}") from None


def write_back(file: str, text: str) -> None:
    """Replace a file, with its line ends and its mode."""
    path = Path(file)
    raw, mode = path.read_bytes(), path.stat().st_mode & 0o7777
    ends = b"\r\n" if b"\r\n" in raw else b"\n"
    Sink(file).write(text.encode().replace(b"\n", ends))
    path.chmod(mode)
