"""What a derivative needs of the steps of a recurrence, and takes long to compute, is a state of its own.

    scan{t} h[t, i] = z[t, i] * tanh(sum{j} (u[i, j] * h[t - 1, j]) + b[i])

becomes a recurrence with one more index, which says which of its states an element is:

    let scan{2*t + q} h_steps[t, q, i] = if {q = 0} then (sum{j} (u[i, j] * h_steps[t - 1, 1, j]) + b[i])
        else (z[t, i] * tanh(h_steps[t, 0, i]))

So the sum has one cotangent for each element, which all that is gathered from it shares, and no derivative
computes it again. Branches of a guard have the same states, and a state that does not depend on an index is
computed for its first value. A step that takes few operations stays as it is: its states are many bytes for
what they save.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from itertools import zip_longest

from tadc.frontend.dtypes import COMPUTING
from tadc.frontend.functions import APPLIED, TRANSCENDENTAL
from tadc.frontend.program import Definition, Program
from tadc.frontend.terms import (
    Apply,
    Guard,
    Read,
    Reduce,
    Term,
    bottom_up,
    holds,
    operands,
    outside_reductions,
    reachable,
)
from tadc.lattice.affine import Affine, equals_zero
from tadc.lattice.late_dataclasses import dataclass, field, replace
from tadc.passes.derivatives.activity import Activity
from tadc.passes.derivatives.derivative_table import STEEP
from tadc.passes.rewrites.recomputed import TRAFFIC
from tadc.passes.terms.algebra import Algebra
from tadc.passes.terms.costs import Costs, weight
from tadc.passes.terms.names import Names

#: Functions that take long, and whose derivatives are told by their values.
_BY_VALUE = frozenset(
    name
    for name, f in APPLIED.items()
    if f.cost >= TRANSCENDENTAL and f.slopes and not any(re.search(r"\bx\b", text) for text in f.slopes)
).difference(STEEP)


def with_step_states(program: Program, active: Collection[str], limit: int | None = None) -> Program:
    """The program with states for what derivatives by the `active` tensors need of long steps.

    Where tensors in between have a limit, what is needed is computed again.
    """
    if limit is not None or all(d.order is None for d in program.definitions):
        return program
    names, made, reads = Names(program), list[Definition](), _Moved(program)
    for tensor in (*program.outputs, *program.arguments):
        names.free("d" + tensor.name)
    for definition in program.definitions:
        steps = _Steps(program, definition, Activity(active)) if definition.name in active else None
        whole = steps.with_states(names, reads) if steps is not None and definition.order else None
        own = definition.with_body(reads.of(definition.body)) if whole is None else definition
        made += [own] if whole is None else whole
    return program.with_definitions(made)


@dataclass
class _Moved:
    """Reads of recurrences that have become states of others: by name the tensor, the place of the index that
    says which state an element is, and the number of this state."""

    program: Program
    tensors: dict[str, tuple[str, int, int]] = field(default_factory=dict[str, tuple[str, int, int]])
    known: dict[int, Term] = field(default_factory=dict[int, Term])

    def of(self, term: Term) -> Term:
        """A term that reads the states."""
        return bottom_up(term, self.known, self._read) if self.tensors else term

    def _read(self, node: Term, below: Sequence[Term]) -> Term:
        if not isinstance(node, Read) or node.tensor not in self.tensors:
            return self.program.terms.rebuild(node, below)
        name, place, number = self.tensors[node.tensor]
        at = (*node.indices[:place], Affine.const(number), *node.indices[place:])
        return self.program.terms.read(name, at, node.type or "f64", node.span)


@dataclass
class _Steps:
    """The states of one recurrence: `states` are found so far, under the guards that they stand under.

    Until all are known, the state n is read as an element of a tensor that no program has.
    """

    program: Program
    definition: Definition
    activity: Activity
    reading: dict[int, bool] = field(default_factory=dict[int, bool])

    def __post_init__(self) -> None:
        self.terms, self.algebra = self.program.terms, Algebra(self.program.terms)
        self.costs = Costs(frozenset(self.program.sizes))

    def with_states(self, names: Names, moved: _Moved) -> list[Definition] | None:
        """The recurrence with its states, and what reads its values if it is a result; None where it has
        none that are worth it."""
        d = self.definition
        if d.order is None or COMPUTING[d.type] != d.type:
            return None
        steps = [abs(k) for n in d.indices if (k := d.order.coefficient(n))]
        if len(steps) > 1 and max(steps) == 1:
            return None  # elements of a diagonal are a vector: states would stand between them
        body, states = self.branch(d.body, is_value=True)
        if not states or any(state.type not in (None, d.type) for state in states):
            return None
        name = names.free(f"{d.name}_steps") if d.is_output else d.name
        which = names.index("q", d.indices)
        place = 1 + max(n for n, index in enumerate(d.indices) if d.order.coefficient(index))
        moved.tensors[d.name] = (name, place, len(states))
        moved.known.clear()
        whole = self.whole(name, which, place, [*states, body], moved)
        if not d.is_output:
            return [whole]
        read = self.terms.read(name, (*d.own[:place], Affine.const(len(states)), *d.own[place:]), d.type)
        return [whole, replace(d, body=read, order=None)]

    def whole(self, name: str, which: str, place: int, parts: Sequence[Term], moved: _Moved) -> Definition:
        """The recurrence of these states."""
        d = self.definition
        assert d.order is not None
        needed = [part.free | {n for n in d.indices if d.order.coefficient(n)} for part in parts]
        first = [{n: Affine.const(0) for n in d.indices if n not in free} for free in needed]
        reads: dict[int, Term] = {}
        for number, at in enumerate(first[:-1]):
            own = [form.substitute(at) for form in d.own]
            forms = (*own[:place], Affine.const(number), *own[place:])
            reads[self.state(number).number] = self.terms.read(name, forms, d.type)
        body: Term | None = None
        for number, (part, at) in reversed(list(enumerate(zip(parts, first, strict=True)))):
            part = bottom_up(moved.of(part), dict(reads), self.terms.rebuild)
            rows = [equals_zero(Affine.var(n)) for n in at] if body is not None else []
            part = self.algebra.guard(rows, part, self.algebra.zero)
            own = equals_zero(Affine.var(which) - number)
            body = part if body is None else self.terms.guard([own], part, body)
        assert body is not None
        return d.between(
            name,
            shape=(*d.shape[:place], len(parts), *d.shape[place:]),
            indices=(*d.indices[:place], which, *d.indices[place:]),
            order=d.order * len(parts) + Affine.var(which),
            body=body,
        )

    def state(self, number: int) -> Read:
        """What stands for a read of a state until all are known."""
        own = [Affine.const(number), *self.definition.own]
        return self.terms.read("?state", own, self.definition.type)

    def branch(self, term: Term, first: int = 0, *, is_value: bool) -> tuple[Term, list[Term]]:
        """A term that is evaluated under certain guards with reads of its states, and these; the number of
        the first is given. One that `is_value` of the element is a state already."""
        found = _Branch(self, first)
        for node in found.below(term):
            found.look(node, is_value=is_value and node is term)
        return found.rebuilt(term), found.states

    def reads_itself(self, term: Term) -> bool:
        """Whether a term reads other elements of the recurrence."""
        name = self.definition.name
        return holds(term, self.reading, lambda node: isinstance(node, Read) and node.tensor == name)

    def takes_long(self, term: Term) -> bool:
        """Whether a sum of other elements takes longer than what goes through memory for a state."""
        return (
            isinstance(term, Reduce)
            and self.reads_itself(term)
            and self.costs.reduction(term, {}) > 2 * TRAFFIC
        )


@dataclass
class _Branch:
    """What is evaluated under the same guards.

    By number: whose values are `needed`, or are so by a `transcendental` function; whether a sum is `left` at
    or below a term that takes long and is no state; whether a term is `over` states; and what is `made` of
    terms that are states or have some.
    """

    steps: _Steps
    first: int
    states: list[Term] = field(default_factory=list[Term])
    needed: set[int] = field(default_factory=set[int])
    transcendental: set[int] = field(default_factory=set[int])
    left: dict[int, bool] = field(default_factory=dict[int, bool])
    over: dict[int, bool] = field(default_factory=dict[int, bool])
    made: dict[int, Term] = field(default_factory=dict[int, Term])

    def below(self, term: Term) -> list[Term]:
        """The terms that read the recurrence itself, each after those below it; notes which are needed."""
        found: dict[int, Term] = {}
        stack = [term]
        while stack:
            node = stack.pop()
            if node.number in found or not self.steps.reads_itself(node):
                continue
            found[node.number] = node
            if isinstance(node, Reduce):
                self.needed |= {node.number} if node.kind != "sum" else set()
            elif not isinstance(node, Guard):
                self.note(node)
                stack += operands(node)
        return [found[number] for number in sorted(found)]

    def note(self, node: Term) -> None:
        """Note what the derivative of an operation needs."""
        is_long = isinstance(node, Apply) and weight(node) >= TRANSCENDENTAL
        if isinstance(node, Apply) and node.function in _BY_VALUE:
            needed = {node.number}
        elif isinstance(node, Apply) and node.function == "div":
            # The slope by the divisor is told by the quotient.
            needed = {node.number, node.operands[1].number}
        else:
            needs = self.steps.activity.needs(node)
            needed = {t.number for t, need in zip(operands(node), needs, strict=True) if need}
        self.needed |= needed
        self.transcendental |= needed if is_long else set()

    def look(self, term: Term, *, is_value: bool) -> None:
        """Find out about a term, after those below it."""
        below = () if isinstance(term, Reduce | Guard) else operands(term)
        if isinstance(term, Guard):
            left = self.guard(term, is_value=is_value)
        elif isinstance(term, Reduce):
            left = self.steps.takes_long(term)
        else:
            left = any(self.left.get(t.number, False) for t in below)
        is_more = len(below) > 1 or any(t.number not in self.made for t in below)
        is_over = any(self.over.get(t.number, False) for t in below)
        is_worth = left or (is_over and is_more and term.number in self.transcendental)
        is_state = is_worth and term.number in self.needed and not is_value
        if is_state:
            state = self.rebuilt(term)
            self.made[term.number] = self.steps.state(self.first + len(self.states))
            self.states.append(state)
        self.left[term.number] = left and not is_state
        self.over[term.number] = is_over or term.number in self.made

    def guard(self, term: Guard, *, is_value: bool) -> bool:
        """Find the states of both branches of a guard; whether a sum is left in these."""
        steps, start = self.steps, self.first + len(self.states)
        then, one = steps.branch(term.then, start, is_value=is_value)
        otherwise, other = steps.branch(term.otherwise, start, is_value=is_value)
        self.states += [
            steps.algebra.guard(term.conditions, x, y)
            for x, y in zip_longest(one, other, fillvalue=steps.algebra.zero)
        ]
        if one or other:
            self.made[term.number] = steps.terms.guard(term.conditions, then, otherwise, term.span)
        return any(map(steps.takes_long, reachable([then, otherwise], outside_reductions)))

    def rebuilt(self, term: Term) -> Term:
        """A term with the reads of states that are known so far."""
        return bottom_up(term, dict(self.made), self.steps.terms.rebuild) if self.made else term
