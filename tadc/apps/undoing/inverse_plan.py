"""The plan of an inverse: its components in order, what each is like, and what it costs."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from tadc.apps.undoing.classes import class_of
from tadc.apps.undoing.components import partition, widths
from tadc.apps.undoing.forms import Forms
from tadc.apps.undoing.graph import Graph, graph_of
from tadc.apps.undoing.inversion_errors import constant_output, other_width, repeated_output
from tadc.apps.undoing.kinds import Class
from tadc.apps.undoing.planned import PlanData, Planned, Step
from tadc.apps.undoing.step_programs import steps_of
from tadc.toolkit.language import Program
from tadc.toolkit.reporting import tables_html, tables_latex


class Plan(PlanData):
    """How a program is inverted.

    `width` numbers are live between any two steps; `widths` are those before the first statement and after
    each, in the order of the text. `str` is what `tadc inverse --plan` prints.

    >>> import tadc
    >>> plan = tadc.inverse(tadc.function("x: f64[3]; f[i] = 2*x[i]")).plan
    >>> plan.cost, plan.kinds
    (3, {'diagonal': 1})
    """

    def __str__(self) -> str:
        from tadc.apps.undoing.plan_tables import plan_text

        return plan_text(self)

    def __repr__(self) -> str:
        of, by = ", ".join(self.outputs), ", ".join(self.inputs)
        return f"<tadc.Plan of {of} by {by}: {self.width} numbers in {len(self.steps)} steps>"

    def latex(self) -> str:
        """The steps as a `tabular`."""
        from tadc.apps.undoing.plan_tables import plan_table

        return tables_latex([plan_table(self)])

    def _repr_html_(self) -> str:
        from tadc.apps.undoing.plan_tables import plan_table, summary

        return tables_html([plan_table(self)] if self.steps else [], summary(self))


def plan_of(program: Program, wrt: Sequence[str]) -> Plan:
    """The plan of a program without size symbols, by its arguments `wrt`.

    Raises CompileError: TAD0910 where inputs and outputs differ in size, TAD0911 where the Jacobian is
    singular whatever the values are.
    """
    graph = graph_of(program, wrt)
    _checked(graph)
    forms, kinds = Forms(graph), dict[int, Class]()
    planned: list[Planned] = []
    for component in partition(graph):
        form, names = forms.of(component)
        kind = kinds.get(id(form))
        if kind is None:
            kind = class_of(form)
            if kind.name == "dense" and any(d.order is not None for d in form.program.definitions):
                kind = steps_of(form, plan_of) or kind
            kinds[id(form)] = kind
        planned.append(Planned(component, form, kind, names))
    steps = tuple(_step(graph, each) for each in planned)
    return Plan(
        graph.inputs,
        tuple(d.name for d in program.outputs),
        sum(graph.sizes[name] for name in graph.inputs),
        widths(graph),
        steps,
        graph,
        tuple(planned),
    )


def _checked(graph: Graph) -> None:
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


def _step(graph: Graph, planned: Planned) -> Step:
    component = planned.component
    return Step(
        tuple(graph.statements[position].name for position in component.statements),
        component.dying,
        component.new,
        component.kept,
        planned.form.size,
        f"recurrence, {planned.kind.name}" if planned.form.earlier else planned.kind.name,
        planned.kind.cost,
    )
