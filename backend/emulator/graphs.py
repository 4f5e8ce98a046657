"""Graphs of launches: what is captured of a launch, and the order in which nodes run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from tadc.lattice.late_dataclasses import dataclass, field

if TYPE_CHECKING:
    from tadc.backend.emulator.execution import EmulatedKernel


@dataclass
class RecordedLaunch:
    """A launch with its arguments, which were copied when it was made."""

    kernel: EmulatedKernel
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    arguments: Sequence[int]
    shared: int


@dataclass
class GraphNode:
    """A launch in a graph, after others."""

    launch: RecordedLaunch
    after: tuple[int, ...]


@dataclass
class Graph:
    """Nodes by their handles, in the order in which they were made."""

    nodes: dict[int, GraphNode] = field(default_factory=dict[int, GraphNode])


@dataclass
class Runnable:
    """A graph as it was when it was instantiated, with arguments of its own."""

    nodes: dict[int, GraphNode]

    @staticmethod
    def of(graph: Graph) -> Runnable:
        """What changes it leaves the graph as it is."""
        return Runnable({handle: GraphNode(node.launch, node.after) for handle, node in graph.nodes.items()})

    def in_order(self) -> Iterator[RecordedLaunch]:
        """The launches, each after those that it waits for.

        Of those that may run the last comes first: what waits for too little is found.
        """
        left = dict(self.nodes)
        while left:
            ready = [handle for handle, node in left.items() if left.keys().isdisjoint(node.after)]
            yield left.pop(ready[-1]).launch
