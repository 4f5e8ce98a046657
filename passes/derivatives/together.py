"""Definitions whose cotangents are pushed in one walk, since their elements stand at the same indices.

What two definitions compute both, as gradients of a product have factors in common, then gets one cotangent
and passes it on once: the k-th derivative of a product of n factors takes n times a constant, not n**k.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from tadc.frontend.program import Definition
from tadc.frontend.terms import tensors_read


def groups(
    definitions: Sequence[Definition], joins: Callable[[Definition], bool]
) -> Iterator[list[Definition]]:
    """All definitions, each after those that read it; those of one shape that nothing keeps apart together.

    A definition that `joins` says no of stands alone.
    """
    place = {definition.name: n for n, definition in enumerate(definitions)}
    reads = {d.name: (tensors_read([d.body]) - {d.name}) & place.keys() for d in definitions}
    waits = Counter(tensor for tensors in reads.values() for tensor in tensors)
    ready: list[int] = [-n for name, n in place.items() if not waits[name]]
    while ready:
        first, *others = (definitions[-n] for n in sorted(ready))
        alike = [d for d in others if d.shape == first.shape and joins(d)] if joins(first) else []
        ready = [n for n in ready if definitions[-n] not in (first, *alike)]
        for definition in (first, *alike):
            for tensor in reads[definition.name]:
                waits[tensor] -= 1
                if not waits[tensor]:
                    ready.append(-place[tensor])
        yield [first, *alike]
