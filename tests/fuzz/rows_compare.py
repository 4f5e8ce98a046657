"""One random program over rows in both of its forms: the same values and gradients, and the same sizes and
steps.

Values and gradients are compared with JAX; all tensors of a derivative, those that the compiler adds too,
have no more elements than a few times what goes in and comes out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

import tadc
from tests.fuzz.compare import failing
from tests.fuzz.evaluate import Evaluator, Flat
from tests.fuzz.rows import by_dst, generate
from tests.fuzz.tree import Program
from tests.reference.checking import check
from tests.reference.sizes_of_tensors import excess

#: Where tensors are measured: any two of these multiplied are more than all that there is.
MEASURED = {"N": 1000, "E": 4000, "K": 3}


def failure(seed: int, order: int) -> str | None:
    """What is wrong with the program of a seed; None if nothing is."""
    program, sizes = generate(seed, small=order > 1)
    for form, sized in {"ptr": program, "dst": by_dst(program, sizes)}.items():
        known = sized.at(sizes)

        def wrong(candidate: Program) -> None:
            _values(candidate, order, seed)

        title = f"seed {seed}, by {form}, sizes {sizes}"
        title += "".join(f"\n{name} = {array.values.tolist()}" for name, array in known.arrays.items())
        if found := failing(known, wrong, title):
            return found
        if found := measured(str(sized), order):
            return f"{title}\n{found}\n{sized}"
    return None


def _values(program: Program, order: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    index_arrays: dict[str, NDArray[Any]] = {name: array.values for name, array in program.arrays.items()}
    check(
        str(program),
        Evaluator(program),
        {name: rng.uniform(-1, 1, shape) for name, shape in program.arguments.items()} | index_arrays,
        order=order,
        reprinted=order if seed % 4 == 1 else 0,
        together=seed % 3 == 0,
        layout=Flat(),
        shapes=program.outputs,
        compiled=False,
        seed=seed,
    )


def measured(text: str, order: int, sizes: Mapping[str, int] = MEASURED) -> str | None:
    """Which tensor of a derivative of a program is too large, in a few words."""
    function = tadc.function(text)
    for level in range(order + 1):
        function = tadc.vjp(function) if level else function
        known = {name: sizes[name] for name in function.program.sizes}
        if found := excess(function, known):
            return f"order {level}: {found}"
    return None
