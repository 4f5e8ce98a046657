"""Equal tensors become one.

    dx[i] = g[i]                    dx[i] = g[i]
    dy[j] = g[j]         becomes    dy[j] = dx[j]
    let h[i] = …, let k[j] = …      let h[i] = …, and h is read for k

Equal terms are the same node, so two definitions are equal if their bodies are one node under the same names
of indices.
"""

from __future__ import annotations

from dataclasses import replace

from tadc.frontend.program import Definition, Program
from tadc.frontend.terms import Term, Terms
from tadc.passes.terms.alike import with_tensors


def merge_equal_tensors(program: Program) -> Program:
    """The program with one definition for equal tensors; it itself where there are none."""
    merging = _Merging(program.terms)
    for definition in program.definitions:
        merging.add(definition)
    return program.with_definitions(merging.kept)


class _Merging:
    """Definitions in order: `kept` are those so far, `instead` what is read for those that are not."""

    def __init__(self, terms: Terms) -> None:
        self.terms = terms
        self.kept: list[Definition] = []
        self.places: dict[tuple[object, ...], int] = {}
        self.instead: dict[str, str] = {}
        self.known: dict[int, Term] = {}

    def add(self, definition: Definition) -> None:
        made = self.rewritten(definition)
        closed = self.terms.reduce(made.indices, (), made.body)
        place = self.places.setdefault((made.type, made.shape, closed.number), len(self.kept))
        # A recurrence reads itself by its own name, so none is equal to another.
        if place == len(self.kept) or made.order is not None:
            self.kept.append(made)
            return
        other = self.kept[place]
        if not made.is_output:
            self.instead[made.name] = other.name
        elif other.order is not None or any(d.is_output for d in self.kept[place:]):
            # A recurrence keeps its name, and callers know outputs by their order.
            self.kept.append(replace(made, body=self.terms.read(other.name, made.own, made.type)))
        else:
            self.instead = {old: made.name if new == other.name else new for old, new in self.instead.items()}
            self.instead[other.name] = made.name
            self.known.clear()
            self.kept[place:] = [made, *map(self.rewritten, self.kept[place + 1 :])]

    def rewritten(self, definition: Definition) -> Definition:
        """The definition, reading what is kept; it reads those before it alone, so `known` holds for all."""
        return definition.with_body(with_tensors(self.terms, definition.body, self.instead, self.known))
