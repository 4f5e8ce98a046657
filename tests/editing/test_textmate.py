"""The TextMate grammar of VS Code, against the classes of words; by a small tokenizer of that format."""

import json
import re
from typing import Any

from tadc.editing.textmate import FILE, SCOPES, grammar
from tadc.frontend.parser import read_statements
from tadc.frontend.source import Source
from tadc.frontend.token_classes import classified
from tests.editing.programs import drawn, files, strings

CLASSES = {scope: kind for kind, scope in SCOPES.items()}


class TextMateTokenizer:
    """Applies rules `match`, `begin` … `end` and `include` with captures, as VS Code does: line by line."""

    def __init__(self, rules: dict[str, Any]) -> None:
        self.rules = rules
        self.open: list[dict[str, Any]] = []
        self.found: list[tuple[str, str]] = []

    def read(self, text: str) -> list[tuple[str, str]]:
        """The words of a text, with their classes."""
        for line in text.split("\n"):
            at = 0
            while (after := self._step(line, at)) is not None:
                at = after
        return self.found

    def _step(self, line: str, at: int) -> int | None:
        """The first match from a place on: where that ends; None at the end of the line."""
        around = self.open[-1] if self.open else self.rules
        tried = [(around["end"], around, True)] if self.open else []
        tried += [(r.get("match") or r["begin"], r, False) for r in self._flat(around["patterns"])]
        matches = [(m, rule, ends) for p, rule, ends in tried if (m := re.compile(p).search(line, at))]
        if not matches:
            return None
        # Of those that begin first it is the rule that stands first.
        match, rule, ends = min(matches, key=lambda item: item[0].start())
        captures = (
            rule.get("endCaptures" if ends else "beginCaptures", {}) if "begin" in rule else rule["captures"]
        )
        groups = sorted(
            (match.span(int(n)), scope["name"]) for n, scope in captures.items() if int(n) <= match.re.groups
        )
        self.found += [(line[a:b], CLASSES[name]) for (a, b), name in groups if b > a]
        if ends:
            self.open.pop()
        elif "begin" in rule:
            self.open.append(rule)
        assert match.end() > at or ends
        return match.end()

    def _flat(self, patterns: list[dict[str, Any]]) -> list[dict[str, Any]]:
        flat: list[dict[str, Any]] = []
        for rule in patterns:
            name = rule.get("include", "")[1:]
            flat += self._flat(self.rules["repository"][name]["patterns"]) if name else [rule]
        return flat


def same(texts: list[str]) -> int:
    """How many of the texts are programs; in these both find the same words."""
    seen, rules = 0, grammar()
    for text in texts:
        if not read_statements(Source(text)).errors:
            found = [(text[start:end].rstrip(), kind) for start, end, kind in classified(text)]
            assert [(w.rstrip(), kind) for w, kind in TextMateTokenizer(rules).read(text)] == found, text
            seen += 1
    return seen


def test_the_grammar_is_made_of_the_tables() -> None:
    assert json.loads(FILE.read_text(encoding="utf-8")) == grammar(), (
        "`python -m tadc.editing.textmate` writes it"
    )


def test_words_of_programs_have_the_same_classes() -> None:
    bounds = [
        "x: f64[9]; f[i: 4] = sum{k}_i^(i + 4) (x[k])",
        "x: f64[9]; f[i: 4] = sum{k} _max(i, 2)^8 (x[k])",
    ]
    assert same([*files()[::8], *drawn(2), *bounds]) > 22


def test_words_of_all_programs_have_the_same_classes() -> None:
    assert same([*files(), *strings()[::2], *drawn(100)]) > 1000
