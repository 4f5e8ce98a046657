"""Markdown for generated pages."""

from __future__ import annotations


def link(name: str) -> str:
    """A link to the section of a name."""
    return f"[`{name}`](#{name.replace('.', '')})"


def table(head: list[str], rows: list[list[str]]) -> str:
    """A table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |\n" for line in lines)
