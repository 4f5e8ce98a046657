"""A chain of steps that are solved as a system each: dense ones, and bands on both sides of the diagonal.

The matrices of all steps are computed at once and factored; the product is solved from the last step back.
"""

from __future__ import annotations

from math import prod

import numpy as np

from tadc.apps.undoing.kinds import MatrixClass, dense
from tadc.apps.undoing.programs import Programs
from tadc.apps.undoing.roles import COLUMN, INNER, TANGENT, Role, RoledProgram, value_of
from tadc.apps.undoing.step_chain import FactorChain
from tadc.apps.undoing.step_lift import Lift
from tadc.apps.undoing.undone import NoFormula, Part, composed, naming, undone
from tadc.toolkit.language import Affine, bytes_of_type

#: From so many numbers in a state on, a solution for each step takes less time than one system for all.
_DENSE, _BAND = 48, 256
#: So many bytes of matrices are computed at once.
_MOST = 1 << 29


class StepSystems(Programs):
    """The programs of a form that is a chain of such steps. Raises NoFormula for others, and small ones."""

    def __init__(self, chain: FactorChain) -> None:
        super().__init__(chain.form, dense(chain.form.size))
        self.chain, layout = chain, chain.layout
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

    @property
    def is_closed(self) -> bool:
        """As `Programs.is_closed`."""
        return False

    def columns(self) -> RoledProgram:
        """The coloured columns of the matrices of all steps, `[lane, step, …]`."""
        lift = Lift(self.form, self.chain.layout)
        form = self.planned.form
        programs = Programs(form, self.step)
        own = naming(self.planned.names, 0)

        def value(role: Role) -> Role:
            return Role(INNER, role.name) if role.name in form.new else own(role)

        between = [d.name for d in form.program.definitions]
        parts: list[Part] = [(programs.value(between), value), (programs.columns(), own)]
        made = composed(parts, lambda role: role.kind == COLUMN)
        known = {"a1_0": lift.ahead(0, 0), "b0_0": lift.ahead(1, 0)}
        rules = lift.rules(made, {value_of(name): rule for name, rule in known.items()})
        lift.emit("each", made, lift.moved(made), rules)
        *before, last = lift.made
        return lift.pieces.program([*before, lift.pieces.result(last, Role(COLUMN, last.name))], taped=True)

    def element(self, pivot: str, index: list[int]) -> tuple[str, list[int]]:
        """The recurrence, and the element of it whose pivot is at some place among all."""
        layout = self.chain.layout
        state, *rest = np.unravel_index(index[0], (layout.count, *layout.extents))
        found = layout.place(0, Affine.const(int(state) + 1), [Affine.const(int(n)) for n in rest])
        return layout.name, [form.constant for form in found]
