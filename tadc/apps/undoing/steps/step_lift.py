"""The solution of a chain of steps as one recurrence, against the order of its steps.

The tangents of all states are one tensor `W[state, slot, …]`: a slot for each tensor of a state, and for each
value in between of its shape. States are solved for from the last on, the slots of one state in the order in
which the components of a step are undone. What depends on no tangent is computed before, for all steps.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from tadc.apps.undoing.plans.forms import ComponentForm, moved_definition
from tadc.apps.undoing.plans.planned import Plan
from tadc.apps.undoing.solutions.inlined import without
from tadc.apps.undoing.solutions.pieces import Pieces
from tadc.apps.undoing.solutions.programs import Programs
from tadc.apps.undoing.solutions.ratios import is_light
from tadc.apps.undoing.solutions.roles import PIVOT, TANGENT, Role, RoledProgram, value_of
from tadc.apps.undoing.solutions.undone import NoFormula, undone
from tadc.apps.undoing.steps.step_chain import FactorChain, Rule, choice, reread
from tadc.apps.undoing.steps.step_layout import StateLayout
from tadc.toolkit.language import Affine, Constraint, Definition, Term, bottom_up, interval_of, tensors_read

#: The tensor of the tangents of all states.
_ALL = "back"


@dataclass
class Lift:
    """Puts the solutions of the three factors together; `made` are definitions before the last ones."""

    form: ComponentForm
    layout: StateLayout
    made: list[Definition] = field(default_factory=list[Definition])
    pivots: list[Definition] = field(default_factory=list[Definition])
    #: Whose derivative each pivot is, by the names of the factors.
    whose: dict[str, str] = field(default_factory=dict[str, str])

    def __post_init__(self) -> None:
        self.pieces = Pieces(self.form)
        self.terms = self.pieces.terms
        self.type = self.form.types[self.layout.name]
        self.states = [(k, part) for k in range(self.layout.depth) for part in range(len(self.layout.parts))]
        #: The slot of each part of a state, and how many slots there are.
        self.slots: dict[int, int] = {}
        self.width = 1

    def solved(self, chain: FactorChain) -> list[Definition]:
        """`x_d` of a chain."""
        depth, parts = self.layout.depth, range(len(self.layout.parts))
        values = {f"a{k}_{part}": self.ahead(depth - k, part) for k in range(1, depth + 1) for part in parts}
        values |= {f"b0_{part}": self.ahead(depth, part) for part in parts}
        self.steps(chain.step, undone(chain.step, Programs), values, self._end(chain.end))
        return self._start(chain.start)

    # -- the first and the last factor -------------------------------------------------------------

    def _end(self, plan: Plan) -> dict[tuple[int, int], Rule]:
        """The tangents of the last states, by how many states follow and the part."""
        last = self.layout.length - 1
        values = {f"l{k}_{part}": self._value(Affine.const(last - k), part) for k, part in self.states}
        given = {
            value: self.reading(self.pieces.given(TANGENT, name), self.form.types[name])
            for name, value in zip(plan.outputs, plan.graph.outputs, strict=True)
        }
        found = self._factor("end", plan, values, given)
        return {(k, part): found[f"l{k}_{part}"] for k, part in self.states}

    def _start(self, plan: Plan) -> list[Definition]:
        """The tangents of what dies from those of the first states."""
        values = {f"f{k}_{part}": self._value(Affine.const(k), part) for k, part in self.states}
        tangents = {f"f{k}_{part}": self.tangent(Affine.const(k), part) for k, part in self.states}
        given = {v: tangents[name] for name, v in zip(plan.outputs, plan.graph.outputs, strict=True)}
        found = self._factor("start", plan, values, given)
        shapes = self.form.shapes
        return [
            self.pieces.define(f"x_{name}", name, found[name](_own(len(shapes[name]))), Role(TANGENT, name))
            for name in self.form.dying
        ]

    def _factor(
        self, prefix: str, plan: Plan, values: Mapping[str, Rule], given: Mapping[str, Rule]
    ) -> dict[str, Rule]:
        """The tangents of a plan's inputs from those of its outputs."""
        made = undone(plan, Programs)
        known = {value_of(name): rule for name, rule in values.items()}
        rules = self.rules(made, known | {Role(TANGENT, name): rule for name, rule in given.items()})
        self.emit(prefix, made, self.moved(made), rules)
        found = dict(given)
        for role in made.outputs:
            if role.kind == TANGENT:
                found[role.name] = rules[made.names[role]]
        return found

    # -- the steps ---------------------------------------------------------------------------------

    def steps(
        self, plan: Plan, made: RoledProgram, values: Mapping[str, Rule], ends: Mapping[tuple[int, int], Rule]
    ) -> None:
        """The recurrence of what `made` computes for all states, from that of the last states.

        `made` takes what there is of a step's outputs to that of its inputs; `values` are read beside it.
        """
        depth, parts = self.layout.depth, range(len(self.layout.parts))
        states = self.layout.states("b", range(depth))
        tangents: dict[Role, Rule] = {}
        for name, value in zip(plan.outputs, plan.graph.outputs, strict=True):
            back, part = states[name]
            tangents[Role(TANGENT, value)] = self._tangent_ahead(depth - back, part)
        rules = self.rules(made, {value_of(name): rule for name, rule in values.items()} | tangents)
        given = {a.name for a in made.program.arguments if made.roles[a.name] in tangents}
        carried, free = _split(self.moved(made), given)
        held = self.emit("each", made, free, rules)
        slotted = self._slotted(made, carried, held)
        dying = [Role(TANGENT, f"a{depth}_{part}") for part in parts]
        copies = [role for role in dying if role not in made.outputs]
        place = {made.roles[d.name]: n for n, d in enumerate(slotted)}
        place |= {role: len(slotted) + n for n, role in enumerate(copies)}
        self.width = len(place)
        self.slots = {part: place[role] for part, role in enumerate(dying)}
        for d in slotted:
            rules[d.name] = self._slot(place[made.roles[d.name]])
        shift = {f"i{n}": form for n, form in zip(range(1, len(self.own) + 1), self.own, strict=True)}
        bodies = [reread(self.terms, self.terms.substitute(d.body, shift), rules) for d in slotted]
        bodies += [tangents[role]([Affine.var("i0"), *self.own]) for role in copies]
        orders = {d.order.substitute(shift) for d in slotted if d.order is not None}
        self.made.append(self._recurrence(bodies, self._last(ends), orders))

    def _slotted(
        self, made: RoledProgram, carried: Sequence[Definition], held: Mapping[int, Term]
    ) -> list[Definition]:
        """The tangents of a step that get a slot; those of other shapes are part of what reads them."""
        wanted = {d.name for d in made.program.outputs}
        shape = (self.layout.count, *self.layout.extents)
        found = [
            replace(d, body=bottom_up(d.body, dict(held), self.terms.rebuild)) if held else d for d in carried
        ]
        gone = [d.name for d in found if not (d.name in wanted or d.order is not None or d.shape == shape)]
        return without(self.terms, found, gone)

    def _last(self, ends: Mapping[tuple[int, int], Rule]) -> Term:
        """The tangents of the last states, in their slots."""
        states: list[Term] = []
        for k in range(self.layout.depth):
            slots: list[Term] = [self.terms.const(0)] * self.width
            for part, slot in self.slots.items():
                slots[slot] = ends[k, part](self.own)
            states.append(choice(self.terms, Affine.var("i1"), slots))
        return choice(self.terms, self.layout.length - 1 - Affine.var("i0"), states)

    def _recurrence(self, bodies: Sequence[Term], last: Term, orders: set[Affine]) -> Definition:
        """The definition of the tangents of all states."""
        layout, terms = self.layout, self.terms
        inner, span = Affine.const(0), 1
        if orders:
            if len(orders) > 1:
                raise NoFormula("solutions of one step that go along different indices")
            (inner,) = orders
            ranges = {form: (0, n - 1) for form, n in zip(map(str, self.own), layout.extents, strict=True)}
            low, high = interval_of(inner, ranges)
            span = high - low + 1
        order = Affine.var("i0") * -(span * self.width) + inner
        front: list[tuple[str, int]] = [("i0", layout.length)]
        if self.width > 1:
            order = order + Affine.var("i1") * span
            front.append(("i1", self.width))
        body = terms.guard(
            [Constraint(layout.count - 1 - Affine.var("i0"))], choice(terms, Affine.var("i1"), bodies), last
        )
        shape = (*(n for _, n in front), *layout.extents)
        indices = (*(name for name, _ in front), *map(str, self.own))
        return Definition(_ALL, self.type, shape, indices, body, is_output=False, order=order)

    # -- definitions -------------------------------------------------------------------------------

    def moved(self, made: RoledProgram) -> list[Definition]:
        """The definitions in the table of the form, with indices i0, i1, …"""
        return [moved_definition(d, self.terms, {}) for d in made.program.definitions]

    def emit(
        self, prefix: str, made: RoledProgram, definitions: Sequence[Definition], rules: dict[str, Rule]
    ) -> dict[int, Term]:
        """Add definitions under names of their own; reads of pivots by the numbers of expensive bodies."""
        held: dict[int, Term] = {}
        for d in definitions:
            name = prefix + d.name
            rules[d.name] = self.reading(name, d.type)
            added = replace(d, name=name, body=reread(self.terms, d.body, rules))
            self.made.append(added)
            if made.roles[d.name].kind == PIVOT:
                self.pivots.append(added)
                self.whose[name] = made.roles[d.name].name
                if not is_light(d.body):
                    held[d.body.number] = self.terms.read(d.name, _own(len(d.indices)), d.type)
        return held

    def rules(self, made: RoledProgram, known: Mapping[Role, Rule]) -> dict[str, Rule]:
        """What is read in the place of the arguments of a program; else what is of their names."""
        return {
            a.name: known.get(role) or self.reading(role.name, a.type)
            for a, role in zip(made.program.arguments, made.inputs, strict=True)
        }

    # -- reads -------------------------------------------------------------------------------------

    @property
    def own(self) -> list[Affine]:
        """The indices of an element of a slot, in the recurrence."""
        first = 2 if self.width > 1 else 1
        return [Affine.var(f"i{first + n}") for n in range(len(self.layout.extents))]

    def reading(self, name: str, type: str) -> Rule:
        """Reads of a tensor."""
        return lambda forms: self.terms.read(name, forms, type)

    def _value(self, state: Affine, part: int) -> Rule:
        name, layout = self.layout.name, self.layout
        return lambda forms: self.terms.read(name, layout.place(part, state, forms), self.type)

    def _at(self, state: Affine, slot: int) -> Rule:
        front = [state, Affine.const(slot)] if self.width > 1 else [state]
        return lambda forms: self.terms.read(_ALL, [*front, *forms], self.type)

    def tangent(self, state: Affine, part: int) -> Rule:
        """Reads of what the recurrence computes for a part of a state."""
        return self._at(state, self.slots[part])

    def ahead(self, ahead: int, part: int) -> Rule:
        """Reads of a part of the state so many steps ahead of the one that is solved for."""
        return lambda forms: self._value(forms[0] + ahead, part)(forms[1:])

    def _tangent_ahead(self, ahead: int, part: int) -> Rule:
        return lambda forms: self.tangent(forms[0] + ahead, part)(forms[1:])

    def _slot(self, slot: int) -> Rule:
        return lambda forms: self._at(forms[0], slot)(forms[1:])


def _own(rank: int) -> list[Affine]:
    return [Affine.var(f"i{n}") for n in range(rank)]


def _split(definitions: Sequence[Definition], given: set[str]) -> tuple[list[Definition], list[Definition]]:
    """The definitions that depend on some tensors, and the others."""
    carried, free = list[Definition](), list[Definition]()
    reached = set(given)
    for d in definitions:
        if tensors_read([d.body]) & reached:
            reached.add(d.name)
            carried.append(d)
        else:
            free.append(d)
    return carried, free
