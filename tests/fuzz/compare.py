"""One random program against JAX."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tests.fuzz.evaluate import Evaluator, Flat
from tests.fuzz.generate import generate
from tests.fuzz.shrink import shrink
from tests.fuzz.styles import PLAIN, Style
from tests.fuzz.tree import Program
from tests.reference.checking import check

#: Of programs with f32: what is rounded to it, the reference keeps in f64.
NARROW_TOLERANCE = 2e-3


def compare(program: Program, *, order: int, seed: int) -> None:
    """Assert the value and all gradients up to an order.

    Of every second seed the first gradients are also printed and read back; of every third they
    are also computed together with the value.
    """
    rng = np.random.default_rng(seed)
    types = program.types
    inputs = {
        name: rng.uniform(-1, 1, shape).astype(types[name].replace("f", "float"))
        for name, shape in program.arguments.items()
    }
    check(
        str(program),
        Evaluator(program),
        inputs,
        order=order,
        reprinted=order if seed % 2 else 0,
        tolerance=NARROW_TOLERANCE if "f32" in types.values() else 1e-9,
        together=seed % 3 == 0,
        layout=Flat(),
        shapes=program.outputs,
        compiled=False,
        seed=seed,
    )


class Skipped(Exception):
    """A program that has nothing to compare."""


def failure(seed: int, order: int, style: Style = PLAIN) -> str | None:
    """What is wrong with the program of a seed; None if nothing is."""
    program = generate(seed, small=order > 1, style=style)
    return failing(
        program, lambda candidate: compare(candidate, order=order, seed=seed), f"seed {seed}, order {order}"
    )


def failing(program: Program, compare: Callable[[Program], None], title: str) -> str | None:
    """What a comparison raises, with a smaller program that fails too; None if it raises nothing."""
    error = _error(program, compare)
    if error is None:
        return None
    kind = error.split(":", 1)[0]

    def fails(candidate: Program) -> bool:
        return (_error(candidate, compare) or "").split(":", 1)[0] == kind

    small = shrink(program, fails)
    return f"{title}\n{error}\n\nprogram:\n{program}\nsmaller:\n{small}\n{_error(small, compare)}"


def _error(program: Program, compare: Callable[[Program], None]) -> str | None:
    try:
        compare(program)
    except Skipped:
        return None
    # Whatever the compiler raises is what is looked for.
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None
