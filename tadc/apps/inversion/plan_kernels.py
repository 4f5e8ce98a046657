"""The kernels of the programs that a plan is run by: of several in turn one, of equal ones the same."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias

from tadc.apps.inversion.factors import Array
from tadc.apps.inversion.wraps import unwrapped
from tadc.apps.undoing.solutions.roles import LEAST, Naming, Role, RoledProgram, value_of
from tadc.apps.undoing.solutions.undone import Part, composed
from tadc.toolkit.reporting import new_rlock
from tadc.toolkit.running import function_in_memory

LOCK = new_rlock()

#: Values, tangents and cotangents.
Arrays = dict[Role, Array]


@dataclass(frozen=True, eq=False)
class RoledKernel:
    """What makes arrays of arrays, and the roles of these, in order."""

    inputs: tuple[Role, ...]
    outputs: tuple[Role, ...]
    call: Callable[[Sequence[Array]], Sequence[Array]]

    def results(self, arrays: Mapping[Role, Array]) -> Sequence[Array]:
        """What it makes of arrays by role."""
        return self.call([arrays[role] for role in self.inputs])

    def named(self, naming: Naming) -> RoledKernel:
        """The kernel of tensors that go by other roles."""
        return replace(self, inputs=tuple(map(naming, self.inputs)), outputs=tuple(map(naming, self.outputs)))


#: What gives a kernel of those of its results that are read later.
Call: TypeAlias = Callable[[Collection[Role]], RoledKernel]


def _compiled(made: RoledProgram, *, fused: bool) -> RoledKernel:
    """The kernel of a program, from disk if it was compiled before."""
    if not made.program.outputs:
        return RoledKernel((), (), lambda _: [])
    f = function_in_memory(unwrapped(made.program), "<inverse>")
    kernel = (f.compiled_fused() if fused else f.compiled()).kernel
    return RoledKernel(tuple(map(made.role, f.inputs)), tuple(map(made.role, f.outputs)), kernel)


class PlanKernels:
    """The kernels of a plan, each compiled once."""

    def __init__(self) -> None:
        #: By the programs, how their tensors are joined, and what is wanted; programs are kept with them.
        self.made: dict[Any, tuple[RoledKernel, Sequence[Part]]] = {}

    def call(self, *parts: Part, fused: bool = False) -> Call:
        """Programs that run one after another.

        If `fused`, products and sums may be rounded once: a recurrence waits half as long for each element.
        """
        return partial(self._kernel, parts, fused)

    def all_of(self, program: RoledProgram, naming: Naming) -> RoledKernel:
        """The kernel of all results of a program."""
        return self._kernel([(program, naming)], False, list(map(naming, program.outputs)))

    def _kernel(self, parts: Sequence[Part], fused: bool, later: Collection[Role]) -> RoledKernel:
        """The kernel of what is read later, and of what says whether pivots are good."""
        own: dict[Role, Role] = {}
        order: list[object] = []
        for program, naming in parts:
            roles = map(naming, (*program.inputs, *program.outputs))
            order += [id(program), *(own.setdefault(role, value_of(str(len(own)))) for role in roles)]
        made = (naming(role) for program, naming in parts for role in program.outputs)
        wanted = frozenset(own[role] for role in made if role in later or role.kind == LEAST)
        key = fused, tuple(order), wanted
        if key not in self.made:
            numbered = [(program, partial(_through, own, naming)) for program, naming in parts]
            with LOCK:
                kernel = _compiled(composed(numbered, wanted.__contains__), fused=fused)
            self.made[key] = kernel, parts
        return self.made[key][0].named({mine: role for role, mine in own.items()}.__getitem__)


def _through(own: Mapping[Role, Role], naming: Naming, role: Role) -> Role:
    return own[naming(role)]
