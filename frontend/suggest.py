"""Did you mean …?"""

from __future__ import annotations

from collections.abc import Iterable

from tadc.frontend.diagnostics import GUESS, Edit
from tadc.frontend.source import Span


def closest(word: str, names: Iterable[str]) -> str | None:
    """The name most like `word`, if one is close; a difference in case alone always is."""
    from difflib import get_close_matches  # only who errs pays for it

    candidates = sorted(set(names) - {word})
    for name in candidates:
        if name.lower() == word.lower():
            return name
    found = get_close_matches(word, candidates, n=1, cutoff=0.6)
    return found[0] if found else None


def did_you_mean(word: str, names: Iterable[str]) -> list[str]:
    """Return the help lines for an unknown name: one or none."""
    name = closest(word, names)
    return [f"did you mean `{name}`?"] if name else []


def correction(word: str, span: Span, names: Iterable[str]) -> list[Edit]:
    """An edit of the place where an unknown name stands, if one is near."""
    name = closest(word, names)
    return [Edit(span, name, GUESS)] if name else []
