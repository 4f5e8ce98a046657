"""Recurrences that keep their last steps alone.

    let scan{t} u[t: T, i: N] = … u[t - 1, i - 1] … u[t - 1, i + 1] …
    y[i: N] = u[T - 1, i]

The loop over t is the outermost one that goes along the recurrence, so when step t is computed, those before it
are. An element that is read at most D steps after its own may then be stored in the place of the one D + 1 steps
before it: memory has D + 1 steps, by turns. Both distances are forms of indices and sizes, which are
proven to be at most D: from a step back to the one that it reads, and from the last step back to one that another
map reads later.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from tadc.frontend.terms import Domain
from tadc.lattice.affine import Affine
from tadc.lattice.polyhedron import implied
from tadc.passes.maps.map import Map, MapFunction, Marks, Tensor, Window
from tadc.passes.maps.memory_of_tensors import memory_of
from tadc.passes.maps.recurrence import reads_of, recurrence_of
from tadc.passes.maps.row_reads import bytes_of

MOST_STEPS = 64
"""A window has no more steps: what is read further back is mostly read from all steps."""

LEAST_BYTES = 32 << 10
"""Tensors of fewer bytes stay in the nearest cache anyway."""


@dataclass(frozen=True)
class Distance:
    """How many steps before another an element is read, and what holds there."""

    form: Affine
    facts: Domain


def with_windows(function: MapFunction) -> MapFunction:
    """The function, with marks on recurrences of which the last steps alone are kept."""
    between = {tensor.name for tensor in memory_of(function).temporaries}
    maps: list[Map] = []
    for item in function.maps:
        window = None
        if item.order is not None and item.marks == Marks() and item.tensors[0].name in between:
            window = _window(item, function)
        maps.append(item if window is None else replace(item, marks=replace(item.marks, window=window)))
    return replace(function, maps=tuple(maps))


def _window(item: Map, function: MapFunction) -> Window | None:
    """The window of a recurrence; None where all of it is to be kept."""
    (tensor,) = item.tensors
    weights = weights_of(item)
    if weights is None:
        return None
    window = Window(1, weights)
    distances = [
        Distance(window.step([Affine.var(n) for n in item.indices]) - window.step(at), facts + function.known)
        for at, facts in reads_of(item, tensor.name)
    ]
    last = last_step(tensor, window)
    for reader in function.maps:
        if reader is not item:
            reads = reads_of(reader, tensor.name)
            distances += [Distance(last - window.step(at), facts + function.known) for at, facts in reads]
    back = most_back(distances)
    if back is None or not _is_worth(tensor, replace(window, rows=back + 1)):
        return None
    return replace(window, rows=back + 1)


def weights_of(item: Map) -> tuple[int, ...] | None:
    """The weights of a recurrence's subscripts whose sum counts the steps that it goes along, one after the other."""
    recurrence = recurrence_of(item)
    assert recurrence is not None
    if recurrence.order is not None:
        weights = tuple(recurrence.order.coefficient(name) for name in item.indices)
        return weights if any(abs(weight) == 1 for weight in weights) else None
    if not recurrence.ordered:
        return None
    first = recurrence.ordered[0]
    sign = -1 if first in recurrence.down else 1
    return tuple(sign if name == first else 0 for name in item.indices)


def last_step(tensor: Tensor, window: Window) -> Affine:
    """The last step of a tensor."""
    zero = Affine.const(0)
    ends = zip(tensor.shape, window.weights, strict=True)
    return window.step([size - 1 if weight > 0 else zero for size, weight in ends])


def most_back(distances: Iterable[Distance]) -> int | None:
    """The most steps that any of these reads goes back; None where that is not proven to be few."""
    most = 0
    for each in distances:
        if implied(most - each.form, each.facts):
            continue
        low, high = most + 1, MOST_STEPS
        if not implied(high - each.form, each.facts):
            return None
        while low < high:
            middle = (low + high) // 2
            if implied(middle - each.form, each.facts):
                high = middle
            else:
                low = middle + 1
        most = low
    return most


def _is_worth(tensor: Tensor, window: Window) -> bool:
    """Whether a window saves memory that counts, as far as sizes are known."""
    if any(not extent.is_constant for extent in tensor.shape):
        steps = tensor.shape[window.axis]
        return not steps.is_constant or steps.constant > 2 * window.rows
    kept = bytes_of(replace(tensor, shape=window.shape(tensor.shape)))
    return bytes_of(tensor) >= max(LEAST_BYTES, 2 * kept)
