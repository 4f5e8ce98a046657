"""How many vector registers the innermost loop of a reduction wants: its results, and what is live at once.

Copies of a tile are computed one after the other, those along the lanes innermost. What several of them
share stays in registers from the first of these to the last; what one alone needs, until its last use. Where
an instruction takes an operand from memory, what is there anyway, or stays the same in the loop, needs no
register for one use.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence

from tadc.lattice.late_dataclasses import dataclass, field
from tadc.passes.maps.blocks import joined_by_factors, used_by
from tadc.passes.maps.map import Applied, Constant, Fold, Let
from tadc.passes.schedule.accesses import Accesses, Loop
from tadc.passes.schedule.candidate import Candidate
from tadc.passes.schedule.cpu_machine import CpuMachine

Names = frozenset[str]

SOON_DEAD = 4
"""No more values that one copy has for itself are counted: they are used once, soon, and a body that has many
computes so much that others are stored and loaded again meanwhile."""


@dataclass(frozen=True)
class _Registers:
    """What a tile with copies along some indices holds: how many values are shared that are live for copies
    along these, and how many one copy has at a time."""

    shared: Sequence[tuple[Sequence[str], int]]
    own: int


@dataclass
class LiveValues:
    """The values of the body of an innermost reduction."""

    accesses: Accesses
    loop: Loop
    machine: CpuMachine
    found: dict[tuple[object, ...], _Registers] = field(default_factory=dict[tuple[object, ...], _Registers])

    def pressure(self, candidate: Candidate) -> int:
        """The registers that a step wants."""
        counts = {name: count for name, count in candidate.blocks.items() if count > 1}
        if candidate.fold is self.loop and candidate.parts > 1:
            counts[candidate.lane] = candidate.parts
        key = *counts, candidate.lane
        held = self.found.get(key)
        if held is None:
            order = [*(name for name in counts if name != candidate.lane), candidate.lane]
            held = self.found[key] = _Body(self, frozenset(counts), candidate).held(order)
        shared = sum([number * math.prod([counts[name] for name in names]) for names, number in held.shared])
        operands = max(shared, candidate.held(self.loop)) + min(held.own, SOON_DEAD)
        results = candidate.results(self.loop) * self.loop.results
        return max(results + operands, results * self.interleaved(candidate))

    def interleaved(self, candidate: Candidate) -> int:
        """How many residues of the lanes have their results at a time, since they are stored together."""
        lanes = candidate.lanes
        is_last = lanes is not None and lanes == self.accesses.names[-1]
        return self.accesses.parts[lanes].factor if lanes is not None and is_last else 1


def _live(names: Names, order: Sequence[str]) -> Sequence[str]:
    """The indices along which copies of a value are live: those inside of the first one that shares it."""
    first = next((n for n, name in enumerate(order) if name not in names), len(order))
    return [name for name in order[first:] if name in names]


class _Body:
    """The body of a reduction in tiles with copies along these indices."""

    def __init__(self, values: LiveValues, tiled: Names, candidate: Candidate) -> None:
        self.machine = values.machine
        fold = values.accesses.lets[values.loop.fold].value
        assert isinstance(fold, Fold)
        self.lets: dict[str, Let] = {name: let for let in fold.body.all_lets() for name in let.names}
        self.order: dict[str, None] = {}
        self.operands_first(fold.body.gives)
        self.users: dict[str, list[str]] = {}
        for name in self.order:
            for used in used_by(self.lets[name].value):
                self.users.setdefault(used, []).append(name)
        deps = values.accesses.deps
        #: The indices of copies that values depend on.
        self.along = {name: deps.get(name, Names()) & tiled for name in {**self.order, **self.users}}
        # Products that are added in the same instruction are in no register.
        self.nowhere = set(joined_by_factors(fold.body) if fold.kind == "sum" else ())
        if self.machine.folds:
            self.from_memory({read.name for read in values.loop.reads if candidate.stride(read) == 1})

    def operands_first(self, names: Iterable[str]) -> None:
        """Put the values of the body that these need in order, each after its operands."""
        for name in names:
            if name in self.lets and name not in self.order:
                self.operands_first(used_by(self.lets[name].value))
                self.order[name] = None

    def from_memory(self, vectors: set[str]) -> None:
        """What no register has, since instructions read it: constants, what is the same in all steps, and one
        of the vectors that an operation alone reads."""
        for name in self.users:
            if name not in self.lets or isinstance(self.lets[name].value, Constant):
                self.nowhere.add(name)
        for name in self.order:
            operands = [used for used in used_by(self.lets[name].value) if used in vectors]
            alone = [used for used in operands if self.users[used] == [name] and not self.is_shared(used)]
            self.nowhere.update(alone[:1])

    def is_shared(self, name: str) -> bool:
        """Whether copies of something else share a copy of a value."""
        return any(self.along[user] > self.along[name] for user in self.users.get(name, ()))

    def held(self, order: Sequence[str]) -> _Registers:
        """What copies share, those along the first of some indices outermost; and the most that one has for
        itself."""
        wanted = {name: self.is_shared(name) for name in {**self.order, **self.users}}
        wanted = {name: shared for name, shared in wanted.items() if name not in self.nowhere}
        last = {used: n for n, name in enumerate(self.order) for used in used_by(self.lets[name].value)}
        own, live = 0, {name for name in wanted if name not in self.lets and not wanted[name]}
        for n, name in enumerate(self.order):
            live = {value for value in live if value not in self.lets or last.get(value, n) >= n}
            own = max(own, len(live) + self.inside(name))
            live = {value for value in live if value not in self.lets or last.get(value, n) > n}
            live |= {name} if wanted.get(name) is False else set[str]()
            own = max(own, len(live))
        alike = Counter(self.along[name] for name, shared in wanted.items() if shared)
        return _Registers([(_live(names, order), number) for names, number in alike.items()], own)

    def inside(self, name: str) -> int:
        """The registers that an operation needs in between, of which one is that of its result."""
        value = self.lets[name].value
        is_function = isinstance(value, Applied) and value.function not in self.machine.functions
        return self.machine.inside if is_function else 0
