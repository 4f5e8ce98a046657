"""One random program against JAX."""

from __future__ import annotations

import numpy as np

from tests.fuzz.evaluate import Evaluator, Flat
from tests.fuzz.generate import generate
from tests.fuzz.shrink import shrink
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


def failure(seed: int, *, order: int) -> str | None:
    """What is wrong with the program of a seed, with a smaller one that fails too; None if nothing is."""
    program = generate(seed, small=order > 1)
    error = _error(program, order, seed)
    if error is None:
        return None
    kind = error.split(":", 1)[0]

    def fails(candidate: Program) -> bool:
        return (_error(candidate, order, seed) or "").split(":", 1)[0] == kind

    small = shrink(program, fails)
    rest = _error(small, order, seed)
    return f"seed {seed}, order {order}\n{error}\n\nprogram:\n{program}\nsmaller:\n{small}\n{rest}"


def _error(program: Program, order: int, seed: int) -> str | None:
    try:
        compare(program, order=order, seed=seed)
    # Whatever the compiler raises is what is looked for.
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None
