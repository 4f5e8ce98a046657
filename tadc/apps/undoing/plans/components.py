"""The partition of a program's statements into the smallest components that can be inverted.

After each component, as many numbers are live as the program has inputs: what was overwritten is determined
by what overwrote it (Pearlmutter and Siskind). The statements that are done are then a minimum cut of the
flow of values from inputs to outputs. Minimum cuts form a distributive lattice, so one partition refines all
others: the strongly connected components of the residual graph of a maximum flow.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from graphlib import TopologicalSorter
from typing import TypeAlias

from tadc.apps.undoing.plans.flow import UNBOUNDED, Network, strongly_connected
from tadc.apps.undoing.plans.graph import StatementGraph
from tadc.apps.undoing.plans.inversion_errors import cut_too_narrow


@dataclass(frozen=True)
class Component:
    """Statements, by position, that take values `dying` to as many numbers `new`, and read `kept` besides."""

    statements: tuple[int, ...]
    dying: tuple[str, ...]
    new: tuple[str, ...]
    kept: tuple[str, ...]


class Live:
    """The values that are live while statements are done one after another."""

    def __init__(self, graph: StatementGraph) -> None:
        self.graph = graph
        self.left = {name: len(readers) for name, readers in graph.readers.items()}
        for name in graph.outputs:
            self.left[name] += 1
        self.values = dict.fromkeys(name for name in graph.inputs if self.left[name])
        self.width = sum(graph.sizes[name] for name in self.values)

    def do(self, position: int) -> list[str]:
        """Do a statement; the values that died."""
        graph = self.graph
        name = graph.statements[position].name
        died: list[str] = []
        for read in graph.reads[name]:
            self.left[read] -= 1
            if not self.left[read]:
                del self.values[read]
                self.width -= graph.sizes[read]
                died.append(read)
        self.values[name] = None
        self.width += graph.sizes[name]
        return died


def widths(graph: StatementGraph, order: Sequence[int] | None = None) -> tuple[int, ...]:
    """How many numbers are live before the first statement and after each, in the order of the text."""
    live = Live(graph)
    found = [live.width]
    for position in range(len(graph.statements)) if order is None else order:
        live.do(position)
        found.append(live.width)
    return tuple(found)


def partition(graph: StatementGraph) -> tuple[Component, ...]:
    """The finest partition into components, in an order in which they can run.

    No other partition has a smaller largest component, or more components. Raises CompileError (TAD0911)
    where a cut is narrower than the inputs, so that the Jacobian is singular whatever the values are.
    """
    network = _Values(graph)
    groups = network.groups()
    return _components(graph, groups)


def _components(graph: StatementGraph, groups: Sequence[Sequence[int]]) -> tuple[Component, ...]:
    live, made = Live(graph), list[Component]()
    place = {name: n for n, name in enumerate(graph.sizes)}
    for group in groups:
        own = [graph.statements[position].name for position in group]
        read = dict.fromkeys(r for name in own for r in graph.reads[name])
        died = {name for position in group for name in live.do(position)}
        dying = sorted(died.difference(own), key=place.__getitem__)
        new = tuple(name for name in own if name in live.values)
        kept = tuple(name for name in read if name not in died and name not in own)
        made.append(Component(tuple(group), tuple(dying), new, kept))
    return tuple(made)


#: Edges, the last in front.
_Path: TypeAlias = "tuple[int, _Path] | None"


def _edges(path: _Path) -> Iterator[int]:
    while path is not None:
        edge, path = path
        yield edge


class _Values:
    """The network of values: value v is the edge from node 2v to 2v + 1, with its size as capacity."""

    def __init__(self, graph: StatementGraph) -> None:
        self.graph = graph
        self.number = {name: n for n, name in enumerate(graph.sizes)}
        count = len(self.number)
        self.source, self.sink = 2 * count, 2 * count + 1
        self.network = network = Network(2 * count + 2)
        for n, size in enumerate(graph.sizes.values()):
            network.add(2 * n, 2 * n + 1, size)
        self.entries = {
            name: network.add(self.source, 2 * self.number[name], UNBOUNDED) for name in graph.inputs
        }
        self.exits = {
            name: network.add(2 * self.number[name] + 1, self.sink, UNBOUNDED) for name in graph.outputs
        }
        self.edges_of_reads = {
            (read, s.name): network.add(2 * self.number[read] + 1, 2 * self.number[s.name], UNBOUNDED)
            for s in graph.statements
            for read in graph.reads[s.name]
        }

    def groups(self) -> list[list[int]]:
        """The statements of each component, by position."""
        graph, network = self.graph, self.network
        wanted = sum(graph.sizes[name] for name in graph.inputs)
        self._greedy()
        network.maximise(self.source, self.sink)
        found = sum(network.capacity[edge ^ 1] for edge in self.entries.values())
        if found < wanted:
            reached = network.reached(self.source)
            cut = [name for name, n in self.number.items() if reached[2 * n] >= 0 > reached[2 * n + 1]]
            raise cut_too_narrow(graph, cut, found, wanted)
        connected = strongly_connected(self._precedence())
        members: dict[int, list[int]] = {}
        for position, statement in enumerate(graph.statements):
            members.setdefault(connected[2 * self.number[statement.name]], []).append(position)
        return self._ordered(connected, members)

    def _greedy(self) -> None:
        """A flow to begin with: each statement takes over what its operands carry, the dying ones first."""
        graph, network, number = self.graph, self.network, self.number
        last = {name: max(readers, default=-1) for name, readers in graph.readers.items()}
        outputs = set(graph.outputs)
        # Of each value how much has come to it, and on which edges, the last in front.
        come: dict[str, list[tuple[int, _Path]]] = {
            name: [(graph.sizes[name], (self.entries[name], None))] for name in graph.inputs
        }
        for statement in graph.statements:
            name = statement.name
            room, taken = graph.sizes[name], list[tuple[int, _Path]]()
            for read in sorted(graph.reads[name], key=lambda r: (r in outputs, last[r])):
                while room and come[read]:
                    amount, path = come[read].pop()
                    if amount > room:
                        come[read].append((amount - room, path))
                        amount = room
                    room -= amount
                    through = (self.edges_of_reads[read, name], (2 * number[read], path))
                    taken.append((amount, through))
            come[name] = taken
        for name in outputs:
            for amount, path in come[name]:
                for edge in (self.exits[name], 2 * number[name], *_edges(path)):
                    network.push(edge, amount)

    def _precedence(self) -> list[list[int]]:
        """For each node those that are done where it is: of edges with room left, and of operands."""
        network = self.network
        found: list[list[int]] = [
            [network.head[edge] for edge in edges if network.capacity[edge]] for edges in network.edges
        ]
        for statement in self.graph.statements:
            into = 2 * self.number[statement.name]
            found[into] += [2 * self.number[read] for read in self.graph.reads[statement.name]]
        for n in range(len(self.number)):
            found[2 * n + 1].append(2 * n)
        return found

    def _ordered(self, connected: list[int], members: dict[int, list[int]]) -> list[list[int]]:
        """The components in an order in which they can run, as near to that of the text as can be."""
        before: dict[int, set[int]] = {}
        for tail, heads in enumerate(self._precedence()):
            before.setdefault(connected[tail], set()).update(connected[h] for h in heads)
        for c, others in before.items():
            others.discard(c)
        sorter = TopologicalSorter(before)
        sorter.prepare()
        ready, found = list[tuple[int, int]](), list[list[int]]()
        while sorter.is_active():
            for c in sorter.get_ready():
                heapq.heappush(ready, (members.get(c, [-1])[0], c))
            _, c = heapq.heappop(ready)
            if c in members:
                found.append(members[c])
            sorter.done(c)
        assert sum(map(len, found)) == len(self.graph.statements)
        return found
