"""How a chain of steps is undone: by formulas, or as a system for each step.

Systems are dense ones, and bands on both sides of the diagonal: the matrices of all steps are computed and
factored at once, and the product is solved from the last step back.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from math import prod

from tadc.apps.undoing.plans.forms import ComponentForm
from tadc.apps.undoing.plans.kinds import Class, MatrixClass, Steps, dense
from tadc.apps.undoing.solutions.pieces import known_or_read
from tadc.apps.undoing.solutions.programs import Programs
from tadc.apps.undoing.solutions.roles import COLUMN, INNER, PIVOT, TANGENT, Role, RoledProgram, value_of
from tadc.apps.undoing.solutions.undone import NoFormula, Part, composed, naming, undone
from tadc.apps.undoing.steps.step_chain import FactorChain, Planner, chains_of
from tadc.apps.undoing.steps.step_lift import Lift
from tadc.toolkit.language import Affine, bytes_of_type

#: From so many numbers in a state on, a solution for each step takes less time than one system for all.
_DENSE, _BAND = 48, 256
#: So many bytes of matrices are computed at once.
_MOST = 1 << 29
#: So much less must several tensors of a state cost than one.
_SEVERAL = 3


class ChainPrograms(Programs):
    """The programs of a form that is a chain of steps."""

    def __init__(self, chain: FactorChain) -> None:
        # What is no solution has nothing of steps.
        super().__init__(chain.form, dense(chain.form.size))
        self.chain = chain

    def state(self, state: int, part: int, index: Sequence[int]) -> tuple[str, list[int]]:
        """The recurrence, and the element of it that is an element of a part of a state."""
        layout = self.chain.layout
        place = layout.place(part, Affine.const(state), [Affine.const(int(n)) for n in index])
        return layout.name, [form.constant for form in place]


class StepPrograms(ChainPrograms):
    """Those of steps which formulas undo. Raises NoFormula."""

    def __init__(self, chain: FactorChain) -> None:
        super().__init__(chain)
        self._lift = Lift(chain.form, chain.layout)
        self._solution = self._lift.solved(chain)

    @property
    def is_closed(self) -> bool:
        """As `Programs.is_closed`."""
        return True

    @cached_property
    def inverse(self) -> RoledProgram:
        """As `Programs.inverse`."""
        lift = self._lift
        pivots = [replace(p, body=known_or_read(lift.terms, p)) for p in lift.pivots]
        made = [*lift.made, *self._solution, *lift.pieces.least(pivots)]
        return lift.pieces.program(made, taped=True)

    @cached_property
    def pivots(self) -> RoledProgram:
        """As `Programs.pivots`."""
        lift, wanted = self._lift, {pivot.name for pivot in self._lift.pivots}
        made = [lift.pieces.result(d, Role(PIVOT, d.name)) if d.name in wanted else d for d in lift.made]
        return lift.pieces.program(made, taped=True)

    def element(self, pivot: str, index: list[int]) -> tuple[str, list[int]]:
        """The tensor of the form, and its element, whose derivative a pivot is."""
        layout, own, rest = self.chain.layout, self._lift.whose[pivot], index
        for plan in (self.chain.start, self.chain.step, self.chain.end):
            own, rest = plan.graph.element(own, rest)
        states = layout.states("f", range(layout.depth)) | layout.states("b", (0,))
        if own not in states:
            return own, rest
        state, part = states[own]
        if own not in self.chain.start.outputs:
            state = layout.depth + rest.pop(0)
        return self.state(state, part, rest)


class StepSystems(ChainPrograms):
    """Those of steps which are systems. Raises NoFormula for others, and small ones."""

    def __init__(self, chain: FactorChain) -> None:
        super().__init__(chain)
        layout = chain.layout
        if layout.depth > 1 or len(layout.parts) > 1 or len(chain.step.steps) != 1:
            raise NoFormula("its states are several tensors")
        (self.planned,) = chain.step.steps
        step = self.planned.matrix
        if not isinstance(step, MatrixClass) or not step.batch or self.planned.form.earlier or step.is_closed:
            raise NoFormula("it is no system")
        self.step = step
        lanes = step.width * layout.count * prod(layout.extents)
        if lanes * bytes_of_type(self.form.types[layout.name]) > _MOST:
            raise NoFormula("its matrices are too large")
        if step.size < (_BAND if step.is_band else _DENSE):
            raise NoFormula("it is small")
        for plan in (chain.end, chain.start):
            if any(role.kind != TANGENT for role in undone(plan, Programs).inputs):
                raise NoFormula("its first or last states are scaled by values")

    @cached_property
    def columns(self) -> RoledProgram:
        """The coloured columns of the matrices of all steps, `[lane, step, …]`."""
        lift = Lift(self.form, self.chain.layout)
        form = self.planned.form
        programs = Programs(form, self.step)
        own = naming(self.planned.names, 0)

        def value(role: Role) -> Role:
            return Role(INNER, role.name) if role.name in form.new else own(role)

        parts: list[Part] = [(programs.value, value), (programs.columns, own)]
        made = composed(parts, lambda role: role.kind == COLUMN)
        known = {"a1_0": lift.ahead(0, 0), "b0_0": lift.ahead(1, 0)}
        rules = lift.rules(made, {value_of(name): rule for name, rule in known.items()})
        lift.emit("each", made, lift.moved(made), rules)
        *before, last = lift.made
        return lift.pieces.program([*before, lift.pieces.result(last, Role(COLUMN, last.name))], taped=True)

    def element(self, pivot: str, index: list[int]) -> tuple[str, list[int]]:
        """The recurrence, and the element of it whose pivot is at some place among all."""
        (place,), layout = index, self.chain.layout
        rest: list[int] = []
        for extent in reversed((layout.count, *layout.extents)):
            place, n = divmod(place, extent)
            rest.append(n)
        return self.state(rest.pop() + 1, 0, rest[::-1])


def programs_of(form: ComponentForm, kind: Class) -> Programs:
    """The programs of a form of a class."""
    if isinstance(kind, Steps):
        assert isinstance(kind.programs, Programs)
        return kind.programs
    return Programs(form, kind)


def steps_of(form: ComponentForm, planner: Planner) -> Steps | None:
    """How the chain of steps that a form is, is undone, at the least cost; None where it is none."""
    chains = chains_of(form, planner)
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
