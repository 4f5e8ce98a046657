"""Walks over definitions, from the root down, that put reads of new tensors in the place of terms."""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable

from tadc.frontend.program import Definition, Program
from tadc.frontend.terms import Read, Term, holds, tensors_read
from tadc.lattice.late_dataclasses import dataclass, field
from tadc.passes.rewrites.moves import Mover, in_order
from tadc.passes.rewrites.places import PlaceWalk


@dataclass
class MoveWalk(PlaceWalk, ABC):
    """One walk over a definition; `new` gets what is defined for it."""

    mover: Mover
    definition: Definition
    new: list[Definition] = field(default_factory=list[Definition], init=False)
    own: dict[int, bool] = field(default_factory=dict[int, bool], init=False, repr=False)

    def run(self) -> Definition:
        """The definition with reads in the place of what has moved."""
        self.mover.enter(self.definition)
        return self.definition.with_body(self.visit(0, self.definition.body))

    def reads_itself(self, term: Term) -> bool:
        """Whether a term reads the tensor that is defined: only a recurrence does, step by step."""

        def is_own(node: Term) -> bool:
            return isinstance(node, Read) and node.tensor == self.definition.name

        return self.definition.order is not None and holds(term, self.own, is_own)


def with_moved(
    program: Program, active: set[str], walk_over: Callable[[Definition], MoveWalk], cheap: bool = False
) -> Program:
    """The program before a derivative: what is new for a definition comes first, and may hold more of it.

    What depends on what is differentiated by is added to the `active` tensors. A definition is the tensor of
    its value, if that is expensive or also if it is `cheap`.
    """
    definitions: list[Definition] = []
    waiting = list(reversed(program.definitions))
    while waiting:
        walk = walk_over(waiting.pop())
        made = walk.run()
        if not walk.new:
            definitions.append(made)
            if made.order is None:
                walk.mover.holds(made, cheap)
            continue
        active.update(d.name for d in walk.new if not active.isdisjoint(tensors_read([d.body])))
        waiting += [made, *reversed(walk.new)]
    return program.with_definitions(in_order(definitions))
