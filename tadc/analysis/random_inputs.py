"""Random arrays for the arguments of a program, and the sizes that arrays tell."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tadc.frontend.extents import shape_at, size_sources
from tadc.frontend.program import Argument, Program
from tadc.passes.numpy_types import numpy_type


def told_sizes(program: Program, given: Mapping[str, Any]) -> dict[str, int]:
    """The size symbols whose values arrays tell, or numbers by their names."""
    told: dict[str, int] = {name: int(given[name]) for name in program.sizes if name in given}
    for source in size_sources([a.shape for a in program.arguments]):
        array = given.get(program.arguments[source.argument].name)
        if array is not None and source.dimension < np.ndim(array) and source.symbol not in told:
            rest = source.rest.evaluate(told) if source.rest.variables <= told.keys() else 0
            told[source.symbol] = max(0, (np.shape(array)[source.dimension] - rest) // source.factor)
    return {name: told[name] for name in program.sizes if name in told}


def random_array(argument: Argument, random: Any, low: float) -> Any:
    """An array for an argument of known shape, of numbers from `low` to 1."""
    if argument.is_index_array:
        return _random_places(argument, random)
    return random.uniform(low, 1, shape_at(argument.shape, {})).astype(numpy_type(argument.type))


def _random_places(argument: Argument, random: Any) -> Any:
    """An index array, whose elements are below what it states and do not fall where it is increasing."""
    below = argument.below
    assert isinstance(below, int)
    array = random.integers(0, max(below, 1), shape_at(argument.shape, {}), dtype=np.int32)
    return np.sort(array) if argument.increasing else array
