"""Maximum flow with integer capacities, and strongly connected components."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

#: A capacity that no cut contains.
UNBOUNDED = 1 << 62


class Network:
    """A directed network; the edge with an even number e has its reverse at e + 1.

    `capacity` is what is left of each edge. (E. A. Dinic, Algorithm for solution of a problem of maximum
    flow in networks with power estimation, 1970.)
    """

    def __init__(self, nodes: int) -> None:
        self.edges: list[list[int]] = [[] for _ in range(nodes)]
        self.head: list[int] = []
        self.capacity: list[int] = []

    def add(self, tail: int, head: int, capacity: int) -> int:
        """Add an edge; its number."""
        number = len(self.head)
        self.edges[tail].append(number)
        self.edges[head].append(number + 1)
        self.head += (head, tail)
        self.capacity += (capacity, 0)
        return number

    def push(self, edge: int, amount: int) -> None:
        """Send more through an edge."""
        self.capacity[edge] -= amount
        self.capacity[edge ^ 1] += amount

    def maximise(self, source: int, sink: int) -> int:
        """Augment to a maximum flow; what was added."""
        added = 0
        while (level := self._levels(source, sink))[sink] >= 0:
            position = [0] * len(self.edges)
            while amount := self._augment(source, sink, level, position):
                added += amount
        return added

    def reached(self, source: int) -> list[int]:
        """The distance of each node along edges with capacity left; -1 where there is no way."""
        return self._levels(source, -1)

    def _levels(self, source: int, sink: int) -> list[int]:
        head, capacity = self.head, self.capacity
        level = [-1] * len(self.edges)
        level[source] = 0
        queue = [source]
        for node in queue:
            if node == sink:
                break
            depth = level[node] + 1
            for edge in self.edges[node]:
                if capacity[edge] and level[head[edge]] < 0:
                    level[head[edge]] = depth
                    queue.append(head[edge])
        return level

    def _augment(self, source: int, sink: int, level: list[int], position: list[int]) -> int:
        """One path along growing levels; `position` says which edges of a node are used up."""
        head, capacity, edges = self.head, self.capacity, self.edges
        path: list[int] = []
        node = source
        while node != sink:
            out = edges[node]
            while position[node] < len(out):
                edge = out[position[node]]
                if capacity[edge] and level[head[edge]] == level[node] + 1:
                    break
                position[node] += 1
            else:
                if not path:
                    return 0
                node = head[path.pop() ^ 1]
                position[node] += 1
                continue
            path.append(edge)
            node = head[edge]
        amount = min(capacity[edge] for edge in path)
        for edge in path:
            self.push(edge, amount)
        return amount


def strongly_connected(successors: Sequence[Iterable[int]]) -> list[int]:
    """The strongly connected component of each node; a component has a larger number than all it leads to.

    (R. Tarjan, Depth-first search and linear graph algorithms, 1972.)
    """
    count = len(successors)
    number, low, found = [-1] * count, [0] * count, [-1] * count
    stack: list[int] = []
    ticks = made = 0
    for root in range(count):
        if number[root] >= 0:
            continue
        number[root] = low[root] = ticks
        ticks += 1
        stack.append(root)
        work = [(root, iter(successors[root]))]
        while work:
            node, rest = work[-1]
            for other in rest:
                if number[other] < 0:
                    number[other] = low[other] = ticks
                    ticks += 1
                    stack.append(other)
                    work.append((other, iter(successors[other])))
                    break
                if found[other] < 0 and number[other] < low[node]:
                    low[node] = number[other]
            else:
                work.pop()
                if low[node] == number[node]:
                    while True:
                        other = stack.pop()
                        found[other] = made
                        if other == node:
                            break
                    made += 1
                elif work:
                    parent = work[-1][0]
                    low[parent] = min(low[parent], low[node])
    return found
