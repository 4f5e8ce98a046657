"""Names that the compiler makes up, or takes from elsewhere."""

from __future__ import annotations

import re
from collections.abc import Collection, Container, Iterable

_LEGAL = re.compile(r"[A-Za-z][A-Za-z0-9_]*\Z")


def is_legal(name: str) -> bool:
    """Whether a tensor, a size or an index may have this name."""
    from tadc.frontend.lexer import RESERVED  # and with it all functions, which a kernel from disk needs not

    return bool(_LEGAL.match(name)) and name not in RESERVED


def first_free(wish: str, *taken: Container[str]) -> str:
    """The first of `wish`, `wish_1`, `wish_2`, … that is in none of `taken`."""
    name, number = wish, 0
    while any(name in names for names in taken):
        number += 1
        name = f"{wish}_{number}"
    return name


def distinct(wishes: Iterable[str], otherwise: str, taken: Collection[str]) -> tuple[str, ...]:
    """Names as they are wished, where these are legal and new, else `f_0`, … by their places."""
    chosen: list[str] = []
    for number, wish in enumerate(wishes):
        fits = is_legal(wish) and wish not in taken and wish not in chosen
        chosen.append(wish if fits else first_free(f"{otherwise}_{number}", taken, chosen))
    return tuple(chosen)
