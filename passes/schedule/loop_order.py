"""In which order the loops over a map's indices stand: what inner loops read again is to be still near.

A loop nest that touches no more bytes than a cache holds brings each line in once. Around it, a line comes
again with each step of a loop, but for the next loop outwards where the read does not move with it (Wolf and
Lam, PLDI 1991). So an order has a cost in lines, by the strides of all reads alone.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import permutations, product

from tadc.lattice.late_dataclasses import dataclass
from tadc.passes.schedule.accesses import Accesses
from tadc.passes.schedule.candidate import Candidate, Panels
from tadc.passes.schedule.cpu_machine import CpuMachine
from tadc.passes.schedule.splits import WHOLE
from tadc.passes.terms.costs import ORDERED

GAIN = 0.75
"""What part of the lines another order may need at most to be preferred to that of the indices."""


@dataclass(frozen=True)
class _Stream:
    """A tensor that tiles read or write: strides in elements by index, None where it is no number.

    It has `most` elements at most. A line that is stored is read before, and written back: its `times` are 2.
    The `share` of lines that nobody sees coming is what is waited for.
    """

    strides: Mapping[str, int | None]
    most: float
    machine: CpuMachine
    times: int = 1
    share: float = 1

    def touched(self, counts: Mapping[str, int], width: int) -> tuple[float, float]:
        """About how many lines the elements of a box stand in, of so many bytes each; what these cost, more
        where nobody sees them coming: the first of each place, where there are too many places."""
        lines, far = self.places(counts, width)
        unseen = self.share * self.machine.scattered_lines * far if far > self.machine.streams else 0
        return lines, self.times * lines + unseen

    def places(self, counts: Mapping[str, int], width: int) -> tuple[float, int]:
        """The lines, and in how many places they are that are not seen as one stream."""
        runs, rows, far, span = 1, 1, 1, 0
        line = apart = self.machine.line
        distances = Counter[int]()
        for name, stride in self.strides.items():
            distances[self.machine.line if stride is None else abs(stride)] += counts[name] - 1
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


def comes_from_afar(accesses: Accesses, machine: CpuMachine) -> bool:
    """Whether a map touches more than a cache holds, as far as sizes are known."""
    if not accesses.names or not all(map(accesses.is_known, accesses.names)):
        return False
    return TileLoops(accesses, Candidate(1, accesses.names[-1]), machine).bytes() > machine.l2


def _orders(names: Sequence[str], packed: Panels | None) -> Iterator[tuple[str, ...]]:
    """All orders, of many indices one, that leave first what is around the packing for rows, then around that
    for lanes; that of the indices before others."""
    around = packed.around if packed else frozenset[str]()
    lanes = packed.names - around if packed else frozenset[str]()
    first, second = [n for n in names if n in around], [n for n in names if n in lanes]
    groups = first, second, [n for n in names if n not in around | lanes]
    for found in product(*(permutations(g) if len(names) <= ORDERED else [g] for g in groups)):
        yield tuple(name for group in found for name in group)


class TileLoops:
    """The loops over tiles, and what they touch."""

    def __init__(self, accesses: Accesses, candidate: Candidate, machine: CpuMachine) -> None:
        self.accesses, self.packed = accesses, candidate.packed
        self.machine, self.width = machine, accesses.widest
        self.found: dict[frozenset[str], list[tuple[float, float]]] = {}
        self.extents = {name: accesses.extent(name) for name in accesses.names}
        self.tile = {name: candidate.blocks.get(name, 1) for name in accesses.names}
        if candidate.fold is None:
            self.tile[candidate.lane] *= candidate.width
        self.binders: dict[str, int] = {}
        self.cuts = candidate.packed.cuts if candidate.packed else dict[str, int]()
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
                    reads[read.tensor, key] = _Stream(read.strides, most, machine)
        steps = [math.prod(list(self.extents.values())[n + 1 :]) for n in range(len(accesses.names))]
        # Loads wait, stores do not: of what is in panels there are stores alone.
        share = 1 if copied else 0.5
        stored = _Stream(dict(zip(accesses.names, steps, strict=True)), math.inf, machine, 2, share)
        self.streams = [*reads.values(), *[stored] * accesses.results]
        self.tile |= self.cuts

    def order(self) -> tuple[str, ...]:
        """The names of the indices, outermost first: those that packing is for before others, as it needs
        them. Those that run in parts keep their order."""
        plain, *others = _orders(self.accesses.names, self.packed)
        if not all(map(self.accesses.is_known, plain)):
            return plain
        fixed = [name for name in plain if self.accesses.parts[name] != WHOLE]
        others = [order for order in others if [name for name in order if name in fixed] == fixed]
        least = min(others, key=self.lines, default=plain)
        return least if self.lines(least) < GAIN * self.lines(plain) else plain

    def cost(self) -> float:
        """What the lines that come from afar cost for an element, in this order."""
        return self.machine.afar * self.lines(self.order()) / math.prod(self.extents.values())

    def touched(self, around: Sequence[str] = ()) -> list[tuple[float, float]]:
        """The lines of each stream in the loops inside of those around, and what these cost."""
        key = frozenset(around)
        found = self.found.get(key)
        if found is None:
            counts = self.binders | self.extents
            counts |= {name: min(self.tile[name], counts[name]) for name in key}
            found = [stream.touched(counts, self.width) for stream in self.streams]
            self.found[key] = found
        return found

    def bytes(self, around: Sequence[str] = ()) -> float:
        """What the loops inside of those around touch, in whole lines."""
        return sum(lines for lines, _ in self.touched(around)) * self.machine.line

    def lines(self, order: Sequence[str]) -> float:
        """The lines that come from afar; blocks of a reduction are inside of the loops over a batch alone."""
        if self.cuts and self.packed:
            batches = self.packed.batches(order)
            order = (*order[:batches], *self.cuts, *order[batches:])
        room, depths, total = self.machine.l2 // self.machine.inner, range(len(order)), 0.0
        depth = next((depth for depth in depths if self.bytes(order[:depth]) <= room), len(order))
        counts = self.binders | self.extents
        for stream, (all_of_them, lines) in zip(self.streams, self.touched(order[:depth]), strict=True):
            around = [n for n in order[:depth] if n in stream.strides or n != order[depth - 1]]
            if all_of_them == stream.whole(self.width):
                # The next step finds a tensor in the cache that this one reads whole.
                around = []
            # The last tile finds what it shares with the one before.
            total += lines * math.prod(max(1, counts[name] / self.tile[name]) for name in around)
        return total
