"""Where the states of a recurrence are in its tensor."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

from tadc.toolkit.language import Affine, Definition, Read, reachable

#: So many tensors make up a state at most, and so many steps back a step reads at most.
MOST_PARTS, _DEPTH = 6, 4


@dataclass(frozen=True)
class StateLayout:
    """Where the states of a recurrence are: along dimension `axis`, upwards unless `down`.

    A state is several tensors, `parts`, one for each value of the indices of the dimensions `split`; a step
    reads `depth` states before it, and makes one of `count` states that are not given at the start.
    """

    name: str
    shape: tuple[int, ...]
    axis: int
    down: bool
    depth: int
    split: tuple[int, ...]
    parts: tuple[tuple[int, ...], ...]

    @property
    def length(self) -> int:
        """How many states there are."""
        return self.shape[self.axis]

    @property
    def count(self) -> int:
        """How many steps there are."""
        return self.length - self.depth

    @property
    def rest(self) -> tuple[int, ...]:
        """The dimensions that each tensor of a state has."""
        return tuple(n for n in range(len(self.shape)) if n != self.axis and n not in self.split)

    @property
    def extents(self) -> tuple[int, ...]:
        """The shape of each tensor of a state."""
        return tuple(self.shape[n] for n in self.rest)

    def states(self, letter: str, numbers: Iterable[int]) -> dict[str, tuple[int, int]]:
        """The names of the tensors of states, with the number of the state and the part that each is."""
        return {f"{letter}{k}_{part}": (k, part) for k in numbers for part in range(len(self.parts))}

    def place(self, part: int, state: Affine, element: Sequence[Affine]) -> list[Affine]:
        """The indices in the recurrence of an element of a part of a state."""
        found = [Affine.const(0)] * len(self.shape)
        found[self.axis] = self.length - 1 - state if self.down else state
        for n, value in zip(self.split, self.parts[part], strict=True):
            found[n] = Affine.const(value)
        for n, form in zip(self.rest, element, strict=True):
            found[n] = form
        return found

    def part_of(self, forms: Sequence[Affine]) -> tuple[int, Affine, list[Affine]]:
        """The part, the state and the element that a read is of."""
        values = tuple(forms[n].constant for n in self.split)
        state = forms[self.axis]
        state = self.length - 1 - state if self.down else state
        return self.parts.index(values), state, [forms[n] for n in self.rest]


def layouts(recurrence: Definition, shape: tuple[int, ...]) -> list[StateLayout]:
    """In which dimensions steps may go, and how the states lie there, as one tensor first."""
    assert recurrence.order is not None
    found: list[StateLayout] = []
    for axis, index in enumerate(recurrence.indices):
        sign = recurrence.order.coefficient(index)
        if not sign:
            continue
        back = _distances(recurrence, axis, 1 if sign > 0 else -1)
        if back is None or not 0 < max(back) <= min(_DEPTH, shape[axis] - 1):
            continue
        known = [n for n in range(len(shape)) if n != axis and _is_split(recurrence, n, shape[n])]
        for chosen in _splits(known, shape):
            parts = tuple(product(*(range(shape[n]) for n in chosen)))
            found.append(StateLayout(recurrence.name, shape, axis, sign < 0, max(back), chosen, parts))
    return found


def _splits(dimensions: Sequence[int], shape: tuple[int, ...]) -> list[tuple[int, ...]]:
    """All choices of dimensions that make few parts, of fewer dimensions first.

    Not the largest alone: only the plan of a step tells along which of them its parts are undone in turn.
    """
    found: list[tuple[int, ...]] = [()]
    for n in dimensions:
        found += [(*split, n) for split in found if prod(shape[m] for m in (*split, n)) <= MOST_PARTS]
    return sorted(found, key=len)


def _distances(recurrence: Definition, axis: int, sign: int) -> set[int] | None:
    """How many steps back the recurrence reads itself; None where that is not a number."""
    own, found = Affine.var(recurrence.indices[axis]), set[int]()
    for term in reachable([recurrence.body]):
        if isinstance(term, Read) and term.tensor == recurrence.name:
            distance = (own - term.indices[axis]) * sign
            if not distance.is_constant or distance.constant < 0:
                return None
            found.add(distance.constant)
    return found or None


def _is_split(recurrence: Definition, dimension: int, extent: int) -> bool:
    """Whether the index of a dimension tells which index of it is read, and it is not always the same."""
    index = recurrence.indices[dimension]
    reads = [
        t.indices[dimension]
        for t in reachable([recurrence.body])
        if isinstance(t, Read) and t.tensor == recurrence.name
    ]
    is_known = all(form.variables <= {index} for form in reads)
    return extent > 1 and is_known and any(form != Affine.var(index) for form in reads)
