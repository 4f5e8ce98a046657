"""Groups of components as reverse-inverse mode runs them: values forwards, tangents backwards."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from tadc.frontend.program import Program
from tadc.inversion.array_pool import Pool
from tadc.inversion.bound import Arrays, BoundComponent, drop, is_good
from tadc.inversion.compiled_forms import Kernel, compiled
from tadc.undoing.kinds import Recurrent
from tadc.undoing.segments import Part, composed, groups

#: What stands in front of the name of a value's tangent.
_TANGENT = "v:"


@dataclass
class Unit:
    """Components that are computed by one kernel and undone by another, or one that is solved as a system."""

    components: list[BoundComponent]
    values: Call | None = None
    back: Call | None = None
    #: What nothing reads after the unit, forwards and backwards.
    ends_forwards: list[str] = field(default_factory=list[str])
    ends_backwards: list[str] = field(default_factory=list[str])

    @property
    def is_closed(self) -> bool:
        """Whether formulas undo it."""
        return self.components[0].kernels.is_closed

    def compute(self, values: Arrays, pool: Pool) -> None:
        """Compute what is read later, if anything is."""
        if self.values is not None:
            values.update(self.values.run(values, {}, pool))

    def undo(self, values: Arrays, state: Arrays, pool: Pool) -> bool:
        """The tangents before the components from those after them; whether all pivots are far from 0."""
        if self.back is None:
            self.components[0].undo(values, state, pool)
            return True
        good = True
        found = self.back.run(values, state, pool)
        for component in self.components:
            drop(state, component.planned.component.new, pool)
        for name, array in found.items():
            if name.startswith("least:"):
                good &= is_good(array)
        state.update(
            {name.removeprefix(_TANGENT): a for name, a in found.items() if name.startswith(_TANGENT)}
        )
        return good


@dataclass(frozen=True)
class Call:
    """A kernel, and whose values and tangents it takes and gives."""

    kernel: Kernel
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]

    def run(self, values: Arrays, state: Arrays, pool: Pool) -> Arrays:
        """The outputs by name."""
        arrays = [state[name[2:]] if name.startswith(_TANGENT) else values[name] for name in self.inputs]
        return dict(zip(self.outputs, self.kernel.run(arrays, pool), strict=True))


def units_of(components: Sequence[BoundComponent]) -> list[Unit]:
    """The units of a plan's components."""
    # A recurrence is a loop of its own anyway.
    closed = {
        n
        for n, component in enumerate(components)
        if component.kernels.is_closed and not isinstance(component.kind, Recurrent)
    }
    found = [
        Unit([components[n] for n in group])
        for group in groups([component.form for component in components], closed)
    ]
    maker = _Maker()
    back_reads: list[set[str]] = []
    for unit in found:
        if unit.is_closed:
            unit.back = maker.back(unit.components)
            back_reads.append({name for name in unit.back.inputs if not name.startswith(_TANGENT)})
        else:
            back_reads.append(set(unit.components[0].read(unit.components[0].kernels.way_back)))
    later = set[str]().union(*back_reads)
    for unit in reversed(found):
        unit.values = maker.values(unit.components, later)
        later.update(unit.values.inputs if unit.values else ())
    _note_ends(found, back_reads)
    return found


def _note_ends(units: Sequence[Unit], back_reads: Sequence[set[str]]) -> None:
    taped = set[str]().union(*back_reads)
    seen = set(taped)
    for unit in reversed(units):
        if unit.values is not None:
            unit.ends_forwards = [n for n in (*unit.values.inputs, *unit.values.outputs) if n not in seen]
            seen.update(unit.values.inputs)
    gone: set[str] = set()
    for unit, reads in zip(units, back_reads, strict=True):
        unit.ends_backwards = [name for name in reads if name not in gone]
        gone.update(reads)


class _Maker:
    """Makes the kernels of units; equal programs are one kernel."""

    def __init__(self) -> None:
        self.made: dict[tuple[object, ...], Kernel] = {}

    def back(self, components: Sequence[BoundComponent]) -> Call:
        """The kernel that undoes components, last first."""
        parts: list[Part] = []
        for number, component in enumerate(reversed(components)):
            parts.append((component.kernels.inverse_program, _backwards(component, number)))
        gone = {name for component in components for name in component.planned.component.new}
        last = {name for component in components for name in component.planned.component.dying}
        left = {_TANGENT + name for name in last - gone}
        fused = any(isinstance(component.kind, Recurrent) for component in components)
        return self._call(parts, lambda name: name in left or name.startswith("least:"), fused=fused)

    def values(self, components: Sequence[BoundComponent], later: set[str]) -> Call | None:
        """The kernel that computes what is read later; None where nothing is."""
        parts: list[Part] = [(component.kernels.value_program, component.own) for component in components]
        if not any(
            component.own(d.name) in later
            for component in components
            for d in component.kernels.value_program.outputs
        ):
            return None
        return self._call(parts, lambda name: name in later)

    def _call(self, parts: Sequence[Part], wanted: Callable[[str], bool], *, fused: bool = False) -> Call:
        made = composed(parts, wanted)
        key = (*_key(made.program), fused)
        kernel = self.made.get(key)
        if kernel is None:
            kernel = self.made[key] = compiled(made.program, fused=fused)
        return Call(kernel, made.inputs, made.outputs)


def _backwards(component: BoundComponent, number: int) -> Callable[[str], str]:
    def name(own: str) -> str:
        if own == "least":
            return f"least:{number}"
        return _TANGENT + component.own(own[2:]) if own[1:2] == "_" else component.own(own)

    return name


def _key(program: Program) -> tuple[object, ...]:
    from tadc.frontend.printer import print_program

    return (print_program(program),)
