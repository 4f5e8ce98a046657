"""Recurrences that keep only their last steps.

    let scan{t} u[t: T, i: N] = … u[t - 1, i - 1] … u[t - 1, i + 1] …
    y[i: N] = u[T - 1, i]

The loop over t is the outermost one along the recurrence, so step t is computed after all earlier steps. If
no element is read more than D steps after its own, memory for D + 1 steps is enough: each step overwrites the
one D + 1 before it. Two distances are proven to be at most D, as affine forms of indices and sizes: from a
step back to the one it reads, and from the last step back to one that another map reads later.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from tadc.frontend.terms import Domain
from tadc.lattice.affine import Affine
from tadc.lattice.late_dataclasses import dataclass, replace
from tadc.lattice.polyhedron import implied
from tadc.passes.maps.map import Map, MapFunction, Sweep, TensorDecl, Window
from tadc.passes.maps.memory_of_tensors import memory_of
from tadc.passes.maps.recurrence import reads_of, recurrence_of
from tadc.passes.maps.row_reads import bytes_of
from tadc.passes.terms.costs import FIRST, LARGE

MOST_STEPS = LARGE
"""A window has no more steps: what is read further back is mostly read from all steps."""

LEAST_BYTES = FIRST
"""Tensors of fewer bytes stay in the nearest cache anyway."""


@dataclass(frozen=True)
class Distance:
    """How many steps before another an element is read, and what holds there.

    The map that is its `reader` reads the element `at` these subscripts. It runs `along` with the
    recurrence, or after it.
    """

    form: Affine
    facts: Domain
    tensor: TensorDecl
    at: tuple[Affine, ...]
    reader: Map
    along: bool


def window_of(
    item: Map,
    function: MapFunction,
    members: Sequence[Map] = (),
    rows: int = 0,
    *,
    ahead: int = 0,
    any_size: bool = False,
    is_given: bool = False,
) -> Window | None:
    """The window of a map's tensors in between; None where all of them are to be kept.

    The map may be one of `members` of a sweep, which run for so many `rows` of steps at a time; those that go
    back over its steps have so many more `ahead`. Others read its last steps alone, or all are kept. With
    `any_size` it need not be worth much memory, and
    if it `is_given` none.
    """
    weights = weights_of(item)
    between = {tensor.name for tensor in memory_of(function).temporaries}
    tensors = [tensor for tensor in item.tensors if tensor.name in between]
    leader = next((member for member in members if member.order is not None), None)
    # What a map of a sweep computes has a step of its own each.
    is_apart = leader is None or is_within(item, steps_of(leader), function.known)
    if weights is None or not tensors or not is_apart:
        return None
    window, back = Window(1, weights), 0
    inside = {member.name: member for member in members}
    for reader in function.maps:
        member = inside.get(reader.name)
        distances = list(_distances(reader, member, item, tensors, window, function.known))
        most = most_of((each.form, each.facts) for each in distances)
        if most is None:
            return None
        if distances:
            is_back = member is not None and _is_down(member) != _is_down(item)
            # A tile of a batch that is moved back computes steps once more, after all of those at hand.
            back = max(back, most + (0 if member is None else ahead if is_back else rows - 1))
    window = replace(window, rows=max(back + 1, rows))
    least = 0 if any_size else LEAST_BYTES
    return window if is_given or _is_worth(tensors[0], window, least) else None


def _is_down(member: Map) -> bool:
    return member.marks.sweep is not None and member.marks.sweep.down


def distances_of(item: Map, function: MapFunction) -> Iterator[Distance]:
    """How far back the elements of a map that has a window are read."""
    window, tape = item.marks.window, item.marks.tape
    assert window is not None
    chains = {item.marks.chain, tape and tape.back} - {None}
    tensors = [tensor for tensor in item.tensors if tensor.name in function.windows]
    for reader in function.maps:
        member = reader if reader.marks.chain in chains else None
        yield from _distances(reader, member, item, tensors, window, function.known)


def _distances(
    reader: Map, member: Map | None, item: Map, tensors: Sequence[TensorDecl], window: Window, known: Domain
) -> Iterator[Distance]:
    """How far back a map reads the elements of another, or its own: from the step that it runs with if it is
    a member of the same sweep, else from the last one."""
    if reader.tensors == item.tensors:
        here = window.step([Affine.var(name) for name in item.indices])
    elif member is not None:
        assert member.marks.sweep is not None
        step = member.marks.sweep.step([Affine.var(name) for name in member.indices])
        here = step * window.weights[window.axis]
    else:
        here = last_step(tensors[0], window)
    for tensor in tensors:
        for at, facts in reads_of(reader, tensor.name):
            along = member is not None or reader.tensors == item.tensors
            yield Distance(here - window.step(at), facts + known, tensor, at, reader, along)


def weights_of(item: Map) -> tuple[int, ...] | None:
    """The weights of a map's subscripts whose sum counts the steps that it goes along, one by one."""
    sweep, recurrence = item.marks.sweep, recurrence_of(item)
    if sweep is not None:
        sign = (-1 if sweep.down else 1) if sweep.is_step else 0
        return tuple(sign * (n == sweep.index) for n in range(len(item.indices))) if sign else None
    assert recurrence is not None
    if recurrence.order is not None:
        weights = tuple(recurrence.order.coefficient(name) for name in item.indices)
        return weights if any(abs(weight) == 1 for weight in weights) else None
    if not recurrence.ordered:
        return None
    first = recurrence.ordered[0]
    sign = -1 if first in recurrence.down else 1
    return tuple(sign if name == first else 0 for name in item.indices)


def steps_along(item: Map) -> Sweep | None:
    """How a recurrence goes along the index that counts its steps; None where none does."""
    weights = weights_of(item)
    if weights is None or sum(map(abs, weights)) != 1:
        return None
    axis = next(n for n, weight in enumerate(weights) if weight)
    return Sweep(axis, down=weights[axis] < 0)


def steps_of(item: Map) -> Affine:
    """How many values the index has by which a map follows steps."""
    assert item.marks.sweep is not None
    return item.extents[item.marks.sweep.index]


def is_within(item: Map, count: Affine, known: Domain) -> bool:
    """Whether a map has no values past so many steps: these run all at once, with one of them."""
    return implied(count - steps_of(item), known)


def last_step(tensor: TensorDecl, window: Window) -> Affine:
    """The last step of a tensor."""
    zero = Affine.const(0)
    ends = zip(tensor.shape, window.weights, strict=True)
    return window.step([size - 1 if weight > 0 else zero for size, weight in ends])


def most_of(forms: Iterable[tuple[Affine, Domain]], least: int = 0) -> int | None:
    """The least number from `least` on that no form is proven to exceed where its facts hold; None where that
    is not a few steps."""
    most = least
    for form, facts in forms:
        if implied(most - form, facts):
            continue
        low, high = most + 1, MOST_STEPS
        if not implied(high - form, facts):
            return None
        while low < high:
            middle = (low + high) // 2
            if implied(middle - form, facts):
                high = middle
            else:
                low = middle + 1
        most = low
    return most


def _is_worth(tensor: TensorDecl, window: Window, least: int) -> bool:
    """Whether a window saves memory that counts, as far as sizes are known: half of so many bytes."""
    if any(not extent.is_constant for extent in tensor.shape):
        steps = tensor.shape[window.axis]
        return not steps.is_constant or steps.constant > 2 * window.rows
    kept = bytes_of(replace(tensor, shape=window.shape(tensor.shape)))
    return bytes_of(tensor) >= max(least, 2 * kept)
