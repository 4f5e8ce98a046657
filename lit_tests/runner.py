"""Runs the RUN lines of a lit test in this process: no forks, so a test costs what the compiler costs.

The same files run with `lit lit_tests`; here too lit's own parser reads the shell syntax. Understood:

    tadc, tad-opt, filecheck, not   the commands; a line may be a pipeline, `&&` chains them, `\\` goes on
    2>&1   > FILE   2> FILE   < FILE
    %s, %S, %t                      the test file, its folder, a temporary file

`not` wants exit code 1 or 2: an internal error of the compiler (70) never passes for a diagnostic.
"""

import os
import re
import sys
import tempfile
import traceback
from collections.abc import Callable, Generator
from contextlib import ExitStack, chdir, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import IO, Any

import filecheck.main
from lit.ShCommands import Command, Pipeline, Seq
from lit.ShUtil import ShParser

Main = Callable[[list[str]], int | None]

_RUN = re.compile(r"^\W*RUN:(.*?)(\\?)$", re.MULTILINE)
_COMMENT = re.compile(r"(?:#|//)[ \t]*([A-Za-z][\w-]*)(\{LITERAL\})?(:?)")
_SUFFIX = re.compile(r"(-(NEXT|SAME|NOT|DAG|EMPTY|LABEL|COUNT-\d+))?")
_PLAIN_WORDS = ("RUN", "COM", "NOTE", "REQUIRES")

#: What a test says that takes seconds, as in lit: `lit -Dslow=1` and `pytest -m slow` run it.
REQUIRES_SLOW = re.compile(r"^\W*REQUIRES: slow$", re.MULTILINE)


class Failure(Exception):
    """A lit test that does not hold; the message is what a person needs to see."""


@dataclass(frozen=True)
class Script:
    """A test file and its RUN lines."""

    path: Path
    text: str
    lines: tuple[str, ...]

    @classmethod
    def load(cls, path: Path) -> "Script":
        """Read a test. Raises Failure if it has no RUN line, or the last one does not end."""
        text = path.read_text(encoding="utf-8")
        joined = "\n".join(part.strip() + continued for part, continued in _RUN.findall(text))
        lines = tuple(joined.replace("\\\n", " ").splitlines())
        if not lines or lines[-1].endswith("\\"):
            raise Failure(f"{path}: {'the last RUN line does not end' if lines else 'no RUN line'}")
        return cls(path, text, lines)

    def prefixes(self) -> set[str]:
        """The prefixes that the filecheck commands of the RUN lines look for."""
        found: set[str] = set()
        for line in self.lines:
            named = re.findall(r"--check-prefix(?:es)?[= ]\s*(\S+)", line)
            found.update(prefix for names in named for prefix in names.split(","))
            if line.count("| filecheck ") > len(named):
                found.add("CHECK")
        return found

    def check_spelling(self) -> None:
        """Raise Failure for a directive that filecheck passes over in silence.

        That is one misspelt (`CHECK_NEXT:`, `CHECK-NEXT` without a colon), one of a prefix that no RUN
        line uses, and a prefix of a RUN line that no directive uses.
        """
        prefixes = self.prefixes()
        unused = set(prefixes)
        for match in _COMMENT.finditer(self.text):
            word, colon = match[1], match[3]
            prefix = max((p for p in prefixes if word.upper().startswith(p)), key=len, default="")
            suffix = word[len(prefix) :]
            if colon and prefix and word.startswith(prefix) and _SUFFIX.fullmatch(suffix):
                unused.discard(prefix)
                continue
            near = prefix and word.isupper() and (not suffix or suffix[0] in "-_")
            if word not in _PLAIN_WORDS and (near or (colon and (prefix or word.isupper()))):
                line = self.text.count("\n", 0, match.start()) + 1
                raise Failure(f"{self.path}:{line}: `{match[0]}` is no directive of this test's RUN lines")
        if unused:
            raise Failure(f"{self.path}: no directive starts with {', '.join(sorted(unused))}")


def run(path: Path, main: Main) -> None:
    """Run a lit test, with `main` in the place of the command `tadc`. Raises Failure."""
    script = Script.load(path)
    script.check_spelling()
    with tempfile.TemporaryDirectory() as folder, chdir(folder), _environment(NO_COLOR="1"):
        places = {"%s": path, "%S": path.parent, "%t": Path(folder, "t")}
        for line in script.lines:
            expanded = re.sub(r"%[sSt]\b", lambda match: str(places[match[0]]), line)
            try:
                _run_line(ShParser(expanded).parse(), main)
            except Failure as failure:
                raise Failure(f"{path}\nRUN: {line}\n{failure}") from None


@contextmanager
def _environment(**values: str) -> Generator[None]:
    saved = dict(os.environ)
    os.environ.update(values)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(saved)


def _run_line(node: Seq | Pipeline, main: Main) -> None:
    if isinstance(node, Seq):
        if node.op != "&&":
            raise Failure(f"`{node.op}` is not supported in RUN lines")
        _run_line(node.lhs, main)
        _run_line(node.rhs, main)
        return
    from tadc.commands.tad_opt import translated

    opt = lambda args: main(translated(args))  # noqa: E731
    tools: dict[str, Main] = {"tadc": main, "tad-opt": opt, "filecheck": _filecheck}
    piped = b""
    for command in node.commands:
        piped = _run_command(command, tools, piped)


def _filecheck(args: list[str]) -> None:
    filecheck.main.main(["filecheck", *args])


def _run_command(command: Command, tools: dict[str, Main], stdin: bytes) -> bytes:
    """What the command writes to the pipe. Raises Failure if its exit code is not the one wanted."""
    words = [str(word) for word in command.args]
    wanted = (0,)
    name, *args = words
    if name == "not":
        wanted = (1, 2)
        name, *args = args
    if name not in tools:
        raise Failure(f"`{name}` is not a command of RUN lines: not, {', '.join(tools)}")
    with ExitStack() as stack:
        out, err = (stack.enter_context(tempfile.TemporaryFile()) for _ in range(2))
        streams: dict[int, IO[Any]] = {0: BytesIO(stdin), 1: out, 2: err}
        for operator, word in command.redirects:
            descriptor = operator[1] if len(operator) > 1 else int(operator[0] != "<")
            if operator[0] == ">&":
                streams[descriptor] = streams[int(word)]
            else:
                mode = {"<": "rb", ">": "wb", ">>": "ab"}[operator[0]]
                streams[descriptor] = stack.enter_context(open(str(word), mode))
        code = _call(lambda: tools[name](args), streams)
        out.seek(0)
        err.seek(0)
        piped, said = out.read(), err.read()
    if code not in wanted:
        seen = b"\nIts input was:\n" + stdin if name == "filecheck" else b"\n" + piped
        report = (said + seen).decode(errors="replace")
        raise Failure(f"{' '.join(words)}\nexit code {code}, not {' or '.join(map(str, wanted))}\n{report}")
    return piped


def _call(command: Callable[[], int | None], streams: dict[int, IO[Any]]) -> int:
    """Run with these as descriptors 0 to 2, for Python and, but for 0, for native code too. The exit code."""
    with ExitStack() as stack:
        stdin = TextIOWrapper(streams[0], encoding="utf-8")
        stack.callback(setattr, sys, "stdin", sys.stdin)
        sys.stdin = stdin
        for descriptor in (1, 2):
            stack.enter_context(_descriptor(descriptor, streams[descriptor]))
        out = stack.enter_context(_writer(streams[1]))
        err = out if streams[2] is streams[1] else stack.enter_context(_writer(streams[2]))
        stack.enter_context(redirect_stdout(out))
        stack.enter_context(redirect_stderr(err))
        try:
            return command() or 0
        except SystemExit as stop:
            if isinstance(stop.code, str):
                print(stop.code, file=err)
            return stop.code if isinstance(stop.code, int) else int(stop.code is not None)
        except Exception:
            traceback.print_exc(file=err)
            return 70


def _writer(stream: IO[bytes]) -> TextIOWrapper:
    return open(os.dup(stream.fileno()), "w", encoding="utf-8")


@contextmanager
def _descriptor(number: int, stream: IO[bytes]) -> Generator[None]:
    saved = os.dup(number)
    os.dup2(stream.fileno(), number)
    try:
        yield
    finally:
        os.dup2(saved, number)
        os.close(saved)
