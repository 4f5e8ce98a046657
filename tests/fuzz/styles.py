"""What random programs have more or less of."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Style:
    """How often things are chosen."""

    #: A form that is divided.
    divided: float = 0.12
    #: Extents of a definition, and sizes of a sum, from 0 on; values of size symbols in SIZES.
    extents: tuple[float, ...] = (0.6, 4, 10, 10, 8, 6, 4)
    sums: tuple[float, ...] = (0.5, 1, 3, 4, 3, 2)
    values: tuple[float, ...] = (2, 3, 4, 5, 3, 3, 1)
    #: Bounds of a sum: a size, constants, one form, several forms.
    ranges: tuple[float, ...] = (6, 3, 4, 3)
    #: An extent that is a quotient of sizes, beside one that is not.
    quotients: float = 1.0
    #: The largest extent of an argument, by rank.
    largest: tuple[int, ...] = (1, 18, 10, 6)
    #: Programs with elements of f32.
    narrow: float = 0.12


PLAIN = Style()
FLOORS = Style(divided=0.6, ranges=(3, 1, 7, 5), quotients=6.0)
TINY = Style(extents=(3, 6, 1), sums=(3, 6, 1), values=(4, 6, 1, 0, 0, 0, 0))
#: Of whole vectors and what is left of them, in f32 too.
WIDE = Style(
    extents=(0, *[1, 1, 1, 0.5, 0.5, 0.5, 0.5, 2, 2, 1, 0.5, 0.5, 1, 1, 2, 2, 2] + [0.3] * 18),
    sums=(0, *[1, 1, 1, 1, 0.5, 0.5, 0.5, 1, 1] + [0.3] * 10),
    largest=(1, 120, 50, 14),
    narrow=0.4,
)
NARROW = Style(narrow=1.0)
