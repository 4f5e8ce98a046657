"""A plan as one program of the language: values forwards, tangents backwards, and what is divided by."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from tadc.apps.undoing.plans.forms import ComponentForm, moved_definition
from tadc.apps.undoing.plans.kinds import Class
from tadc.apps.undoing.plans.planned import Plan, Step
from tadc.apps.undoing.solutions.programs import Programs
from tadc.apps.undoing.solutions.roles import (
    BETWEEN,
    COTANGENT,
    INNER,
    PIVOT,
    TANGENT,
    VALUE,
    Naming,
    Role,
    RoledProgram,
    program_of,
    returning,
    value_of,
)
from tadc.toolkit.language import Argument, Definition, Terms

#: A program, and what its tensors are among all.
Part: TypeAlias = tuple[RoledProgram, Naming]

#: The programs of a form of a class.
ProgramsOf = Callable[[ComponentForm, Class], Programs]


class NoFormula(Exception):
    """Why the language does not say a solution, and of which component."""

    def __init__(self, reason: str, planned: Step | None = None) -> None:
        super().__init__(reason)
        self.planned = planned


def undone(plan: Plan, programs_of: ProgramsOf, *, is_known: bool = True) -> RoledProgram:
    """What takes tangents of a plan's outputs to those of its inputs, and its pivots.

    Values of inputs are arguments, those of outputs if they are known. Raises NoFormula where a component is
    no formula.
    """
    graph = plan.graph
    known = {value_of(name) for name in graph.outputs} if is_known else set[Role]()
    parts: list[Part] = []
    if graph.parameters:
        parts.append((RoledProgram(graph.parameter_program, {}), lambda role: role))
    backwards: list[Part] = []
    for number, planned in enumerate(plan.steps):
        programs = programs_of(planned.form, planned.matrix)
        if not programs.is_closed:
            raise NoFormula(planned.matrix.name, planned)
        own = naming(planned.names, number)

        def computed(role: Role, own: Naming = own) -> Role:
            # What is known is not what is computed, which later components read.
            found = own(role)
            return Role(INNER, found.name) if found in known else found

        parts.append((programs.value, computed))
        backwards += [(programs.inverse, own), (programs.pivots, own)]
    wanted = {Role(TANGENT, name) for name in graph.inputs}
    return composed([*parts, *backwards[::-1]], lambda role: role in wanted or role.kind == PIVOT)


def composed(parts: Sequence[Part], wanted: Callable[[Role], bool]) -> RoledProgram:
    """The program that does what the parts do in turn, and returns what is wanted of their results.

    Its tensors are named in the order in which they appear, so that equal sequences give equal programs. What
    a part makes of a role that is there already takes its place.
    """
    terms, names, roles = Terms(), dict[Role, str](), dict[str, Role]()
    arguments, made = list[Argument](), list[Definition]()

    def named(role: Role) -> str:
        names[role] = f"t{len(roles)}"
        roles[names[role]] = role
        return names[role]

    for number, (part, naming) in enumerate(parts):
        inner: dict[str, str] = {}
        for argument in part.program.arguments:
            role = naming(part.role(argument.name))
            if role not in names:
                arguments.append(replace(argument, name=named(role)))
            inner[argument.name] = names[role]
        for d in part.program.definitions:
            inner[d.name] = named(naming(part.role(d.name)) if d.is_output else Role(INNER, d.name, number))
            made.append(moved_definition(d, terms, inner, d.indices))
    results = {name for role, name in names.items() if wanted(role)}
    return RoledProgram(program_of(returning(made, results), arguments, terms), roles)


def naming(names: Mapping[str, str], number: int) -> Naming:
    """The roles of a component's tensors in its program.

    A value in between goes by its component and its name there.
    """

    def own(role: Role) -> Role:
        name = names.get(role.name)
        if role.kind in (VALUE, TANGENT, COTANGENT):
            return Role(BETWEEN, role.name, number) if name is None else Role(role.kind, name)
        return Role(role.kind, name or role.name, number)

    return own
