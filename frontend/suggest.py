"""Did you mean …?"""

from __future__ import annotations

from collections.abc import Iterable


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
