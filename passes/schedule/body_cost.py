"""What a map's body costs for one tile: its pieces, each as often as the tile has copies of it.

The walk is one for all machines. A machine says what copies share a read, and what is around the steps of a
loop.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Generic, TypeVar

from tadc.passes.maps.machine import Machine
from tadc.passes.schedule.accesses import ElementRead, Loop

M = TypeVar("M", bound=Machine)


class BodyCost(ABC, Generic[M]):
    """The cost of a body in a tile on a machine."""

    machine: M

    @abstractmethod
    def copies(self, names: frozenset[str]) -> int:
        """How many copies of a value a tile has, by what it depends on."""

    @abstractmethod
    def read(self, read: ElementRead, loop: Loop) -> float:
        """The cost of all copies of a read in a loop."""

    @abstractmethod
    def steps(self, loop: Loop, step: float) -> float:
        """The cost of all steps of a loop, of one that costs so much."""

    def results(self, loop: Loop) -> int:
        """How many copies of a result a reduction has."""
        return self.copies(loop.result)

    def loop(self, loop: Loop) -> float:
        """The cost of a loop; what no index of it moves is read before it."""
        step = self.step(loop)
        if not loop.binders:
            return step
        before = sum(self.read(read, loop) for read in loop.reads if read.names.isdisjoint(loop.binders))
        return before + self.steps(loop, step)

    def step(self, loop: Loop) -> float:
        """The cost of one step of a loop, or of the map's body."""
        machine, own = self.machine, loop.binders
        total = sum(self.read(r, loop) for r in loop.reads if not own or not r.names.isdisjoint(own))
        total += sum(n * machine.cost(o.name) * self.copies(o.names) for o, n in loop.counts.items())
        total += sum(self.loop(inner) for inner in loop.inner)
        return total + (loop.additions * self.results(loop) if own else 0)
