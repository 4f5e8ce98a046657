"""Options with several values: split by commas, given again, or both. All of them are read here."""

from __future__ import annotations

import re
from collections.abc import Iterable

from tadc.commands.option_parser import BadUsage
from tadc.frontend.dtypes import FLOATS, types_listed

#: What the help says of them, once.
CONVENTION = "several values stand after commas, or the option again: --wrt a,b or --wrt a --wrt b"

#: Where a text with several values is cut. A comma within a file's name, or within a pair, is none of these.
_CUTS = {
    "names": re.compile(r","),
    "values": re.compile(r",(?=\s*[^\W\d]\w*\s*=)"),
    "pairs": re.compile(r";|,(?=\s*[^\W\d]\w*\s*,\s*[^\W\d]\w*\s*=)"),
}


def split(kind: str, texts: Iterable[str]) -> list[str]:
    """The values in all texts of an option: names, NAME=VALUE, or A,B=VALUE."""
    items = [item.strip() for text in texts for item in _CUTS[kind].split(text)]
    return [item for item in items if item] if kind == "pairs" else items


def sizes_of(texts: Iterable[str]) -> dict[str, int]:
    """The values that `--size N=4,M=5` gives, an item for each. Raises BadUsage."""
    found: dict[str, int] = {}
    for item in texts:
        name, equals, value = item.replace(" ", "").partition("=")
        number = re.fullmatch(r"([0-9]+)(?:\*\*([0-9]{1,2}))?", value)
        if not equals or not name or number is None:
            raise BadUsage(
                f"`--size {item}` is not of the form NAME=NUMBER", "write `--size N=4` or `N=10**6`"
            )
        if name in found:
            raise BadUsage(f"`--size` gives `{name}` twice")
        found[name] = int(number[1]) ** int(number[2] or 1)
    return found


def types_of(texts: Iterable[str]) -> dict[str, str]:
    """The types that `--dtype T=f32,S=f64` gives, an item for each. Raises BadUsage."""
    found: dict[str, str] = {}
    for item in texts:
        name, equals, type = item.replace(" ", "").partition("=")
        if not equals or not name or type not in FLOATS:
            raise BadUsage(f"`--dtype {item}` is not of the form T=TYPE", f"types are {types_listed('and')}")
        found[name] = type
    return found
