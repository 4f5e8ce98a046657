"""The plan of an inverse: its components in order, what each is like, and what it costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from tadc.apps.undoing.plans.classes import class_of
from tadc.apps.undoing.plans.components import partition, widths
from tadc.apps.undoing.plans.forms import Forms
from tadc.apps.undoing.plans.graph import StatementGraph, ValuePart, graph_of
from tadc.apps.undoing.plans.inversion_errors import constant_output, other_width, repeated_output
from tadc.apps.undoing.plans.kinds import Class
from tadc.apps.undoing.plans.planned import Plan, Step
from tadc.apps.undoing.plans.split_values import in_parts
from tadc.apps.undoing.steps.step_programs import steps_of
from tadc.toolkit.language import Program


def plan_of(program: Program, wrt: Sequence[str]) -> Plan:
    """The plan of a program without size symbols, by its arguments `wrt`.

    A plan with systems is compared with that of the same program where short dimensions are split.
    Raises CompileError: TAD0910 where inputs and outputs differ in size, TAD0911 where the Jacobian is
    singular whatever the values are.
    """
    whole = _plan_of(program, wrt, {})
    # Dimensions in front that only say which block it is stay as they are.
    systems = {
        name: step.matrix.base.batch
        for step in whole.steps
        if not step.matrix.is_closed
        for name in (*step.dying, *step.new)
    }
    found = in_parts(program, wrt, systems) if systems else None
    if found is not None:
        split = _plan_of(found[0], wrt, found[1])
        return min(whole, split, key=lambda plan: (not plan.is_closed, plan.cost))
    return whole


def _plan_of(program: Program, wrt: Sequence[str], parts: Mapping[str, ValuePart]) -> Plan:
    graph = graph_of(program, wrt, parts)
    _checked(graph)
    forms, kinds = Forms(graph), dict[int, Class]()
    steps: list[Step] = []
    for component in partition(graph):
        form, names = forms.of(component)
        kind = kinds.get(id(form))
        if kind is None:
            kind = class_of(form)
            if kind.name == "dense" and any(d.order is not None for d in form.program.definitions):
                kind = steps_of(form, plan_of) or kind
            kinds[id(form)] = kind
        done = tuple(graph.statements[position].name for position in component.statements)
        title = f"recurrence, {kind.name}" if form.earlier else kind.name
        values = component.dying, component.new, component.kept
        steps.append(Step(done, *values, form.size, title, kind.cost, component, form, kind, names))
    width = sum(graph.sizes[name] for name in graph.inputs)
    outputs = tuple(d.name for d in program.outputs)
    return Plan(graph.inputs, outputs, width, widths(graph), tuple(steps), graph)


def _checked(graph: StatementGraph) -> None:
    program = graph.program
    shapes = graph.shapes
    inputs = sum(graph.sizes[name] for name in graph.inputs)
    outputs = sum(prod(shapes[d.name]) for d in program.outputs)
    if inputs != outputs:
        raise other_width(graph, inputs, outputs)
    seen: dict[str, str] = {}
    for definition, value in zip(program.outputs, graph.outputs, strict=True):
        if value not in graph.sizes:
            raise constant_output(graph, definition.name)
        if value in seen:
            raise repeated_output(graph, seen[value], definition.name)
        seen[value] = definition.name
