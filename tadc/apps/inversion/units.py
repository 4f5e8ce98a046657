"""Groups of components as reverse-inverse mode runs them: values forwards, tangents backwards."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace

from tadc.apps.inversion.bound import Arrays, BoundComponent, drop, is_good
from tadc.apps.inversion.form_kernels import RoledKernel, compiled
from tadc.apps.inversion.systems import SystemComponent
from tadc.apps.undoing.plans.forms import ComponentForm
from tadc.apps.undoing.solutions.roles import COTANGENT, LEAST, TANGENT, Role
from tadc.apps.undoing.solutions.undone import Part, composed
from tadc.toolkit.language import Reduce, print_program, reachable

#: So many definitions of one kernel are compiled together.
_DEFINITIONS = 24
#: So many components are.
_COMPONENTS = 12


@dataclass
class ComponentUnit:
    """Components that are computed by one kernel and undone by another, or one that is solved as a system."""

    components: list[BoundComponent]
    values: RoledKernel | None = None
    back: RoledKernel | None = None
    #: What nothing reads after the unit, forwards and backwards.
    ends_forwards: list[Role] = field(default_factory=list[Role])
    ends_backwards: list[Role] = field(default_factory=list[Role])

    @property
    def system(self) -> SystemComponent | None:
        """The component that is solved as a system, if it is one."""
        first = self.components[0]
        return first if isinstance(first, SystemComponent) else None

    def compute(self, arrays: Arrays) -> None:
        """Compute what is read later, if anything is."""
        if self.values is not None:
            arrays.update(self.values(arrays))
        for role in self.ends_forwards:
            arrays.pop(role, None)

    def undo(self, arrays: Arrays) -> bool:
        """The tangents before the components from those after them; whether all pivots are far from 0."""
        good = True
        if self.system is not None:
            self.system.undo(arrays)
        elif self.back is not None:
            found = self.back(arrays)
            for component in self.components:
                drop(arrays, TANGENT, component.planned.new)
            good = all(is_good(array) for role, array in found.items() if role.kind == LEAST)
            arrays.update(found)
        for role in self.ends_backwards:
            arrays.pop(role, None)
        return good


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
        for group in _groups([component.form for component in components], closed)
    ]
    maker = _Maker()
    back_reads: list[set[Role]] = []
    for unit in found:
        if unit.system is not None:
            read = [role for what in unit.system.kernels.way_back for role in unit.system.kernel(what).inputs]
        else:
            unit.back = maker.back(unit.components)
            read = [*unit.back.inputs]
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
        self.made: dict[tuple[object, ...], RoledKernel] = {}

    def back(self, components: Sequence[BoundComponent]) -> RoledKernel:
        """The kernel that undoes components, last first."""
        parts: list[Part] = [
            (component.kernels.program("inverse"), component.role) for component in components
        ]
        gone = {name for component in components for name in component.planned.new}
        last = {name for component in components for name in component.planned.dying}
        left = {Role(TANGENT, name) for name in last - gone}
        fused = any(component.kind.base.method == "recurrence" for component in components)
        return self._kernel(parts[::-1], lambda role: role in left or role.kind == LEAST, fused=fused)

    def values(self, components: Sequence[BoundComponent], later: set[Role]) -> RoledKernel | None:
        """The kernel that computes what is read later; None where nothing is."""
        parts: list[Part] = [(component.kernels.program("value"), component.role) for component in components]
        made = self._kernel(parts, lambda role: role in later)
        return made if made.outputs else None

    def _kernel(
        self, parts: Sequence[Part], wanted: Callable[[Role], bool], *, fused: bool = False
    ) -> RoledKernel:
        made = composed(parts, wanted)
        key = (print_program(made.program), fused)
        if key not in self.made:
            self.made[key] = compiled(made, fused=fused)
        return replace(self.made[key], inputs=made.inputs, outputs=made.outputs)


def _groups(forms: Sequence[ComponentForm], light: Collection[int]) -> list[range]:
    """The components that go together, by position; equal groups where the sequence of forms repeats.

    `light` are the positions of components that may be in a group. One with sums stays alone: it takes long
    to compile, and nothing is gained.
    """
    found: list[range] = []
    start = 0
    joins = [n in light and not _has_sums(form) for n, form in enumerate(forms)]
    while start < len(forms):
        end = start
        while end < len(forms) and joins[end]:
            end += 1
        if end == start:
            found.append(range(start, start + 1))
            start += 1
            continue
        step = _length(forms[start:end])
        found += [range(n, min(n + step, end)) for n in range(start, end, step)]
        start = end
    return found


def _has_sums(form: ComponentForm) -> bool:
    return any(isinstance(t, Reduce) for t in reachable(d.body for d in form.program.definitions))


def _length(forms: Sequence[ComponentForm]) -> int:
    """How many components are one group: a multiple of the period, one that divides it if it can."""
    count = len(forms)
    repeats = (p for p in range(1, count // 2 + 1) if all(forms[n] is forms[n - p] for n in range(p, count)))
    period = next(repeats, count)
    size = sum(len(form.program.definitions) for form in forms[:period])
    most = max(1, min(_DEFINITIONS // size, _COMPONENTS // period))
    if size > _DEFINITIONS or period > _COMPONENTS:
        return max(1, _DEFINITIONS * period // max(size, 2 * _DEFINITIONS))
    best = next((n for n in range(most, 0, -1) if count % (n * period) == 0), most)
    return (best if 2 * best > most else most) * period
