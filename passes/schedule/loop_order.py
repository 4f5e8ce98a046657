"""In which order the loops over a map's indices stand: what inner loops read again is to be still near.

A loop nest that touches no more bytes than a cache holds brings each line in once. Around it, a line comes
again with each step of a loop, but for the next loop outwards where the read does not move with it (Wolf and
Lam, PLDI 1991). So an order has a cost in lines, by the strides of all reads alone.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations, product

from tadc.passes.schedule.accesses import Accesses
from tadc.passes.schedule.candidate import Candidate, Panels
from tadc.passes.schedule.cpu_machine import CpuMachine
from tadc.passes.schedule.splits import WHOLE
from tadc.passes.terms.costs import ORDERED

GAIN = 0.75
"""What part of the lines another order may need at most to be preferred to that of the indices."""


@dataclass(frozen=True)
class _Stream:
    """A tensor that tiles read or write: strides in elements by index, a large one where it is no number.

    It has `most` elements at most. A line that is stored is read before, and written back: its `times` are 2.
    """

    strides: Mapping[str, int]
    most: float
    machine: CpuMachine
    times: int = 1

    def lines(self, counts: Mapping[str, int], width: int) -> float:
        """About how many lines the elements of a box stand in, each of so many bytes."""
        return self.places(counts, width)[0]

    def cost(self, counts: Mapping[str, int], width: int) -> float:
        """The lines, and what those take more that nobody sees coming: the first of each place, where there
        are too many places."""
        lines, far = self.places(counts, width)
        unseen = self.machine.scattered_lines * far if far > self.machine.streams else 0
        return self.times * lines + unseen

    def places(self, counts: Mapping[str, int], width: int) -> tuple[float, int]:
        """The lines, and in how many places they are that are not seen as one stream."""
        runs, rows, far, span = 1, 1, 1, 0
        line = apart = self.machine.line
        distances = Counter[int]()
        for name, stride in self.strides.items():
            distances[abs(stride)] += counts[name] - 1
        for stride, steps in distances.items():
            span += stride * steps
            if stride * width < line:
                runs += stride * steps
            else:
                rows *= steps + 1
                far *= steps + 1 if stride * width >= self.machine.next_lines * line else 1
                apart = math.gcd(apart, stride * width)
        # Places begin at any multiple of what all distances have in common.
        run = (runs * width + line - math.gcd(apart, runs * width)) / line
        return min(rows * run, span * width // line + 1, self.whole(width)), far

    def whole(self, width: int) -> float:
        return self.most * width / self.machine.line + 1


def loop_order(accesses: Accesses, candidate: Candidate, machine: CpuMachine) -> tuple[str, ...]:
    """The names of a map's indices, outermost first. Those that run in parts keep their order among each
    other.

    Those that packing is for come first, as it needs them.
    """
    packed = candidate.packed
    plain = _in_groups(accesses.names, packed)
    if not all(map(accesses.is_known, plain)) or not 1 < len(plain) <= ORDERED:
        return plain
    nest = _TileLoops(accesses, candidate, machine)
    fixed = {name for name in plain if accesses.parts[name] != WHOLE}
    kept = [name for name in plain if name in fixed]
    orders = [o for o in _orders(plain, packed) if [name for name in o if name in fixed] == kept]
    least = min(orders, key=nest.lines)
    return least if nest.lines(least) < GAIN * nest.lines(plain) else plain


def comes_from_afar(accesses: Accesses, machine: CpuMachine) -> bool:
    """Whether a map touches more than a cache holds, as far as sizes are known."""
    if not accesses.names or not all(map(accesses.is_known, accesses.names)):
        return False
    return _TileLoops(accesses, Candidate(1, accesses.names[-1]), machine).bytes() > machine.l2


def cost_of_order(accesses: Accesses, candidate: Candidate, machine: CpuMachine) -> float:
    """What the lines that come from afar cost for an element, in the order that loops would have."""
    nest = _TileLoops(accesses, candidate, machine)
    order = loop_order(accesses, candidate, machine)
    return machine.afar * nest.lines(order) / math.prod(nest.extents.values())


def _groups(names: Sequence[str], packed: Panels | None) -> list[list[str]]:
    """The indices around the packing for rows, those around that for lanes, and the others."""
    around = packed.around if packed else frozenset[str]()
    lanes = packed.names - around if packed else frozenset[str]()
    first, second = [n for n in names if n in around], [n for n in names if n in lanes]
    return [first, second, [n for n in names if n not in around | lanes]]


def _in_groups(names: Sequence[str], packed: Panels | None) -> tuple[str, ...]:
    return tuple(name for group in _groups(names, packed) for name in group)


def _orders(names: Sequence[str], packed: Panels | None) -> Iterator[tuple[str, ...]]:
    """All orders that leave what packing needs first, that of the indices before others."""
    for groups in product(*(permutations(group) for group in _groups(names, packed))):
        yield tuple(name for group in groups for name in group)


class _TileLoops:
    """The loops over tiles, and what they touch."""

    def __init__(self, accesses: Accesses, candidate: Candidate, machine: CpuMachine) -> None:
        self.machine, self.width = machine, accesses.widest
        self.found: dict[frozenset[str], list[tuple[float, float]]] = {}
        self.extents = {name: accesses.extent(name) for name in accesses.names}
        self.tile = {name: candidate.blocks.get(name, 1) for name in accesses.names}
        if candidate.fold is None:
            self.tile[candidate.lane] *= candidate.width
        self.binders: dict[str, int] = {}
        copied = candidate.packed.copied if candidate.packed else frozenset[str]()
        reads: dict[tuple[str, frozenset[tuple[str | int, int | None]]], _Stream] = {}
        for loop in accesses.body.below():
            self.binders |= dict(zip(loop.binders, loop.trips, strict=True))
            for read in loop.reads:
                if read.name not in copied:
                    # Two reductions over the same elements bring them in once.
                    key = frozenset((self.binders.get(n, n), stride) for n, stride in read.strides.items())
                    shape = accesses.tensors[read.tensor].shape
                    most = math.prod(n.constant if n.is_constant else math.inf for n in shape)
                    reads[read.tensor, key] = self.stream(read.strides, most)
        steps = [math.prod(list(self.extents.values())[n + 1 :]) for n in range(len(accesses.names))]
        stored = self.stream(dict(zip(accesses.names, steps, strict=True)), math.inf, times=2)
        self.streams = [*reads.values(), *[stored] * accesses.results]

    def stream(self, strides: Mapping[str, int | None], most: float, times: int = 1) -> _Stream:
        large = {n: self.machine.line if stride is None else stride for n, stride in strides.items()}
        return _Stream(large, most, self.machine, times)

    def touched(self, around: Sequence[str] = ()) -> list[tuple[float, float]]:
        """The lines of each stream in the loops inside of those around, and what these cost."""
        key = frozenset(around)
        found = self.found.get(key)
        if found is None:
            tiled = {name: min(self.tile[name], self.extents[name]) for name in key}
            counts = {**self.binders, **self.extents, **tiled}
            found = [(s.lines(counts, self.width), s.cost(counts, self.width)) for s in self.streams]
            self.found[key] = found
        return found

    def bytes(self, around: Sequence[str] = ()) -> float:
        """What the loops inside of those around touch, in whole lines."""
        return sum(lines for lines, _ in self.touched(around)) * self.machine.line

    def lines(self, order: Sequence[str]) -> float:
        """The lines that come from afar."""
        room, depths, total = self.machine.l2 // self.machine.inner, range(len(order)), 0.0
        depth = next((depth for depth in depths if self.bytes(order[:depth]) <= room), len(order))
        for stream, (all_of_them, lines) in zip(self.streams, self.touched(order[:depth]), strict=True):
            around = [n for n in order[:depth] if n in stream.strides or n != order[depth - 1]]
            if all_of_them == stream.whole(self.width):
                # The next step finds a tensor in the cache that this one reads whole.
                around = []
            # The last tile finds what it shares with the one before.
            total += lines * math.prod(max(1, self.extents[name] / self.tile[name]) for name in around)
        return total
