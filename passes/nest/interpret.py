"""Runs a nest on arrays of NumPy, element by element, and notes what it reads and writes.

It is the meaning of a nest: loops run in order whatever their kind, and each operation rounds to its type. A
fold joins its elements in the order of its indices; the lanes of one are joined by halves. A `Store` that
`joins` with no `fresh` rows always does. What is read `along` a loop is an element as any other. Room that is
filled before each turn of a reduction is filled once for each: all threads find what one of them copied.

A nest becomes Python, which runs a million steps in a second or two.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tadc.lattice.late_dataclasses import dataclass
from tadc.passes.maps.map import TensorDecl
from tadc.passes.nest import scalars
from tadc.passes.nest.nest import Nest
from tadc.passes.nest.to_python import NestFault, PythonSource, TooManyAccesses, Unwritten

__all__ = ["Accesses", "NestFault", "Run", "TooManyAccesses", "Unwritten", "interpret"]

Accesses = Counter[tuple[str, int]]
"""How often each element of each tensor, by its number in row-major order."""


@dataclass(frozen=True)
class Run:
    """The results of a nest, and the elements that it `loads` and `stores`, but for tensors that it stages.

    Elements that it did not write are `unwritten`; in `results` they are NaN.
    """

    results: dict[str, NDArray[Any]]
    loads: Mapping[str, Sequence[int]]
    stores: Mapping[str, Sequence[int]]
    unwritten: dict[str, list[tuple[int, ...]]]

    @cached_property
    def reads(self) -> Accesses:
        """The accesses that read."""
        return _counted(self.loads)

    @cached_property
    def writes(self) -> Accesses:
        """The accesses that write."""
        return _counted(self.stores)


def interpret(
    nest: Nest,
    arrays: Mapping[str, NDArray[Any]],
    values: Mapping[str, int] | None = None,
    most: int = 10**7,
    called: Mapping[str, Nest] = MappingProxyType({}),
) -> Run:
    """Run a nest on its arguments by name, at values of its sizes and ranges; what it may call is `called`.

    Raises Fault for an access out of range and a read of an element that nothing wrote, TooLong for more than
    `most` accesses to one tensor, ValueError for an array of the wrong shape or a function that is unknown.
    """
    source = PythonSource(dict(values or {}), called)
    shapes = {t.name: tuple(e.evaluate(source.values) for e in t.shape) for t in nest.tensors}
    source.nest(nest)
    data = {t.name: _elements(t, shapes[t.name], arrays.get(t.name), nest) for t in nest.tensors}
    reads: dict[str, list[int]] = {name: [] for name in data}
    writes: dict[str, list[int]] = {name: [] for name in data}
    names = {**source.given, "most": most, "TooLong": TooManyAccesses, "fault": source.fault}
    for kind, found in (("data", data), ("reads", reads), ("writes", writes)):
        names |= {f"{source.called(name)}_{kind}": elements for name, elements in found.items()}
    exec(compile("\n".join(source.lines), f"<nest {nest.name}>", "exec"), names)
    with np.errstate(all="ignore"):
        kernel: Any = names["kernel"]
        kernel()
    made = [tensor for tensor in nest.tensors if tensor.name in nest.computed]
    return Run(
        {t.name: _array(t, data[t.name], shapes[t.name]) for t in made},
        reads,
        writes,
        {t.name: missing for t in made if (missing := _missing(data[t.name], shapes[t.name]))},
    )


def _elements(
    tensor: TensorDecl, shape: tuple[int, ...], given: NDArray[Any] | None, nest: Nest
) -> list[Any]:
    """The elements of a tensor before the nest runs, None where nothing wrote them."""
    if tensor.name in nest.computed:
        return [None] * int(np.prod(shape))
    if given is None or given.shape != shape:
        raise ValueError(f"`{tensor.name}` needs an array of shape {shape}")
    number = scalars.number_of(tensor.type)
    return [number(element) for element in given.ravel()]


def _array(tensor: TensorDecl, elements: Sequence[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    whole = [np.nan if element is None else element for element in elements]
    return np.array(whole, scalars.number_of(tensor.type)).reshape(shape)


def _missing(elements: Sequence[Any], shape: tuple[int, ...]) -> list[tuple[int, ...]]:
    is_missing = np.array([element is None for element in elements], bool).reshape(shape)
    return [tuple(place) for place in np.argwhere(is_missing).tolist()]


def _counted(found: Mapping[str, Sequence[int]]) -> Accesses:
    return Counter((name, number) for name, numbers in found.items() for number in numbers)
