"""Values that reverse mode needs of the steps of a table are tensors, with an element for each step.

    let scan{i + j} r[i, j] = d[i, j] - log(if {i >= 1} then (exp(-r[i - 1, j])) else (0) + …)

has the cotangent dr[i, j] = … dr[i + 1, j] * exp(-r[i, j]) / (… + …), with a divisor for each neighbour that
reads r[i, j]. These are elements of one tensor, but each stands under conditions of its own, by which it is
another formula. So what a derivative needs, and is made of several elements of the table, is a definition,

    let r_2[i, j] = if {i >= 1} then (exp(-r[i - 1, j])) else (0) + …

and the derivative reads that. Steps choose between formulas by their indices: what each needs is one tensor.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import zip_longest

from tadc.frontend.functions import TRANSCENDENTAL
from tadc.frontend.program import Definition, Program
from tadc.frontend.terms import Apply, Domain, Guard, Read, Reduce, Term, reachable, type_in
from tadc.lattice.affine import Affine
from tadc.lattice.late_dataclasses import dataclass, field, replace
from tadc.passes.derivatives.activity import Activity, active_tensors
from tadc.passes.terms.algebra import Algebra
from tadc.passes.terms.costs import weight
from tadc.passes.terms.names import Names
from tadc.passes.terms.simplify import Simplifier
from tadc.passes.terms.value_ranges import ValueRanges, outside

Values = Mapping[str, Mapping[str, Sequence[Term]]]
"""Of recurrences, and of tensors of values, the terms that tensors hold, over the indices of the former."""


@dataclass(frozen=True)
class KeptProgram:
    """A program with definitions for values of its recurrences."""

    program: Program
    values: Values = field(default_factory=dict[str, dict[str, Sequence[Term]]])


def with_kept_values(program: Program, wrt: Collection[str]) -> KeptProgram:
    """The program with definitions for values of its recurrences."""
    if not any(map(_is_table, program.definitions)):
        return KeptProgram(program)
    active, names, ranges = active_tensors(program, wrt), Names(program), ValueRanges(program)
    for tensor in (*program.outputs, *program.arguments):
        names.free("d" + tensor.name)
    made, values = list[Definition](), dict[str, dict[str, Sequence[Term]]]()
    for definition in program.definitions:
        made.append(definition)
        if _is_table(definition) and definition.name in active:
            steps = _RecurrenceSteps(program, ranges, Activity(active), definition)
            values[definition.name] = held = dict[str, Sequence[Term]]()
            for layer in steps.layers(definition.body, program.facts(definition), is_value=True):
                tensor = steps.found(layer)
                if tensor is None:
                    tensor = steps.defined(layer, names)
                    made.append(tensor)
                own = [program.terms.substitute(value, definition.at(tensor.own)) for value in layer.values]
                held[tensor.name], values[tensor.name] = layer.values, {tensor.name: own}
    return KeptProgram(replace(program, definitions=tuple(made)), values)


def reductions_of_steps(definition: Definition) -> list[Term]:
    """The reductions that elements of a recurrence are, whose values a derivative reads there."""
    if definition.order is None:
        return []
    leaves = list(reachable([definition.body], lambda t: t.below if isinstance(t, Guard) else ()))
    found = [t for t in leaves if isinstance(t, Reduce) and t.kind != "sum" and t.type == definition.type]
    return [
        t
        for t in found
        if all(t is other or t not in reachable([other]) for other in leaves if not isinstance(other, Guard))
    ]


def _is_table(definition: Definition) -> bool:
    return definition.order is not None and len(definition.order.terms) > 1


@dataclass(frozen=True)
class _Layer:
    """A term that has at most one of the values for each step; `is_nonzero` says that it is one that never is
    0: a tensor of such is a divisor wherever it is read."""

    term: Term
    values: tuple[Term, ...]
    is_nonzero: bool


@dataclass
class _RecurrenceSteps:
    """The steps of a recurrence."""

    program: Program
    ranges: ValueRanges
    activity: Activity
    definition: Definition
    seen: dict[tuple[int, Domain, bool, bool], list[_Layer]] = field(
        default_factory=dict[tuple[int, Domain, bool, bool], list[_Layer]]
    )

    def __post_init__(self) -> None:
        self.algebra = Algebra(self.program.terms)

    def layers(self, term: Term, facts: Domain, needed: bool = False, is_value: bool = False) -> list[_Layer]:
        """What is kept of a term where the facts hold: the innermost terms that are worth it.

        A term that `is_value` of the element is kept already, `needed` is one whose value a derivative needs.
        """
        key = (term.number, facts, needed, is_value)
        if key not in self.seen:
            found = self.below(term, facts, needed, is_value) if self.activity.is_active(term) else []
            needed = needed or isinstance(term, Reduce)
            if needed and not found and not is_value and self.is_of_several(term):
                found = [_Layer(term, (term,), self.ranges.of(term, facts).is_nonzero)]
            self.seen[key] = found
        return self.seen[key]

    def below(self, term: Term, facts: Domain, needed: bool, is_value: bool) -> list[_Layer]:
        """What is kept below a term; nothing that is chosen by values."""
        match term:
            case Guard(conditions=rows):
                then = self.layers(term.then, facts + rows, needed, is_value)
                otherwise = self.layers(term.otherwise, facts + outside(rows, facts), needed, is_value)
                return [self.chosen(rows, *pair) for pair in zip_longest(then, otherwise)]
            case Apply():
                needs = zip(term.operands, self.activity.needs(term), strict=True)
                found = [layer for t, need in needs for layer in self.layers(t, facts, need)]
                return list({layer.term.number: layer for layer in found}.values())
            case _:
                return []

    def chosen(self, rows: Domain, x: _Layer | None, y: _Layer | None) -> _Layer:
        """A layer for both branches of a guard, of which one may keep nothing."""
        one = x or y
        assert one is not None
        nothing = _Layer(self.algebra.one if one.is_nonzero else self.algebra.zero, (), one.is_nonzero)
        x, y = x or nothing, y or nothing
        term = self.algebra.guard(rows, x.term, y.term)
        return _Layer(term, (*x.values, *y.values), x.is_nonzero and y.is_nonzero)

    def is_of_several(self, term: Term) -> bool:
        """Whether a term takes long, and is made of several elements that stand beside that of the table."""
        nodes = list(reachable([term]))
        reads = {t for t in nodes if isinstance(t, Read) and t.tensor == self.definition.name}
        if len(reads) < 2 and all(read.free <= term.free for read in reads):
            return False
        if max(map(weight, nodes)) < TRANSCENDENTAL:
            return False
        own = frozenset(self.definition.indices)
        return all(
            (form - Affine.var(index)).variables.isdisjoint(own)
            for read in reads
            for form, index in zip(read.indices, self.definition.indices, strict=True)
        )

    def found(self, layer: _Layer) -> Definition | None:
        """The tensor that has the values already, as one has after a first derivative."""
        d, terms = self.definition, self.program.terms
        body = Simplifier(terms).visit(layer.term, self.program.facts(d))
        for other in self.program.definitions:
            if other.order is None and other.shape == d.shape and other.type == body.type:
                if terms.substitute(other.body, other.at(d.own)) in (layer.term, body):
                    return other
        return None

    def defined(self, layer: _Layer, names: Names) -> Definition:
        """A tensor of values; the cotangent of the table has the indices `r_0`, `r_1`, …"""
        d = self.definition
        name, kind = names.free(f"{d.name}_{len(d.indices)}"), type_in(layer.term, d.type)
        return Definition(name, kind, d.shape, d.indices, layer.term, False, d.span)
