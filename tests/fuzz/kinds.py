"""The kinds of random programs: how each is made, and what is wrong with one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from tests.fuzz import (
    blocks,
    compare,
    components,
    generate,
    ieee,
    indexed,
    indexed_compare,
    maxima,
    options,
    rows,
    rows_compare,
    sized,
    sized_compare,
    special_compare,
    styles,
    zeros,
)
from tests.fuzz.styles import Style

Failure: TypeAlias = Callable[[int, int], str | None]
Text: TypeAlias = Callable[[int, int], str]


@dataclass(frozen=True)
class Kind:
    """Programs by seed.

    `failure` says what is wrong with one at an order, None if nothing is; it raises Skipped where there is
    nothing to compare. `program` is its text at an order.
    """

    about: str
    failure: Failure
    program: Text


def _against_jax(style: Style) -> tuple[Failure, Text]:
    return (
        lambda seed, order: compare.failure(seed, order, style),
        lambda seed, order: str(generate.generate(seed, small=order > 1, style=style)),
    )


def _sized(style: Style) -> tuple[Failure, Text]:
    return (
        lambda seed, order: sized_compare.failure(seed, order, style),
        lambda seed, order: str(sized.generate(seed, small=order > 1, style=style)[0]),
    )


def _special(branches: bool) -> tuple[Failure, Text]:
    return (
        lambda seed, order: special_compare.failure(seed, order, branches=branches),
        lambda seed, _: str(special_compare.generate(seed, branches=branches)),
    )


KINDS: dict[str, Kind] = {
    "plain": Kind("any program, against JAX", *_against_jax(styles.PLAIN)),
    "f32": Kind("elements of f32, and of f32 and f64", *_against_jax(styles.NARROW)),
    "floors": Kind("quotients and remainders in bounds, reads, conditions", *_against_jax(styles.FLOORS)),
    "tiny": Kind("extents of 0 and 1", *_against_jax(styles.TINY)),
    "wide": Kind("extents of several vectors", *_against_jax(styles.WIDE)),
    "sized": Kind("size symbols, at several of their values", *_sized(styles.PLAIN)),
    "sized-floors": Kind("size symbols, quotients of them", *_sized(styles.FLOORS)),
    "sized-tiny": Kind("size symbols that are 0 or 1", *_sized(styles.TINY)),
    "special": Kind("factors that are exactly 0, by every mix of modes", *_special(False)),
    "branches": Kind("also branches not taken that are infinite", *_special(True)),
    "zeros": Kind(
        "roots, norms and powers where factors vanish, against limits",
        zeros.failure,
        lambda seed, _: zeros.generate(seed).text,
    ),
    "maxima": Kind(
        "maxima and minima over computed values, by any mix of modes",
        maxima.failure,
        lambda seed, order: maxima.generate(seed, small=order > 1)[0],
    ),
    "index": Kind(
        "index arrays: values and gradients, or any mix of modes",
        indexed_compare.failure,
        lambda seed, order: str(indexed.generate(seed, small=order > 1)[0]),
    ),
    "rows": Kind(
        "rows of edges by `ptr` and by `dst`: values, gradients, and how large all tensors are",
        rows_compare.failure,
        lambda seed, order: str(rows.generate(seed, small=order > 1)[0]),
    ),
    "components": Kind(
        "recurrences of several components, against loops",
        components.failure,
        lambda seed, _: str(components.generate(seed)),
    ),
    "ieee": Kind(
        "values NaN and infinity, against NumPy", ieee.failure, lambda seed, _: str(ieee.generate(seed))
    ),
    "blocks": Kind(
        "values and gradients in blocks, against the single run",
        blocks.failure,
        lambda seed, order: blocks.text_of(seed, order)[0],
    ),
    "options": Kind(
        "ways to compile that have to agree",
        options.failure,
        lambda seed, order: str(generate.generate(seed, small=order > 0)),
    ),
}
