"""Phrases that several messages share."""

from __future__ import annotations


def counted(number: int, singular: str, plural: str = "") -> str:
    """A number with its noun: `1 index`, `2 indices`."""
    return f"{number} {singular if number == 1 else plural or singular + 's'}"
