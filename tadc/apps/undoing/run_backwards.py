"""Gradients of recurrences whose states are made from the last one on, not kept.

A gradient reads the states of `u` from the last one on. Where formulas undo a step (`inverse_steps.py`), it
reads those of another recurrence in their place,

    u_back[t] = the state before u_back[t + 1],    u_back[T - 1] = u[T - 1]

which runs along with it: of both the last steps alone are in memory, whatever their number is (Maclaurin,
Duvenaud and Adams, Gradient-based hyperparameter optimization through reversible learning, 2015). Rounding
makes the first state another one than the recurrence began with; `residual` says how far away it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tadc.apps.undoing.inverse_steps import InverseSteps, inverse_steps
from tadc.apps.undoing.solutions.roles import returning
from tadc.apps.undoing.solutions.undone import NoFormula
from tadc.apps.undoing.steps.step_layout import layouts
from tadc.toolkit.language import (
    DEFAULT,
    Affine,
    Definition,
    Names,
    Program,
    Read,
    Term,
    box,
    reachable,
)
from tadc.toolkit.reporting import CompileError, Diagnostic, Label, Span
from tadc.toolkit.transforms import needed, simplify_program

_TINY = 2.0**-1000
"""More than no state: what begins with 0 has a residual too."""


def run_backwards(gradient: Program, base: Program) -> Program:
    """The gradient of a program, where states of recurrences are made backwards, with `residual` after it.

    That is the largest difference between a first state made backwards and the one that the recurrence began
    with, as a share of the largest of these. Raises CompileError: TAD0410 for steps that formulas do not
    undo, and for sizes that have no values.
    """
    if gradient.sizes:
        text = f'`reverse="invert"` needs the values of {", ".join(f"`{n}`" for n in gradient.sizes)}'
        raise CompileError([Diagnostic("TAD0410", text, helps=["give `sizes=`, or use `g.at(sizes)`"])])
    return _Backwards(gradient, base).program()


class _Backwards:
    """A gradient on its way: `made` are the definitions backwards, `instead` says which stand for others.

    Definitions that go along the steps of a recurrence do so in the dimensions that `steps` has of them.
    """

    def __init__(self, gradient: Program, base: Program) -> None:
        self.gradient, self.terms, self.names = gradient, gradient.terms, Names(gradient)
        self.definitions = {d.name: d for d in gradient.definitions}
        computed = returning(gradient.definitions, {d.name for d in base.definitions})
        self.forward = {d.name for d in needed(computed)}
        self.made, self.instead = list[Definition](), dict[str, str]()
        self.residuals = list[Term]()
        self.steps = dict[str, frozenset[int]]()
        for definition in gradient.definitions:
            if definition.name in self.forward:
                self.steps[definition.name] = self.along(definition)

    def along(self, definition: Definition) -> frozenset[int]:
        """The dimensions in which a definition that is no result goes along the steps of a recurrence."""
        if definition.is_output:
            return frozenset()
        if definition.order is not None:
            found = [layout.axis for layout in layouts(definition, _shape(definition))]
            return frozenset(found[:1] or range(len(definition.shape)))
        used = {
            name
            for read in reachable([definition.body])
            if isinstance(read, Read)
            for n in self.steps.get(read.tensor, ())
            for name in read.indices[n].variables
        }
        return frozenset(n for n, index in enumerate(definition.indices) if index in used)

    def program(self) -> Program:
        """The gradient with recurrences backwards."""
        first = [d for d in self.gradient.definitions if d.name in self.forward]
        last = [self.rewritten(d, {}) for d in self.gradient.definitions if d.name not in self.forward]
        made = replace(self.gradient, definitions=(*first, *self.made, *last, self.residual()))
        return simplify_program(made)

    def rewritten(self, definition: Definition, names: Mapping[str, str]) -> Definition:
        """A definition that reads others: those of these names, or what goes backwards."""

        def value(read: Read) -> Term | None:
            if read.tensor not in names and self.is_last(read):
                return None
            return self.terms.reread(read, names.get(read.tensor) or self.backwards(read.tensor))

        return replace(definition, body=self.terms.with_reads(definition.body, value))

    def is_last(self, read: Read) -> bool:
        """Whether a read is of the last state of a recurrence, which is at hand."""
        definition = self.definitions.get(read.tensor)
        if definition is None or definition.order is None or len(self.steps.get(read.tensor, ())) != 1:
            return False
        (axis,) = self.steps[read.tensor]
        is_down = definition.order.coefficient(definition.indices[axis]) < 0
        return read.indices[axis] == Affine.const(0 if is_down else _shape(definition)[axis] - 1)

    def backwards(self, name: str) -> str:
        """The tensor that stands for another one: for what goes along steps, one that goes back."""
        if not self.steps.get(name):
            return name
        if name not in self.instead:
            definition = self.definitions[name]
            if definition.order is None:
                copy = self.rewritten(definition, {})
                self.instead[name] = self.names.free(f"{name}_back")
                self.made.append(replace(copy, name=self.instead[name]))
            else:
                self.undo(definition)
        return self.instead[name]

    def undo(self, definition: Definition) -> None:
        """Define the states of a recurrence backwards."""
        axis, *others = self.steps[definition.name]
        try:
            found = inverse_steps(self.gradient, definition.name, None if others else axis)
        except NoFormula as problem:
            raise CompileError([_refusal(definition, str(problem), self.gradient)]) from None
        names = self.last_states(definition, found)
        for made in found.program.definitions:
            wish = "back" if made.name == "states" else made.name
            names[made.name] = self.names.free(f"{definition.name}_{wish}")
        for made in found.program.definitions:
            own = replace(self.rewritten(made, names), name=names[made.name], is_output=False)
            self.made.append(own)
        self.instead[definition.name] = names["states"]
        self.compare(definition, axis, found.layout.down)

    def last_states(self, definition: Definition, found: InverseSteps) -> dict[str, str]:
        """Define the last states of a recurrence; their names by those of the arguments that they are."""
        layout, names = found.layout, dict[str, str]()
        indices = tuple(definition.indices[n] for n in layout.rest)
        for back in range(layout.depth):
            for part in range(len(layout.parts)):
                state = Affine.const(layout.length - 1 - back)
                at = layout.place(part, state, list(map(Affine.var, indices)))
                name = names[f"l{back}_{part}"] = self.names.free(f"{definition.name}_last")
                body = self.terms.read(definition.name, at, definition.type)
                made = Definition(name, definition.type, layout.extents, indices, body, is_output=False)
                self.made.append(made)
        return names

    def compare(self, definition: Definition, axis: int, down: bool) -> None:
        """Add how far the first state made backwards is away from that of a recurrence."""
        terms, shape = self.terms, _shape(definition)
        first = Affine.const(shape[axis] - 1 if down else 0)
        binders = [terms.fresh("s") for _ in shape]
        at = [first if n == axis else Affine.var(name) for n, name in enumerate(binders)]
        inner = [name for n, name in enumerate(binders) if n != axis]
        rows = box(inner, [size for n, size in enumerate(shape) if n != axis])
        begun = terms.substitute(definition.body, definition.at(at))
        back = terms.read(self.instead[definition.name], at, definition.type)

        hints = [index for n, index in enumerate(definition.indices) if n != axis]

        def most(term: Term) -> Term:
            size = terms.apply("abs", [term])
            return terms.reduce(inner, rows, size, kind="max", hints=hints) if inner else size

        least = terms.apply("max", [most(begun), terms.const(_TINY)])
        self.residuals.append(terms.apply("div", [most(terms.apply("sub", [back, begun])), least]))

    def residual(self) -> Definition:
        """The largest share by which a first state is another one."""
        total, *others = self.residuals or [self.terms.const(0.0)]
        for term in others:
            total = self.terms.apply("max", [total, term])
        return Definition(self.names.free("residual"), DEFAULT, (), (), total)


def _shape(definition: Definition) -> tuple[int, ...]:
    return tuple(size for size in definition.shape if isinstance(size, int))


def _refusal(definition: Definition, reason: str, program: Program) -> Diagnostic:
    """Why the steps of a recurrence stay as they are."""
    return Diagnostic(
        "TAD0410",
        f"the steps of `{definition.name}` cannot be taken backwards",
        Label(definition.span) if isinstance(definition.span, Span) else None,
        notes=[reason],
        helps=["`memory_limit=` saves some states, and takes the steps between them again"],
        source=program.source,
    )
