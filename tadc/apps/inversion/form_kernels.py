"""The compiled programs of a form, each made at its first use."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

from tadc.apps.inversion.factors import Array
from tadc.apps.inversion.wraps import unwrapped
from tadc.apps.undoing.plans.forms import ComponentForm
from tadc.apps.undoing.plans.kinds import Class, LowRank
from tadc.apps.undoing.solutions.pieces import log_sum
from tadc.apps.undoing.solutions.roles import TOTAL, Naming, Role, RoledProgram, program_of
from tadc.apps.undoing.steps.step_programs import programs_of
from tadc.toolkit.language import Definition
from tadc.toolkit.reporting import new_rlock
from tadc.toolkit.running import function_in_memory

LOCK = new_rlock()


@dataclass(frozen=True, eq=False)
class RoledKernel:
    """A compiled program, and the roles of its arguments and results, in order."""

    inputs: tuple[Role, ...]
    outputs: tuple[Role, ...]
    call: Callable[..., list[Array]]

    def results(self, arrays: Mapping[Role, Array]) -> list[Array]:
        """What it makes of arrays by role."""
        return self.call([arrays[role] for role in self.inputs])

    def __call__(self, arrays: Mapping[Role, Array]) -> dict[Role, Array]:
        """The same by role."""
        return dict(zip(self.outputs, self.results(arrays), strict=True))

    def named(self, naming: Naming) -> RoledKernel:
        """The kernel of tensors that go by other roles."""
        return replace(self, inputs=tuple(map(naming, self.inputs)), outputs=tuple(map(naming, self.outputs)))


def _nothing(_: Sequence[Array]) -> list[Array]:
    return []


def compiled(made: RoledProgram, *, fused: bool = False) -> RoledKernel:
    """The kernel of a program, from disk if it was compiled before.

    If `fused`, products and sums may be rounded once: a recurrence waits half as long for each element.
    """
    if not made.program.outputs:
        return RoledKernel((), (), _nothing)
    with LOCK:
        f = function_in_memory(unwrapped(made.program), "<inverse>")
        kernel = (f.compiled_fused() if fused else f.compiled()).kernel
    return RoledKernel(tuple(map(made.role, f.inputs)), tuple(map(made.role, f.outputs)), kernel)


#: The programs of a form, as methods of `Programs`, and the logarithm of what it divides by.
What = Literal[
    "value",
    "inverse",
    "transposed",
    "right_side",
    "back",
    "columns",
    "outer",
    "inner",
    "jvp",
    "vjp",
    "pivots",
    "logabsdet",
]


class FormKernels:
    """What a form is computed and inverted with, each made at its first use.

    Tensors go by their names in the form.
    """

    def __init__(self, form: ComponentForm, kind: Class) -> None:
        self.form, self.kind = form, kind
        self.programs = programs_of(form, kind)
        self.is_closed = self.programs.is_closed
        is_low = isinstance(kind, LowRank)
        #: What reads values when the component is undone, and what of it needs values that are taped.
        self.way_back: tuple[What, ...] = ("right_side", "columns", *(("outer", "inner") if is_low else ()))
        self._taping: tuple[What, ...] = ("inverse", "pivots") if self.is_closed else self.way_back[:3]
        self._made: dict[What, RoledProgram] = {}
        self._kernels: dict[What, RoledKernel] = {}

    @cached_property
    def taped(self) -> tuple[str, ...]:
        """The values in between that are kept for the way back."""
        return self.programs.taped([self.program(what) for what in self._taping])

    def program(self, what: What) -> RoledProgram:
        """A program of the form."""
        if what not in self._made:
            self._made[what] = self._program(what)
        return self._made[what]

    def _program(self, what: What) -> RoledProgram:
        match what:
            case "value":
                return self.programs.value(self.taped)
            case "logabsdet":
                return _log_determinant(self.program("pivots"))
            case _:
                return getattr(self.programs, what)()

    def __getitem__(self, what: What) -> RoledKernel:
        """A program, compiled."""
        if what not in self._kernels:
            fused = what == "transposed" and self.kind.base.method == "recurrence"
            self._kernels[what] = compiled(self.program(what), fused=fused)
        return self._kernels[what]


def _log_determinant(pivots: RoledProgram) -> RoledProgram:
    """The sum of the logarithms of what is divided by."""
    made = pivots.program
    total = Definition("logabsdet", made.outputs[0].type, (), (), log_sum(made.terms, made.outputs))
    kept = [replace(d, is_output=False) for d in made.definitions]
    return RoledProgram(program_of([*kept, total], made.arguments, made.terms), {total.name: Role(TOTAL)})
