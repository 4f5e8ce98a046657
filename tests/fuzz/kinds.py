"""The kinds of random programs: how each is made, and what is wrong with one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tests.fuzz import compare, generate, sized, sized_compare, special_compare


@dataclass(frozen=True)
class Kind:
    """Programs by seed.

    `failure` says what is wrong with one at an order, None if nothing is; it raises Skipped where there is nothing
    to compare. `program` is its text at an order.
    """

    about: str
    failure: Callable[[int, int], str | None]
    program: Callable[[int, int], str]


KINDS: dict[str, Kind] = {
    "plain": Kind(
        "any program, against JAX",
        compare.failure,
        lambda seed, order: str(generate.generate(seed, small=order > 1)),
    ),
    "sized": Kind(
        "with size symbols, at several of their values",
        sized_compare.failure,
        lambda seed, order: str(sized.generate(seed, small=order > 1)[0]),
    ),
    "special": Kind(
        "factors that are exactly 0, in every mix of modes, against Taylor arithmetic",
        lambda seed, order: special_compare.failure(seed, order, branches=False),
        lambda seed, _: str(special_compare.generate(seed, branches=False)),
    ),
    "branches": Kind(
        "choices whose other branch is infinite or no number, against Taylor arithmetic",
        lambda seed, order: special_compare.failure(seed, order, branches=True),
        lambda seed, _: str(special_compare.generate(seed, branches=True)),
    ),
}
