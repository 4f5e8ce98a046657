"""Names of what differentiation adds: cotangents, gradients and their indices."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tadc.frontend.lexer import RESERVED
from tadc.frontend.naming import first_free
from tadc.frontend.program import Program
from tadc.frontend.terms import Read, Reduce, Term, operands, reachable


class Names:
    """The names in use; tensors, sizes and indices share one space, so all are taken."""

    def __init__(self, program: Program) -> None:
        self.tensors = {t.name for t in (*program.arguments, *program.definitions)} | set(program.sizes)
        self.taken = self.tensors | RESERVED
        for definition in program.definitions:
            self.taken.update(definition.indices)
            for term in reachable([definition.body]):
                if isinstance(term, Reduce):
                    self.taken.update(term.hints)

    def free(self, wish: str) -> str:
        """Claim the first free of `wish`, `wish_1`, `wish_2`, …"""
        name = first_free(wish, self.taken)
        self.taken.add(name)
        self.tensors.add(name)
        return name

    def index(self, wish: str, besides: Sequence[str]) -> str:
        """A name for an index: it may shadow other indices, but is no tensor and none of `besides`."""
        name = first_free(wish, self.tensors, besides)
        self.taken.add(name)
        return name

    def indices(self, wishes: Iterable[str]) -> list[str]:
        """Names for several indices, each unlike the others."""
        chosen: list[str] = []
        for wish in wishes:
            chosen.append(self.index(wish, chosen))
        return chosen


def gradient_indices(program: Program, names: Names) -> dict[str, tuple[str, ...]]:
    """The index names of each tensor's cotangent.

    A dimension keeps the user's name where that index alone reads it, else it is
    `<tensor>_<dimension>`. A recurrence counts as a reader by its own names, whatever it reads of itself.
    """
    readers: dict[str, list[set[str | None]]] = {
        name: [set() for _ in shape] for name, shape in program.shapes().items()
    }
    for definition in program.definitions:
        spoken = {i: i for i in definition.indices}
        if definition.order is None:
            _collect(definition.body, spoken, readers, set())
            continue
        own: list[set[str | None]] = [set() for _ in definition.shape]
        others = {**readers, definition.name: own}
        _collect(definition.body, spoken, others, set())
        for found, index in zip(readers[definition.name], definition.indices, strict=True):
            found.add(index)
    result: dict[str, tuple[str, ...]] = {}
    for tensor in readers:
        chosen: list[str] = []
        for dimension, found in enumerate(readers[tensor]):
            name = next(iter(found)) if len(found) == 1 else None
            fits = name and name not in chosen and name not in names.tensors
            chosen.append(name if name and fits else names.index(f"{tensor}_{dimension}", chosen))
        result[tensor] = tuple(chosen)
    return result


def _collect(
    term: Term, spoken: dict[str, str], readers: dict[str, list[set[str | None]]], seen: set[tuple[int, str]]
) -> None:
    """Note for every read which index alone stands at which dimension, None for anything else."""
    stack = [(term, spoken)]
    while stack:
        node, names = stack.pop()
        key = (node.number, repr(sorted(names.items())))
        if key in seen:
            continue
        seen.add(key)
        if isinstance(node, Reduce):
            names = names | dict(zip(node.binders, node.hints, strict=True))
        if isinstance(node, Read):
            for dimension, form in enumerate(node.indices):
                readers[node.tensor][dimension].add(names.get(form.variable or "") or None)
        stack += [(t, names) for t in operands(node)]
