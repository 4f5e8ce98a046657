"""How a chain of steps is undone: by formulas, or as a system for each step."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from tadc.apps.undoing.forms import ComponentForm
from tadc.apps.undoing.kinds import Class, Steps, dense
from tadc.apps.undoing.pieces import Pieces, is_number
from tadc.apps.undoing.programs import Programs
from tadc.apps.undoing.roles import PIVOT, Role, RoledProgram
from tadc.apps.undoing.step_chain import FactorChain, NoChain, Planner, chains_of
from tadc.apps.undoing.step_lift import Lift
from tadc.apps.undoing.step_systems import StepSystems
from tadc.apps.undoing.undone import NoFormula
from tadc.toolkit.language import Affine, Definition
from tadc.toolkit.transforms import is_const

#: So much less must several tensors of a state cost than one.
_SEVERAL = 3


class StepPrograms(Programs):
    """The programs of a form that is a chain of steps which formulas undo. Raises NoFormula."""

    def __init__(self, chain: FactorChain) -> None:
        # What is no solution has nothing of steps.
        super().__init__(chain.form, dense(chain.form.size))
        self.chain = chain
        self._lift = Lift(chain.form, chain.layout)
        self._solution = self._lift.solved(chain)

    @property
    def is_closed(self) -> bool:
        """As `Programs.is_closed`."""
        return True

    def inverse(self) -> RoledProgram:
        """As `Programs.inverse`."""
        lift = self._lift
        made = [*lift.made, *self._solution, *_least(lift.pieces, lift.pivots)]
        return lift.pieces.program(made, taped=True)

    def pivots(self) -> RoledProgram:
        """As `Programs.pivots`."""
        lift, wanted = self._lift, {pivot.name for pivot in self._lift.pivots}
        made = [lift.pieces.result(d, Role(PIVOT, d.name)) if d.name in wanted else d for d in lift.made]
        return lift.pieces.program(made, taped=True)

    def element(self, pivot: str, index: list[int]) -> tuple[str, list[int]]:
        """The tensor of the form, and its element, whose derivative a pivot is."""
        layout, own = self.chain.layout, self._lift.whose[pivot]
        states = layout.states("f", range(layout.depth)) | layout.states("b", (0,))
        if own not in states:
            return own, index
        state, part = states[own]
        rest = list(index)
        if own not in self.chain.start.outputs:
            state = layout.depth + rest.pop(0)
        place = layout.place(part, Affine.const(state), [Affine.const(n) for n in rest])
        return layout.name, [form.constant for form in place]


def programs_of(form: ComponentForm, kind: Class) -> Programs:
    """The programs of a form of a class."""
    if isinstance(kind, Steps):
        assert isinstance(kind.programs, Programs)
        return kind.programs
    return Programs(form, kind)


def steps_of(form: ComponentForm, planner: Planner) -> Steps | None:
    """How the chain of steps that a form is, is undone, at the least cost; None where it is none."""
    try:
        chains = chains_of(form, planner)
    except NoChain:
        return None
    # A state of one tensor has the shorter program: several have to save more than they lengthen it.
    chains.sort(key=lambda chain: chain.step.cost * (_SEVERAL if chain.layout.split else 1))
    for make in (StepPrograms, StepSystems):
        for chain in chains:
            with suppress(NoFormula):
                return _kind(chain, make(chain))
    return None


def _kind(chain: FactorChain, programs: Programs) -> Steps:
    count = chain.layout.count
    each = tuple(dict.fromkeys(planned.matrix.name for planned in chain.step.steps))
    work = chain.start.cost + chain.step.cost + chain.end.cost
    return Steps(dense(chain.form.size), count, each, work, isinstance(programs, StepPrograms), programs)


def _least(pieces: Pieces, pivots: Sequence[Definition]) -> list[Definition]:
    """The least magnitude of pivots, which are read, if they are not known to be no 0."""
    reads = [
        replace(p, body=pieces.terms.read(p.name, [Affine.var(i) for i in p.indices], p.type))
        for p in pivots
        if not is_number(p.body) or is_const(p.body, 0)
    ]
    return pieces.least(reads)
