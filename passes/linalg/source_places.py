"""Where operations of an imported module stand in the source of their user, and what that calls them."""

from __future__ import annotations

import ast
import re
import sys
import sysconfig
from functools import cache
from linecache import getlines
from pathlib import Path

from tadc.frontend.source import Source, Span
from tadc.lattice.late_dataclasses import dataclass

_FILE = re.compile(r'"((?:[^"\\]|\\.)*)":(\d+):(\d+)')
_ASSIGNMENT = re.compile(r"\s*([^\W\d]\w*)\s*(?::[^=]+)?=(?!=)")
_OURS = str(Path(sys.modules["tadc"].__file__ or "").parent)
_LIBRARIES = (*(sysconfig.get_path(kind) for kind in ("purelib", "platlib", "stdlib")), _OURS)


@dataclass(frozen=True)
class SourcePlace:
    """A line of a file of the user's."""

    file: str
    number: int

    def line(self) -> int:
        """The line, from 1."""
        return self.number

    def source(self) -> Source | None:
        """The text of the file, if there is one with such a line."""
        text = "".join(getlines(self.file))
        return Source(text, self.file) if text.count("\n") + 1 >= self.number > 0 else None

    def span(self, source: Source) -> Span:
        """The line without the blanks around it."""
        text, start = source.line(self.number), source.start_of(self.number)
        return Span(start + len(text) - len(text.lstrip()), start + len(text.rstrip()))

    def note(self) -> str:
        """What a diagnostic says where there is no text to show."""
        return f"written at {self.file}:{self.number}"

    def variable(self) -> tuple[str, int] | None:
        """The variable that the statement of this line assigns to, and the statement's first line."""
        return _assigned(self.file).get(self.number)


def is_of_user(file: str) -> bool:
    """Whether a file is of no library."""
    return not file.startswith(_LIBRARIES) and "site-packages" not in file


def place_of(location: object) -> SourcePlace | None:
    """The innermost place in a location of MLIR that is in no library; any other where all are."""
    files = _FILE.findall(str(location))
    for file, line, _ in files:
        if is_of_user(file) and file != "-":
            return SourcePlace(file, int(line))
    return None


@cache
def _assigned(file: str) -> dict[int, tuple[str, int]]:
    """By line, what a statement assigns to: a simple name, or an attribute's."""
    found: dict[int, tuple[str, int]] = {}
    lines = getlines(file)
    try:
        tree = ast.parse("".join(lines))
    except (SyntaxError, ValueError):
        # Of a file that is not all Python, as a page of documentation, statements of one line are known.
        for number, line in enumerate(lines, 1):
            if simple := _ASSIGNMENT.match(line):
                found[number] = simple[1], number
        return found
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            target = node.targets[0]
        elif isinstance(node, ast.AnnAssign | ast.AugAssign):
            target = node.target
        else:
            continue
        if isinstance(target, ast.Name):
            for line in range(node.lineno, (node.end_lineno or node.lineno) + 1):
                found[line] = target.id, node.lineno
    return found
