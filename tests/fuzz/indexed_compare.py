"""One random program with index arrays against JAX.

Of every second seed the value and all gradients of every order, printed and read back too; of the others
derivatives along directions, by a mix of modes. Sizes are symbols, or numbers.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

import tadc
from tests.fuzz import maxima
from tests.fuzz.compare import Skipped, failing
from tests.fuzz.evaluate import Evaluator, Flat
from tests.fuzz.indexed import generate
from tests.fuzz.sized_tree import Sizes
from tests.fuzz.tree import Program
from tests.reference.checking import check

#: Types that index arrays may have.
DTYPES = (np.int32, np.int64, np.uint32, np.uint8)


def failure(seed: int, order: int) -> str | None:
    """What is wrong with the program of a seed; None if nothing is."""
    program, sizes = generate(seed, small=order > 1)
    known = program.at(sizes)
    if not any(np.prod(shape) for shape in known.outputs.values()):
        raise Skipped("no elements")
    rng = random.Random(seed)
    modes = [rng.choice(("vjp", "jvp")) for _ in range(order)]

    def wrong(candidate: Program) -> None:
        (_gradients if seed % 2 else _directions)(candidate, str(candidate), {}, modes, seed)

    def wrong_with_symbols(_: Program) -> None:
        (_gradients if seed % 2 else _directions)(known, str(program), sizes, modes, seed)

    title = f"seed {seed}, {'gradients' if seed % 2 else ', then '.join(modes)}, sizes {dict(sizes)}"
    title += "".join(f"\n{name} = {array.values.tolist()}" for name, array in known.arrays.items())
    if seed % 3 == 0:
        return failing(known, wrong, title)
    found = _only(known, wrong_with_symbols, title)
    # With numbers it can be made smaller, if it fails so too.
    return found and f"{found}\n\n{program}\n{failing(known, wrong, 'with numbers for sizes:') or ''}"


def _only(program: Program, compare: Callable[[Program], None], title: str) -> str | None:
    try:
        compare(program)
    # Whatever the compiler raises is what is looked for.
    except Exception as error:
        return f"{title}\n{type(error).__name__}: {error}"
    return None


def _index_arrays(program: Program, seed: int) -> dict[str, NDArray[Any]]:
    """Those that the program takes, of one of the types that they may have."""
    dtype = DTYPES[seed % len(DTYPES)]
    return {name: array.values.astype(dtype) for name, array in program.arrays.items()}


def _floats(program: Program, seed: int) -> dict[str, NDArray[np.float64]]:
    rng = np.random.default_rng(seed)
    return {name: rng.uniform(-1, 1, shape) for name, shape in program.arguments.items()}


def _gradients(program: Program, text: str, sizes: Sizes, modes: Sequence[str], seed: int) -> None:
    """Assert the value and all gradients up to an order."""
    check(
        "".join(_with_value(line, sizes) for line in text.splitlines(keepends=True)),
        Evaluator(program),
        {**_floats(program, seed), **_index_arrays(program, seed)},
        order=len(modes),
        reprinted=len(modes) if seed % 4 == 1 else 0,
        together=seed % 3 == 0,
        layout=Flat(),
        shapes=program.outputs,
        compiled=False,
        seed=seed,
    )


def _with_value(line: str, sizes: Sizes) -> str:
    """The line of a program, with its value if it is a size that no array tells."""
    words = line.split()
    return f"{line.rstrip()} = {sizes[words[1]]}\n" if words[:1] == ["size"] else line


def _directions(program: Program, text: str, sizes: Sizes, modes: Sequence[str], seed: int) -> None:
    """Assert derivatives along directions, by these modes, the first of the program first."""
    rng = np.random.default_rng(seed)
    inputs = _floats(program, seed)
    directions = [{name: rng.uniform(-1, 1, x.shape) for name, x in inputs.items()} for _ in modes]
    weights = {name: rng.uniform(-1, 1, shape) for name, shape in program.outputs.items()}
    want, size = maxima.expected(Evaluator(program), inputs, directions, weights)
    got = maxima.contraction(
        tadc.function(text),
        inputs,
        directions,
        weights,
        modes,
        sizes,
        seed % 5 == 0,
        _index_arrays(program, seed),
    )
    assert np.isfinite(want), "the reference itself is not finite"
    assert abs(got - want) <= 1e-9 * (1 + size), f"{got}, not {want}, of addends up to {size}"


def bits(seed: int, order: int, threads: Sequence[int] = (1, 2, 1)) -> list[Mapping[str, bytes]]:
    """The elements of all results of the last of so many vjps, for these numbers of threads."""
    program, sizes = generate(seed, small=order > 1)
    known = program.at(sizes)
    function = tadc.function(str(known))
    arrays: dict[str, Any] = {**_floats(known, seed), **_index_arrays(known, seed)}
    rng, shapes = np.random.default_rng(seed), dict(known.outputs)
    for _ in range(order):
        function = tadc.vjp(function)
        arrays |= {name: rng.uniform(-1, 1, shapes[of]) for of, name in function.cotangents.items()}
        shapes = {gradient: arrays[name].shape for name, gradient in function.gradients.items()}
    before = tadc.get_num_threads()
    found: list[Mapping[str, bytes]] = []
    try:
        for count in threads:
            tadc.set_num_threads(count)
            result = function(**{name: arrays[name] for name in function.inputs})
            results = result if len(function.outputs) > 1 else (result,)
            found.append({n: np.asarray(x).tobytes() for n, x in zip(function.outputs, results, strict=True)})
    finally:
        tadc.set_num_threads(before)
    return found
