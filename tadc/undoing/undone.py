"""A plan as one program of the language: values forwards, tangents backwards, and what is divided by."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from tadc.frontend.program import Program
from tadc.frontend.terms import tensors_read
from tadc.undoing.forms import Form
from tadc.undoing.kinds import Class
from tadc.undoing.planned import PlanData, Planned
from tadc.undoing.programs import Programs
from tadc.undoing.segments import Composed, Part, composed

#: What stands in front of the name of a value's tangent, and of a pivot's.
TANGENT, PIVOT = "v:", "pivot:"

#: The programs of a form of a class.
ProgramsOf = Callable[[Form, Class], Programs]


class NoFormula(Exception):
    """Why the language does not say a solution, and of which component."""

    def __init__(self, reason: str, planned: Planned | None = None) -> None:
        super().__init__(reason)
        self.planned = planned


def undone(plan: PlanData, programs_of: ProgramsOf, *, is_known: bool = True) -> Composed:
    """What takes tangents of a plan's outputs to those of its inputs, and its pivots.

    They go by the name of the value behind `v:` and `pivot:…:`. Values of inputs are arguments, those of
    outputs if they are known. Raises NoFormula where a component is no formula.
    """
    graph = plan.graph
    outputs = set(graph.outputs) if is_known else set[str]()
    parts: list[Part] = []
    if graph.parameters:
        made = tuple(replace(d, is_output=True) for d in graph.parameters)
        read = {name for d in made for name in tensors_read([d.body])}
        arguments = tuple(a for a in graph.program.arguments if a.name in read)
        parts.append((Program(arguments, made, graph.program.terms), str))
    backwards: list[Part] = []
    for number, planned in enumerate(plan.components):
        programs = programs_of(planned.form, planned.kind)
        if not programs.is_closed:
            raise NoFormula(planned.kind.name, planned)
        own = _naming(planned.names, number)
        between = [d.name for d in planned.form.program.definitions]

        def value(name: str, own: Callable[[str], str] = own) -> str:
            return f"gone:{own(name)}" if own(name) in outputs else own(name)

        parts.append((programs.value(between), value))
        backwards.append((programs.inverse(), _backwards(own, number)))
        pivots = programs.pivots()
        backwards.append((pivots, _pivots(own, number, {d.name for d in pivots.outputs})))
    wanted = {TANGENT + name for name in graph.inputs}
    return composed([*parts, *backwards[::-1]], lambda n: n in wanted or n.startswith(PIVOT))


def _naming(names: Mapping[str, str], number: int) -> Callable[[str], str]:
    return lambda name: names.get(name) or f"{number}.{name}"


def _backwards(own: Callable[[str], str], number: int) -> Callable[[str], str]:
    def name(inner: str) -> str:
        if inner == "least":
            return f"least:{number}"
        return TANGENT + own(inner[2:]) if inner[1:2] == "_" else own(inner)

    return name


def _pivots(own: Callable[[str], str], number: int, pivots: set[str]) -> Callable[[str], str]:
    return lambda name: f"{PIVOT}{number}:{own(name.removeprefix('c_'))}" if name in pivots else own(name)
