"""A function of parts of its arguments along an index like that of a batch; parts of results as one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

import tadc
from tadc.apps.blocks.batch_axes import BatchAxis
from tadc.apps.blocks.joining import JOIN


def in_parts(
    f: tadc.Function, axis: BatchAxis, arrays: Mapping[str, NDArray[Any]], cuts: Sequence[int]
) -> list[NDArray[Any]]:
    """The results of f, of as many calls as there are parts between cuts."""
    parts = {name: np.split(arrays[name], cuts, d) for name, d in axis.dims.items() if name in arrays}
    found: list[Sequence[NDArray[Any]]] = []
    for n in range(len(cuts) + 1):
        results = f(**{name: parts[name][n] if name in parts else array for name, array in arrays.items()})
        found.append(results if len(f.outputs) > 1 else [results])
    return [
        _as_one(axis, name, several)
        for name, several in zip(f.outputs, zip(*found, strict=True), strict=True)
    ]


def _as_one(axis: BatchAxis, name: str, parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
    if name in axis.dims:
        return np.concatenate(parts, axis.dims[name])
    if name not in axis.joined:
        for part in parts[1:]:
            np.testing.assert_array_equal(part, parts[0])
        return parts[0]
    found, *others = parts
    for part in others:
        found = JOIN[axis.joined[name]](found, part)
    return found
