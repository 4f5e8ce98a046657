"""Characters and commands of LaTeX that look or read like something of the language."""

from __future__ import annotations

import re
import unicodedata

from tadc.frontend.elsewhere import Hint
from tadc.frontend.foreign_functions import CALLS
from tadc.frontend.functions import FUNCTIONS, REDUCTIONS

#: Commands of LaTeX that are other words here, besides functions, reductions and Greek letters.
_LATEX = {
    **dict.fromkeys(("cdot", "times"), "*"),
    **dict.fromkeys(("le", "leq"), "<="),
    **dict.fromkeys(("ge", "geq"), ">="),
    **dict.fromkeys(("ne", "neq"), "!="),
    **dict.fromkeys(("land", "wedge"), "and"),
    **dict.fromkeys(("left", "right", "displaystyle", "quad"), ""),
    **{word: CALLS[word].text or "" for word in ("arcsin", "arccos", "arctan", "ln")},
}
_GREEK = """alpha beta gamma delta epsilon varepsilon zeta eta theta iota kappa lambda mu nu xi rho sigma tau
phi varphi chi psi omega Gamma Delta Theta Lambda Xi Phi Psi Omega ell pi""".split()


def latex(command: str) -> Hint:
    """What a command such as `\\sum` is here."""
    name = command.removeprefix("\\")
    if name in _LATEX:
        return Hint(f"write `{_LATEX[name]}`" if _LATEX[name] else "leave it out", _LATEX[name])
    if name in FUNCTIONS or name in REDUCTIONS or name in _GREEK:
        return Hint(f"write `{name}`", name)
    if name in ("frac", "dfrac", "tfrac"):
        return Hint("a fraction is written `a / b`")
    return Hint("commands of LaTeX have no meaning here")


#: Characters that look or read like something of the language.
_LOOKALIKES = {
    "\N{MINUS SIGN}": "-",
    "\N{EN DASH}": "-",
    "\N{EM DASH}": "-",
    "\N{HYPHEN}": "-",
    "\N{NON-BREAKING HYPHEN}": "-",
    "\N{MULTIPLICATION SIGN}": "*",
    "\N{MIDDLE DOT}": "*",
    "\N{DOT OPERATOR}": "*",
    "\N{ASTERISK OPERATOR}": "*",
    "\N{DIVISION SIGN}": "/",
    "\N{DIVISION SLASH}": "/",
    "\N{FRACTION SLASH}": "/",
    "\N{LESS-THAN OR EQUAL TO}": "<=",
    "\N{GREATER-THAN OR EQUAL TO}": ">=",
    "\N{NOT EQUAL TO}": "!=",
    "\N{LOGICAL AND}": "and",
    "\N{N-ARY SUMMATION}": "sum",
    "\N{GREEK CAPITAL LETTER SIGMA}": "sum",
    "\N{N-ARY PRODUCT}": "prod",
    "\N{GREEK CAPITAL LETTER PI}": "prod",
    "\N{GREEK SMALL LETTER PI}": "pi",
    "\N{SQUARE ROOT}": "sqrt",
    "\N{CUBE ROOT}": "cbrt",
    "\N{INFINITY}": "(1/0)",
    "\N{LEFTWARDS ARROW}": "=",
    "\N{COLON EQUALS}": "=",
    "\N{ZERO WIDTH SPACE}": "",
    "\N{ZERO WIDTH NO-BREAK SPACE}": "",
    "\N{SOFT HYPHEN}": "",
}
_DIGITS = "".join(
    unicodedata.lookup(f"SUPERSCRIPT {name}")
    for name in "ZERO ONE TWO THREE FOUR FIVE SIX SEVEN EIGHT NINE".split()
)
_POWER = re.compile(f"[\N{SUPERSCRIPT PLUS SIGN}\N{SUPERSCRIPT MINUS}]?[{_DIGITS}]+")


def character(sign: str) -> str | None:
    """What a character that is not of the language is written as, if it is like something that is."""
    if sign in _LOOKALIKES:
        return _LOOKALIKES[sign]
    same = unicodedata.normalize("NFKC", sign)
    return same if same != sign and len(same) == 1 and same.isascii() and same.isprintable() else None


def superscript(text: str, at: int) -> tuple[str, int] | None:
    """The power that begins at a place, and how many characters it has."""
    found = _POWER.match(text, at)
    if found is None:
        return None
    written = unicodedata.normalize("NFKC", found.group()).replace("\N{MINUS SIGN}", "-").lstrip("+")
    return f"**{written}", len(found.group())


def in_letters(word: str) -> str | None:
    """A name in the letters of the language, as `alpha` for the Greek letter; None where there is no way."""
    spelt = "".join(_spelt(c) for c in unicodedata.normalize("NFKD", word) if not unicodedata.combining(c))
    return spelt if spelt.isascii() and spelt.isidentifier() else None


def _spelt(letter: str) -> str:
    words = unicodedata.name(letter, "").split()
    if words[:1] == ["GREEK"] and words[2:3] == ["LETTER"]:
        name = words[3].lower()
        return {"lamda": "lambda"}.get(name, name) if words[1] == "SMALL" else name.capitalize()
    return letter
