"""Colours for VS Code and others: a TextMate grammar, made of the tables that the parser reads with.

`python -m tadc.editing.textmate` writes it to `editors/vscode`. Such a grammar sees a line at a time, so
words that mean something in one place alone are told by what stands beside them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tadc.frontend.dtypes import COMPUTED, FLOATS, TYPE_PARAMETER
from tadc.frontend.functions import ALIASES, FAMILIES, FUNCTIONS, SPELLED_REDUCTIONS
from tadc.frontend.lexer import AT, IN, INCREASING, INDEX, KEYWORDS, SCAN
from tadc.frontend.token_classes import OTHER_CLASSES, TokenClass

FILE = Path(__file__).parents[2] / "editors" / "vscode" / "syntaxes" / "tad.tmLanguage.json"

#: The scopes of the classes, which themes have colours for.
SCOPES: dict[TokenClass, str] = {
    "comment": "comment.line.number-sign.tad",
    "constant": "constant.language.tad",
    "error": "invalid.illegal.tad",
    "function": "support.function.tad",
    "keyword": "keyword.control.tad",
    "name": "variable.other.tad",
    "number": "constant.numeric.tad",
    "operator": "keyword.operator.tad",
    "punctuation": "punctuation.tad",
    "type": "storage.type.tad",
}

_Rule = dict[str, Any]


def grammar() -> _Rule:
    """The grammar as JSON has it."""
    inside = [_include("bracket"), _include("word")]
    return {
        "name": "tadc",
        "scopeName": "source.tad",
        "fileTypes": ["tad"],
        "patterns": [_include("declaration"), *inside],
        "repository": {
            "declaration": {"patterns": _declarations(inside)},
            "bracket": {"patterns": [_bracket(opener, closer, inside) for opener, closer in _BRACKETS]},
            "word": {"patterns": _words()},
        },
    }


#: `[at e`, then brackets of each kind.
_BRACKETS = ((rf"(\[)\s*({AT})\b(?=\s*[\w(])", r"\]"), (r"(\[)", r"\]"), (r"(\()", r"\)"), (r"(\{)", r"\}"))

#: Where a word may begin: behind the `_` of a lower bound too.
_START = r"(?:\b|(?<=\}_)|(?<=\}\s_))"


def _include(name: str) -> _Rule:
    return {"include": f"#{name}"}


def _match(pattern: str, *kinds: TokenClass) -> _Rule:
    """A rule for a pattern with a group of each of some classes."""
    return {"match": pattern, "captures": _captures(*kinds)}


def _captures(*kinds: TokenClass) -> _Rule:
    return {str(n): {"name": SCOPES[kind]} for n, kind in enumerate(kinds, 1)}


def _bracket(opener: str, closer: str, inside: list[_Rule]) -> _Rule:
    return {
        "begin": opener,
        "beginCaptures": _captures("punctuation", "keyword"),
        "end": f"({closer})",
        "endCaptures": _captures("punctuation"),
        "patterns": inside,
    }


def _declarations(inside: list[_Rule]) -> list[_Rule]:
    """What stands behind a colon outside of brackets, and `at` behind a type."""
    index = {
        "begin": rf"(:)\s*({INDEX})\b",
        "beginCaptures": _captures("punctuation", "type"),
        "end": r"(?=[;#]|$)",
        "patterns": [
            _match(rf"\b({IN})\b", "keyword"),
            _match(rf"\b({INCREASING})\b(?=\s*(?:[;#]|$))", "keyword"),
            *inside,
        ],
    }
    types = rf"(?:{'|'.join(FLOATS)}|{TYPE_PARAMETER.pattern})"
    return [
        index,
        _match(rf"(:)\s*({AT})\b", "punctuation", "keyword"),
        _match(rf"(:)\s*({types})\s+({AT})\b", "punctuation", "type", "keyword"),
        _match(rf"(:)\s*({types})\b", "punctuation", "type"),
        _match(rf"(?<=\])\s*({AT})\b", "keyword"),
    ]


def _words() -> list[_Rule]:
    """What means the same everywhere."""
    classes: dict[str, TokenClass] = {word: OTHER_CLASSES.get(word, "keyword") for word in sorted(KEYWORDS)}
    named = {**FUNCTIONS, **{alias: FUNCTIONS[name] for alias, name in ALIASES.items()}}
    reserved = sorted(name for name, function in named.items() if function.is_reserved)
    others = [*sorted(named.keys() - reserved), *(rf"{family.prefix}\d+" for family in FAMILIES)]
    return [
        _match(r"(#.*)", "comment"),
        # Behind the braces of a reduction a lower bound begins.
        _match(r"(?<=\})\s*(_)", "operator"),
        _match(rf"{_START}({SCAN})\b(?=\s*\{{)", "keyword"),
        *(
            _match(rf"{_START}({'|'.join(w for w in classes if classes[w] == kind)})\b", kind)
            for kind in dict.fromkeys(classes.values())
        ),
        _match(rf"{_START}({'|'.join(SPELLED_REDUCTIONS)})\b(?=\s*\{{)", "function"),
        _match(rf"{_START}({'|'.join(reserved)})\b", "function"),
        _match(rf"{_START}({'|'.join(others)})\b(?=\s*\()", "function"),
        _match(rf"{_START}({'|'.join(COMPUTED)})\b", "type"),
        _match(rf"{_START}([A-Za-z_]\w*)", "name"),
        _match(r"((?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)", "number"),
        _match(r"(\*\*|//|<=|>=|!=|[-+*/%^=<>])", "operator"),
        _match(r"([,;:])", "punctuation"),
    ]


if __name__ == "__main__":
    FILE.write_text(json.dumps(grammar(), indent=1) + "\n", encoding="utf-8")
