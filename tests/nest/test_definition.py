"""What a nest is: one block of at most 80 lines, as its page shows it."""

from __future__ import annotations

import ast

from tests.pages import ROOT, blocks


def _plain(text: str) -> str:
    """Python without docstrings, imports and decorators."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef):
            node.body = [
                item for item in node.body if not isinstance(item, ast.Expr | ast.Import | ast.ImportFrom)
            ]
        if isinstance(node, ast.ClassDef):
            node.decorator_list = []
    return "\n".join(line for line in ast.unparse(tree).splitlines() if line)


def test_the_definition_is_short_and_shown() -> None:
    found = _plain((ROOT / "passes/nest/nest.py").read_text(encoding="utf-8"))
    assert len(found.splitlines()) <= 80
    (shown,) = (block.text for block in blocks(ROOT / "docs/nest.md") if block.name == "nest.py")
    assert _plain(shown) == found
