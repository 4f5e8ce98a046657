"""Texts to try editors' tools on: the programs of this repository, right and wrong, and random ones."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

from tests.fuzz.generate import generate
from tests.pages import blocks

ROOT = Path(__file__).parent.parent.parent

#: What a text has that is a program.
_DECLARES = re.compile(r"\w\s*:\s*(f16|bf16|f32|f64|index|[A-Z])\b.*=", re.DOTALL)
_FOLDERS = ("bench", "examples", "lit_tests", "tests", "tadc")


@cache
def files() -> tuple[str, ...]:
    """Those in files and on pages."""
    found = [path.read_text() for path in sorted(ROOT.glob("examples/*.tad"))]
    found += [path.read_text() for path in sorted(ROOT.glob("lit_tests/**/*.tad"))]
    for page in sorted((*ROOT.glob("docs/*.md"), *ROOT.glob("frontend/explanations/*.md"))):
        found += [block.text for block in blocks(page) if block.kind in ("tad", "tad-wrong")]
    return tuple(found)


@cache
def strings() -> tuple[str, ...]:
    """Those in strings of Python."""
    paths = sorted(path for folder in _FOLDERS for path in (ROOT / folder).rglob("*.py"))
    nodes = (node for path in paths for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    texts = (n.value for n in nodes if isinstance(n, ast.Constant) and isinstance(n.value, str))
    return tuple(dict.fromkeys(text for text in texts if _DECLARES.search(text)))


def drawn(count: int) -> list[str]:
    """Random ones."""
    return [str(generate(seed)) for seed in range(count)]
