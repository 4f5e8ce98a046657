"""Groups of components as reverse-inverse mode runs them: values forwards, tangents backwards."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from tadc.apps.inversion.bound import Arrays, BoundComponent, drop, is_good
from tadc.apps.inversion.compiled_forms import FormKernel, compiled
from tadc.apps.undoing.roles import COTANGENT, LEAST, TANGENT, Role, RoledProgram
from tadc.apps.undoing.segments import Part, composed, groups
from tadc.toolkit.language import print_program


@dataclass
class ComponentUnit:
    """Components that are computed by one kernel and undone by another, or one that is solved as a system."""

    components: list[BoundComponent]
    values: RoledCall | None = None
    back: RoledCall | None = None
    #: What nothing reads after the unit, forwards and backwards.
    ends_forwards: list[Role] = field(default_factory=list[Role])
    ends_backwards: list[Role] = field(default_factory=list[Role])

    @property
    def is_closed(self) -> bool:
        """Whether formulas undo it."""
        return self.components[0].kernels.is_closed

    def compute(self, arrays: Arrays) -> None:
        """Compute what is read later, if anything is."""
        if self.values is not None:
            arrays.update(self.values.run(arrays))
        for role in self.ends_forwards:
            arrays.pop(role, None)

    def undo(self, arrays: Arrays) -> bool:
        """The tangents before the components from those after them; whether all pivots are far from 0."""
        good = True
        if self.back is None:
            self.components[0].undo(arrays)
        else:
            found = self.back.run(arrays)
            for component in self.components:
                drop(arrays, TANGENT, component.planned.new)
            good = all(is_good(array) for role, array in found.items() if role.kind == LEAST)
            arrays.update(found)
        for role in self.ends_backwards:
            arrays.pop(role, None)
        return good


@dataclass(frozen=True)
class RoledCall:
    """A kernel, and which arrays it takes and makes."""

    kernel: FormKernel
    inputs: tuple[Role, ...]
    outputs: tuple[Role, ...]

    def run(self, arrays: Arrays) -> Arrays:
        """What it makes."""
        found = self.kernel.call([arrays[role] for role in self.inputs])
        return dict(zip(self.outputs, found, strict=True))


def units_of(components: Sequence[BoundComponent]) -> list[ComponentUnit]:
    """The units of a plan's components."""
    # A recurrence is a loop of its own anyway.
    closed = {
        n
        for n, component in enumerate(components)
        if component.kernels.is_closed and component.kind.base.method != "recurrence"
    }
    found = [
        ComponentUnit([components[n] for n in group])
        for group in groups([component.form for component in components], closed)
    ]
    maker = _Maker()
    back_reads: list[set[Role]] = []
    for unit in found:
        if unit.is_closed:
            unit.back = maker.back(unit.components)
            read = [*unit.back.inputs]
        else:
            (component,) = unit.components
            kernels = component.kernels
            read = [component.role(role) for what in kernels.way_back for role in kernels[what].inputs]
        back_reads.append({role for role in read if role.kind not in (TANGENT, COTANGENT)})
    later = set[Role]().union(*back_reads)
    for unit in reversed(found):
        unit.values = maker.values(unit.components, later)
        later.update(unit.values.inputs if unit.values else ())
    _note_ends(found, back_reads)
    return found


def _note_ends(units: Sequence[ComponentUnit], back_reads: Sequence[set[Role]]) -> None:
    taped = set[Role]().union(*back_reads)
    seen = set(taped)
    for unit in reversed(units):
        if unit.values is not None:
            unit.ends_forwards = [n for n in (*unit.values.inputs, *unit.values.outputs) if n not in seen]
            seen.update(unit.values.inputs)
    gone: set[Role] = set()
    for unit, reads in zip(units, back_reads, strict=True):
        unit.ends_backwards = [role for role in reads if role not in gone]
        gone.update(reads)


class _Maker:
    """Makes the kernels of units; equal programs are one kernel."""

    def __init__(self) -> None:
        self.made: dict[tuple[object, ...], FormKernel] = {}

    def back(self, components: Sequence[BoundComponent]) -> RoledCall:
        """The kernel that undoes components, last first."""
        parts: list[Part] = [
            (component.kernels.program("inverse"), component.role) for component in components
        ]
        gone = {name for component in components for name in component.planned.new}
        last = {name for component in components for name in component.planned.dying}
        left = {Role(TANGENT, name) for name in last - gone}
        fused = any(component.kind.base.method == "recurrence" for component in components)
        return self._call(parts[::-1], lambda role: role in left or role.kind == LEAST, fused=fused)

    def values(self, components: Sequence[BoundComponent], later: set[Role]) -> RoledCall | None:
        """The kernel that computes what is read later; None where nothing is."""
        parts: list[Part] = [(component.kernels.program("value"), component.role) for component in components]
        made = self._call(parts, lambda role: role in later)
        return made if made.outputs else None

    def _call(
        self, parts: Sequence[Part], wanted: Callable[[Role], bool], *, fused: bool = False
    ) -> RoledCall:
        made = composed(parts, wanted)
        key = (print_program(made.program), fused)
        kernel = self.made.get(key)
        if kernel is None:
            kernel = self.made[key] = compiled(RoledProgram(made.program, made.roles), fused=fused)
        return RoledCall(kernel, made.inputs, made.outputs)
