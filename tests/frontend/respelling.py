"""Programs in the spelling of other languages, or with a letter wrong, which mean what the originals do."""

from __future__ import annotations

import random
import re

from tadc.frontend.foreign_functions import CALLS
from tadc.frontend.functions import FUNCTIONS

#: A text, and what may stand in its place: `\1` is its first group.
_SPELLINGS: list[tuple[str, list[str]]] = [
    *[
        (
            rf"(?<![.\\])\b{name}\b(?=\()",
            [word for word, hint in CALLS.items() if hint.text == name and word.isalpha()],
        )
        for name in FUNCTIONS
    ],
    (r"(?<![.\\])\b(exp|sin|cos|log|sqrt|tanh|abs)\b(?=\()", [r"np.\1", r"math.\1", r"jnp.\1", r"\\\1"]),
    (r"\*\*(?=[0-9a-z])", ["^", ".^"]),
    (r"\*\*2\b", ["²"]),
    (r"\*\*3\b", ["³"]),
    (
        r"(?<![.*])(?<!\d)\*(?!\*)",
        ["\N{MIDDLE DOT}", "\N{MULTIPLICATION SIGN}", "\N{DOT OPERATOR}", ".*", r" \\cdot "],
    ),
    (r"(?<=\d)\*(?=[a-z]\b)", [""]),
    (r"(?<=\d)\*(?=\()", [""]),
    (r"(?<! /) / ", [" ÷ ", " ./ "]),
    (r"(?<!_)-", ["\N{MINUS SIGN}", "\N{EN DASH}"]),
    (r"<=", ["≤"]),
    (r">=", ["≥"]),
    (r"!=", ["≠", "<>"]),
    (r" = ", [" := ", " == ", " ← "]),
    (r"\bsum(?=\{)", ["∑", "Σ"]),
    (r"\bpi\b", ["π", "M_PI", "np.pi"]),
    (r"\bf64\b", ["float64", "double", "Float64"]),
    (r"\bf32\b", ["float32", "single"]),
    (r" and ", [" && "]),
    (r"(?<=: f64)\[([^][]*)\]", [r"(\1)"]),
    (r"\b([a-z])\[([a-z]), ([a-z])\](?! [:=←])", [r"\1[\2][\3]", r"\1[\2; \3]"]),
    (r"\b([0-9]+)00\b", [r"\1e2"]),
    (r"(?<== )(?=[a-z])", ["+"]),
    (r"\n(?=[a-z]+ *[:\[])", ["; "]),
]


def respelt(text: str, seed: int) -> str:
    """A program with some texts spelt otherwise."""
    draw = random.Random(seed)
    for _ in range(draw.randint(1, 4)):
        pattern, words = draw.choice([s for s in _SPELLINGS if s[1] and re.search(s[0], text, re.MULTILINE)])
        places = list(re.finditer(pattern, text, re.MULTILINE))
        for place in sorted(
            draw.sample(places, draw.randint(1, min(3, len(places)))), key=lambda m: -m.start()
        ):
            text = text[: place.start()] + place.expand(draw.choice(words)) + text[place.end() :]
    return text


def mistyped(text: str, seed: int) -> str:
    """A program of which one letter is left out, doubled, or swapped with its neighbour."""
    draw = random.Random(seed)
    at = draw.randrange(len(text) - 1)
    first, second = text[at : at + 2]
    left_out, doubled = text[:at] + text[at + 1 :], text[: at + 1] + text[at:]
    swapped = text[:at] + second + first + text[at + 2 :]
    return draw.choice([left_out, doubled, swapped] if (first + second).isalnum() else [left_out, doubled])
