"""Definitions that were checked before: while a program is written, nearly all of them are as they were.

What a definition means follows from its text and from what the names in it mean; where both are as before, so
is the result. Only definitions without errors are remembered: their places in the text change.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from tadc.frontend import syntax
from tadc.frontend.program import Definition
from tadc.frontend.scope import IndexRange, ProgramNames, ScopedSize, ScopedTensor
from tadc.frontend.source import Span
from tadc.frontend.terms import Domain, ElementType, Terms
from tadc.lattice.late_dataclasses import dataclass, replace

_WORD = re.compile(r"[A-Za-z_]\w*")
#: So many definitions are remembered: a day's work, in a few megabytes.
_MOST = 5000


@dataclass(frozen=True)
class CheckedDefinition:
    """What the check of a definition gave; places are counted from its beginning."""

    meaning: ScopedTensor
    stored_type: ElementType
    definition: Definition
    excluded: tuple[Domain, ...]
    ranges: Mapping[int, IndexRange]


class CheckMemory:
    """What is remembered, and the terms of all that it is made of."""

    def __init__(self) -> None:
        self.terms = Terms()
        self._known: dict[tuple[Any, ...], CheckedDefinition] = {}

    def key(
        self, text: str, names: ProgramNames, declared: Mapping[str, ScopedTensor | None]
    ) -> tuple[Any, ...]:
        """The text of a definition, and what the names in it mean where it stands."""
        words = dict.fromkeys(_WORD.findall(text))
        return text, *(_signature(word, names, declared) for word in words)

    def recall(self, key: tuple[Any, ...], statement: syntax.Define, head: Span) -> CheckedDefinition | None:
        """What was found of such a definition before, with its head where it is now."""
        found = self._known.get(key)
        if found is None:
            return None
        dims = tuple(spec.span for spec in statement.indices)
        meaning = replace(found.meaning, span=head, dims=dims)
        return replace(found, meaning=meaning, definition=replace(found.definition, span=statement.span))

    def remember(self, key: tuple[Any, ...], found: CheckedDefinition) -> None:
        """Remember what was found of a definition."""
        if len(self._known) >= _MOST:
            self._known.clear()
            self.terms = Terms()
        self._known[key] = found


def _signature(
    word: str, names: ProgramNames, declared: Mapping[str, ScopedTensor | None]
) -> tuple[Any, ...]:
    """What a word means to a definition; its places do not matter."""
    site = names.sites.get(word)
    where = (site.kind, site.verb) if site else None
    # A name in a statement that cannot be read means as little to a definition as one that nothing has.
    known = _meaning(names.known.get(word)) if word in names.known or site is None else "unknown"
    output = _meaning(declared[word]) if word in declared else "undeclared"
    return where, word in names.defined, known, output


def _meaning(found: ScopedTensor | ScopedSize | None) -> tuple[Any, ...] | None:
    match found:
        case ScopedTensor():
            return found.type, found.shape, found.below, found.pattern, found.is_argument
        case ScopedSize():
            return (found.value,)
        case None:
            return None
