"""A recurrence over whole states as a chain: a start, steps that are alike, and an end.

Of `h[t] = if {t = 0} then (A(d)) else (F(h[t - 1], t))` and `n = E(h[T - 1])` the Jacobian of n by d is a
product,

    dn/dd = E' F'_(T-1) … F'_1 A'

and each factor is inverted by itself (Pearlmutter and Siskind). The steps are one program, whose tensors have
the number of the step as their first index: its Jacobian is block-diagonal, a block for each step.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TypeAlias

from tadc.apps.undoing.plans.forms import ComponentForm
from tadc.apps.undoing.plans.planned import Plan
from tadc.apps.undoing.solutions.roles import returning
from tadc.apps.undoing.solutions.undone import NoFormula
from tadc.apps.undoing.steps.step_layout import MOST_PARTS, StateLayout, layouts
from tadc.toolkit.language import (
    Affine,
    Argument,
    Constraint,
    Definition,
    Program,
    Read,
    Term,
    Terms,
    bottom_up,
    box,
    reachable,
    tensors_read,
)
from tadc.toolkit.reporting import CompileError
from tadc.toolkit.transforms import Simplifier, needed

#: Makes the plan of a program by its arguments.
Planner = Callable[[Program, Sequence[str]], Plan]

#: A program, and by which arguments it is inverted.
Inverted: TypeAlias = tuple[Program, Sequence[str]]
Shape: TypeAlias = tuple[int, ...]

#: The term in the place of a read, given by its indices.
Rule = Callable[[Sequence[Affine]], Term]


@dataclass(frozen=True, eq=False)
class FactorChain:
    """The factors of a form's Jacobian, each a plan.

    `start` makes `f<state>_<part>` of the values that die, `step` makes `b<back>_<part>` of `a<back>_<part>`,
    both counted back from the state that is made, and `end` makes what is new of `l<back>_<part>`, counted
    from the last state.
    """

    form: ComponentForm
    layout: StateLayout
    start: Plan
    step: Plan
    end: Plan


def chains_of(form: ComponentForm, planner: Planner) -> list[FactorChain]:
    """The form as chains, one for each layout: of one recurrence whose last states alone are read."""
    made, found = [d for d in form.program.definitions if d.order is not None], list[FactorChain]()
    if len(made) != 1 or made[0].name in form.new or form.kept:
        return found
    before = _upstream(form.program.definitions, made[0])
    for layout in layouts(made[0], form.shapes[made[0].name]):
        reader = ChainReader(form, made[0], layout)
        with suppress(NoFormula, CompileError):
            start, step, end = reader.start(before), reader.step(), reader.end(before)
            found.append(FactorChain(form, layout, planner(*start), planner(*step), planner(*end)))
    return found


def _upstream(definitions: Sequence[Definition], recurrence: Definition) -> tuple[Definition, ...]:
    """The definitions that a recurrence reads, through others too."""
    kept = needed(returning(definitions, [recurrence.name]))
    return tuple(d for d in kept if d.name != recurrence.name)


@dataclass
class ChainReader:
    """Reads the three programs off a form, each with the arguments that it is inverted by."""

    form: ComponentForm
    recurrence: Definition
    layout: StateLayout

    def __post_init__(self) -> None:
        self.terms = self.form.program.terms
        self.type = self.form.types[self.layout.name]

    def start(self, before: Sequence[Definition]) -> Inverted:
        """The first states, of what dies."""
        made, last = returning(before, ()), self.layout.length - 1

        def named(at: Affine) -> str:
            return f"f{_number(at, last, 'the start reads states of no given number')}"

        for name, (state, part) in self.layout.states("f", range(self.layout.depth)).items():
            body = self.body(part, Affine.const(state), ())
            made.append(self.definition(name, self.reread(body, named)))
        return self.program(self.ordered(made), (), ()), self.form.dying

    def step(self) -> Inverted:
        """A state of those before it, for all steps at once."""
        depth, parts = self.layout.depth, range(len(self.layout.parts))
        step = Affine.var("step")
        known = box(("step",), (self.layout.count,))

        def named(at: Affine) -> str:
            back = _number(step + depth - at, depth, "a step reads states of no given distance")
            return f"{'a' if back else 'b'}{back}"

        bodies = self.shared(
            [self.reread(self.body(part, step + depth, known), named, step) for part in parts]
        )
        whole = [step, *self.own]
        made = self.ordered([self.definition(f"b0_{n}", body, batch=True) for n, body in enumerate(bodies)])
        for k, part in self.layout.states("a", range(depth - 1, 0, -1)).values():
            body = self.terms.read(f"a{k}_{part}", whole, self.type)
            made.append(self.definition(f"b{k}_{part}", body, batch=True))
        arguments = tuple(self.layout.states("a", range(depth, 0, -1)))
        return self.program(made, arguments, (self.layout.count,)), arguments

    def end(self, before: Sequence[Definition]) -> Inverted:
        """What is new, of the last states."""
        gone = {d.name for d in before} | {self.layout.name}
        last = self.layout.length - 1

        def named(at: Affine) -> str:
            return f"l{_number(last - at, self.layout.depth - 1, 'more than the last states are read')}"

        made: list[Definition] = []
        for definition in self.form.program.definitions:
            if definition.name not in gone:
                shape = self.form.shapes[definition.name]
                # A branch for each part that its index may choose.
                extents = dict(zip(definition.indices, shape, strict=True))
                body = chosen(self.terms, definition.body, self.layout, extents)
                body = Simplifier(self.terms).visit(body, box(definition.indices, shape))
                made.append(replace(definition, body=self.reread(body, named)))
        arguments = tuple(self.layout.states("l", range(self.layout.depth - 1, -1, -1)))
        return self.program(made, arguments, ()), arguments

    # -- parts -------------------------------------------------------------------------------------

    @property
    def own(self) -> list[Affine]:
        """The indices of a tensor of a state."""
        return [Affine.var(self.recurrence.indices[n]) for n in self.layout.rest]

    def body(self, part: int, state: Affine, known: Sequence[Constraint]) -> Term:
        """The body of the recurrence for a part of a state."""
        forms = self.layout.place(part, state, self.own)
        at = {
            name: form
            for name, form in zip(self.recurrence.indices, forms, strict=True)
            if form != Affine.var(name)
        }
        body = self.terms.substitute(self.recurrence.body, at)
        names = [self.recurrence.indices[n] for n in self.layout.rest]
        return Simplifier(self.terms).visit(body, (*box(names, self.layout.extents), *known))

    def shared(self, bodies: Sequence[Term]) -> list[Term]:
        """The bodies of the parts of a state, where one that is part of another is read there.

        A leapfrog step may be written with the new velocity in full in that of the place.
        """
        element = [Affine.var("step"), *self.own]
        reads = {
            body.number: self.terms.read(f"b0_{n}", element, self.type)
            for n, body in enumerate(bodies)
            if body.below
        }
        found: list[Term] = []
        for body in bodies:
            others = {number: read for number, read in reads.items() if number != body.number}
            found.append(bottom_up(body, dict[int, Term](others), self.terms.rebuild))
        return found

    def definition(self, name: str, body: Term, *, batch: bool = False) -> Definition:
        """A tensor of a state, or of all."""
        indices = tuple(self.recurrence.indices[n] for n in self.layout.rest)
        shape = self.layout.extents
        if not batch:
            return Definition(name, self.type, shape, indices, body)
        reads_itself = name in tensors_read([body])
        order = None
        if reads_itself:
            assert self.recurrence.order is not None
            gone = {n: Affine.const(0) for n in self.recurrence.indices if n not in indices}
            order = self.recurrence.order.substitute(gone)
        return Definition(name, self.type, (self.layout.count, *shape), ("step", *indices), body, order=order)

    def reread(self, root: Term, named: Callable[[Affine], str], *front: Affine) -> Term:
        """The term with tensors of states, `named` by their numbers, in the place of the recurrence."""

        def rule(forms: Sequence[Affine]) -> Term:
            if not all(forms[n].is_constant for n in self.layout.split):
                raise NoFormula("a part of a state is read that has no given number")
            part, state, element = self.layout.part_of(forms)
            return self.terms.read(f"{named(state)}_{part}", [*front, *element], self.type)

        return reread(self.terms, root, {self.layout.name: rule})

    def ordered(self, definitions: Sequence[Definition]) -> list[Definition]:
        """The definitions, each behind those that it reads. Raises NoFormula where there is a circle."""
        waiting, found = list(definitions), list[Definition]()
        while waiting:
            left = {d.name for d in waiting}
            ready = [d for d in waiting if not (tensors_read([d.body]) & left) - {d.name}]
            if not ready:
                raise NoFormula("tensors of one state read each other in turns")
            found += ready
            waiting = [d for d in waiting if d not in ready]
        return found

    def program(self, definitions: Sequence[Definition], states: Sequence[str], front: Shape) -> Program:
        """The program of definitions, by states; what else they read is an argument."""
        arguments = [Argument(name, self.type, (*front, *self.layout.extents)) for name in states]
        have = {d.name for d in definitions} | set(states)
        read = tensors_read(d.body for d in definitions) - have
        known = {a.name: a for a in self.form.program.arguments}
        if self.layout.name in read or not read <= known.keys():
            raise NoFormula("more than the last states are read behind it, or more than states in a step")
        if arguments and read & set(self.form.dying):
            raise NoFormula("the start is read in each step, or behind the recurrence")
        taken = [
            a for name, a in known.items() if name in read or (not arguments and name in self.form.dying)
        ]
        return Program((*arguments, *taken), tuple(definitions), self.terms)


def _number(form: Affine, most: int, reason: str) -> int:
    """A form that is a number from 0 to `most`. Raises NoFormula for others."""
    if not form.is_constant or not 0 <= form.constant <= most:
        raise NoFormula(reason)
    return form.constant


def chosen(terms: Terms, body: Term, layout: StateLayout, extents: Mapping[str, int]) -> Term:
    """The body with a branch for each value of an index that says which part of a state is read."""
    for term in reachable([body]):
        if not isinstance(term, Read) or term.tensor != layout.name:
            continue
        for n in layout.split:
            for name in term.indices[n].variables & extents.keys():
                if extents[name] > MOST_PARTS:
                    continue
                values = [terms.substitute(body, {name: Affine.const(k)}) for k in range(extents[name])]
                left = {k: v for k, v in extents.items() if k != name}
                return choice(
                    terms, Affine.var(name), [chosen(terms, value, layout, left) for value in values]
                )
    return body


def choice(terms: Terms, index: Affine, values: Sequence[Term]) -> Term:
    """The value whose number a form is."""
    found = values[-1]
    for k in reversed(range(len(values) - 1)):
        found = terms.guard([Constraint(index - k, equality=True)], values[k], found)
    return found


def reread(terms: Terms, root: Term, rules: Mapping[str, Rule]) -> Term:
    """The term in a table, with others in the place of reads of some tensors."""

    def value(read: Read) -> Term | None:
        return rules[read.tensor](read.indices) if read.tensor in rules else None

    return terms.with_reads(root, value)
