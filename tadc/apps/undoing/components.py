"""The partition of a program's statements into the smallest components that can be inverted.

After each component, as many numbers are live as the program has inputs: what was overwritten is determined
by what overwrote it (Pearlmutter and Siskind). The statements that are done are then a minimum cut of the
flow of values from inputs to outputs. Minimum cuts form a distributive lattice, so one partition refines all
others: the strongly connected components of the residual graph of a maximum flow.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass

from tadc.apps.undoing.flow import UNBOUNDED, Network, strongly_connected
from tadc.apps.undoing.graph import StatementGraph
from tadc.apps.undoing.inversion_errors import cut_too_narrow


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
        carried = {name: graph.sizes[name] for name in graph.inputs}
        last = {name: max(readers, default=-1) for name, readers in graph.readers.items()}
        outputs = set(graph.outputs)
        taken: list[tuple[str, str, int]] = []
        for statement in graph.statements:
            name = statement.name
            room, got = graph.sizes[name], 0
            for read in sorted(graph.reads[name], key=lambda r: (r in outputs, last[r])):
                amount = min(room - got, carried.get(read, 0))
                if amount:
                    carried[read] -= amount
                    taken.append((read, name, amount))
                    got += amount
            carried[name] = got
        # What ends in a value that is no output has come for nothing: it is taken back along its way.
        back = {name: amount for name, amount in carried.items() if amount and name not in outputs}
        through: dict[str, int] = {name: 0 for name in graph.sizes}
        for read, name, amount in reversed(taken):
            lost = min(amount, back.get(name, 0))
            if lost:
                back[name] -= lost
                back[read] = back.get(read, 0) + lost
            if amount > lost:
                network.push(self.edges_of_reads[read, name], amount - lost)
                through[read] += amount - lost
        for name, n in number.items():
            ends = carried[name] if name in outputs else 0
            if ends:
                network.push(self.exits[name], ends)
            total = through[name] + ends
            if total:
                network.push(2 * n, total)
                if name in self.entries:
                    network.push(self.entries[name], total)

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
        after: dict[int, list[int]] = {c: [] for c in before}
        waiting: dict[int, int] = {}
        for c, others in before.items():
            others.discard(c)
            waiting[c] = len(others)
            for other in others:
                after[other].append(c)
        ready = [(members.get(c, [-1])[0], c) for c, count in waiting.items() if not count]
        heapq.heapify(ready)
        found: list[list[int]] = []
        while ready:
            _, c = heapq.heappop(ready)
            if c in members:
                found.append(members[c])
            for other in after[c]:
                waiting[other] -= 1
                if not waiting[other]:
                    heapq.heappush(ready, (members.get(other, [-1])[0], other))
        assert sum(map(len, found)) == len(self.graph.statements)
        return found
