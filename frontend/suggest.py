"""Did you mean …?"""

from __future__ import annotations

from collections.abc import Iterable

from tadc.frontend.diagnostics import GUESS, Edit
from tadc.frontend.source import Span


def closest(word: str, names: Iterable[str]) -> str | None:
    """The name most like `word`, if one is close; a difference in case alone always is.

    One of three letters may differ, be too many, be missing, or stand before its neighbour.
    """
    candidates = sorted(set(names) - {word})
    for name in candidates:
        if name.lower() == word.lower():
            return name
    most = min(max(len(word), 3) // 3, len(word) - 1)
    near = [(_distance(word, name), name) for name in candidates if abs(len(name) - len(word)) <= most]
    distance, name = min(near, default=(most + 1, None))
    return name if distance <= most else None


def _distance(a: str, b: str) -> int:
    """How many letters to change, add, leave out or swap with their neighbours make one word of the other."""
    before, last = list[int](), list(range(len(b) + 1))
    for i, letter in enumerate(a, 1):
        row = [i]
        for j, other in enumerate(b, 1):
            row.append(min(last[j] + 1, row[-1] + 1, last[j - 1] + (letter != other)))
            if i > 1 and j > 1 and letter == b[j - 2] and other == a[i - 2]:
                row[-1] = min(row[-1], before[j - 2] + 1)
        before, last = last, row
    return last[-1]


def did_you_mean(word: str, names: Iterable[str]) -> list[str]:
    """Return the help lines for an unknown name: one or none."""
    return [help for help in [nearest_help(word, names, "")] if help]


def nearest_help(word: str, names: Iterable[str], otherwise: str) -> str:
    """The help for an unknown name: the one that is near, else another help."""
    name = closest(word, names)
    return f"did you mean `{name}`?" if name else otherwise


def correction(word: str, span: Span, names: Iterable[str]) -> list[Edit]:
    """An edit of the place where an unknown name stands, if one is near."""
    name = closest(word, names)
    return [Edit(span, name, GUESS)] if name else []
