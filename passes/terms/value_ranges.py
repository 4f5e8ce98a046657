"""Which values the terms of a program take, through definitions and reductions: positive, finite, any.

Arguments are finite. A definition has the values of its body, and a recurrence values that its body keeps:
its elements are computed in an order, so what holds of each if it holds of all before holds of all. That a
sum of positive numbers is positive needs a point in its domain; where that is a condition on indices and
sizes, it is asked at the place where the tensor is read.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import product

from tadc.frontend.conditions import NEGATED
from tadc.frontend.functions import REDUCTIONS
from tadc.frontend.program import Definition, Program
from tadc.frontend.terms import (
    Apply,
    Const,
    Domain,
    Guard,
    IndexValue,
    Read,
    Reduce,
    Select,
    Term,
    bottom_up,
    operands,
    outside_regions,
)
from tadc.lattice.affine import Affine, Constraint
from tadc.lattice.late_dataclasses import dataclass, field, replace
from tadc.lattice.polyhedron import implied, is_empty, negation, not_implied
from tadc.passes.terms.costs import COMPARED
from tadc.passes.terms.occupied import occupied
from tadc.passes.terms.value_intervals import (
    ANY,
    BINARY,
    FINITE,
    NONNEGATIVE,
    UNARY,
    ValueInterval,
    exactly,
    power,
)

#: What a recurrence is tried to keep, the strongest first.
_KEPT = (
    ValueInterval(0, math.inf, finite=True, nonzero=True),
    ValueInterval(0, math.inf, finite=True),
    FINITE,
    ValueInterval(0, math.inf, nonzero=True),
    NONNEGATIVE,
)


@dataclass(frozen=True)
class _TensorRange:
    """The values of a tensor: of each element, and of those where rows on its indices and on sizes hold.

    `filled` is for rows that say that domains have points, `numbers` for these and others; `parts` of a
    recurrence for elements whose index at some place is a number.
    """

    values: ValueInterval
    indices: tuple[str, ...] = ()
    filled: tuple[Domain, ValueInterval] = ((), ANY)
    numbers: tuple[Domain, ValueInterval] = ((), ANY)
    parts: tuple[tuple[int, int, ValueInterval], ...] = ()


class ValueRanges:
    """The values of terms of a program; without one, of reads nothing is known."""

    def __init__(self, program: Program | None = None) -> None:
        self.program = program
        self.tensors: dict[str, _TensorRange] = {}
        self.waiting: list[Definition] = []
        self.plain = _RangeWalk(self)
        if program is not None:
            self.tensors = {a.name: _TensorRange(FINITE) for a in program.arguments}
            self.waiting = list(reversed(program.definitions))

    def of(self, term: Term, facts: Domain = ()) -> ValueInterval:
        """The values of a term where the facts hold."""
        return self.plain.visit(term, facts)

    def add(self, definition: Definition) -> None:
        """Know the values of a definition that the program has not, over tensors that are known."""
        self.tensors[definition.name] = self._tensor(definition)

    def tensor(self, name: str) -> _TensorRange:
        """What is known of a tensor."""
        while name not in self.tensors and self.waiting:
            definition = self.waiting.pop()
            self.tensors[definition.name] = self._tensor(definition)
        return self.tensors.get(name, _TensorRange(ANY))

    def _tensor(self, definition: Definition) -> _TensorRange:
        assert self.program is not None
        facts = self.program.facts(definition)
        if definition.order is not None:
            kept = self.tensors[definition.name] = _TensorRange(self._kept(definition, facts))
            return replace(kept, parts=tuple(self._parts(definition, facts)))
        # A walk of its own: `plain` may be on its way to a read of this tensor.
        values = _RangeWalk(self).visit(definition.body, facts)
        names = frozenset(definition.indices).union(self.program.sizes)
        asked: list[tuple[Domain, ValueInterval]] = []
        for numbers in (False, True):
            asking = _RangeWalk(self, names, numbers)
            found = asking.visit(definition.body, facts)
            asked.append((tuple(asking.rows), found) if found != values else ((), ANY))
        return _TensorRange(values, definition.indices, asked[0], asked[1])

    def _kept(self, definition: Definition, facts: Domain) -> ValueInterval:
        """Values that the body has if the elements that it reads have them."""
        for tried in _KEPT:
            self.tensors[definition.name] = _TensorRange(tried)
            found = _RangeWalk(self).visit(definition.body, facts)
            if found.low >= tried.low and found.finite >= tried.finite and found.is_nonzero >= tried.nonzero:
                return found
        return ANY

    def _parts(self, definition: Definition, facts: Domain) -> Iterator[tuple[int, int, ValueInterval]]:
        """The values of elements that the body tells apart by an index that is a number."""
        body = definition.body
        while isinstance(body, Guard) and len(body.conditions) == 1 and body.conditions[0].equality:
            for place, index in enumerate(definition.indices):
                number = body.conditions[0].form.solved(index)
                if number is not None and number.is_constant:
                    found = _RangeWalk(self).visit(body.then, facts + body.conditions)
                    yield place, number.constant, found
            body = body.otherwise


@dataclass
class _RangeWalk:
    """Values from the operands up.

    When `asking`, conditions on these names are taken to hold: that domains have points, with `numbers` that
    indices and sizes are not 0. `rows` notes them.
    """

    ranges: ValueRanges
    asking: frozenset[str] | None = None
    numbers: bool = False
    rows: dict[Constraint, None] = field(default_factory=dict[Constraint, None])
    known: dict[Domain, dict[int, ValueInterval]] = field(
        default_factory=dict[Domain, dict[int, ValueInterval]]
    )

    def visit(self, term: Term, facts: Domain) -> ValueInterval:
        """The values of a term where the facts hold."""
        known = self.known.setdefault(facts, {})
        return bottom_up(term, known, lambda t, below: self.values(t, below, facts), outside_regions)

    def values(self, node: Term, below: list[ValueInterval], facts: Domain) -> ValueInterval:
        """The values of a term whose operands are done."""
        match node:
            case Const(value=value):
                return exactly(value)
            case IndexValue(form=form):
                return exactly(form.constant) if form.is_constant else self.number(form, facts)
            case Read():
                return self.read(node, facts)
            case Apply():
                found = _applied(node, below)
                if found.is_nonnegative and not found.is_nonzero and self.is_never_left_out(node, facts):
                    return found._replace(nonzero=True)
                return found
            case Select():
                lhs, rhs, then, otherwise = below
                if node.then is node.lhs:
                    then = _compared(lhs, node.relation, rhs)
                if node.otherwise is node.lhs:
                    otherwise = _compared(lhs, NEGATED[node.relation], rhs)
                return then.joined(otherwise)
            case Guard():
                then = self.visit(node.then, facts + node.conditions)
                return then.joined(self.visit(node.otherwise, facts + outside(node.conditions, facts)))
            case Reduce():
                body = self.visit(node.body, facts + node.domain)
                some, without = (_reduced(node.kind, body, has_points) for has_points in (True, False))
                return some if some != without and self.has_points(node, facts) else without
            case _:
                return ANY

    def is_never_left_out(self, node: Apply, facts: Domain) -> bool:
        """Whether of numbers that are added where conditions hold, and are positive there, one always is."""
        parts = _added(node)
        if not 1 < len(parts) <= COMPARED or not all(
            self.visit(part, facts).is_nonnegative for part in parts
        ):
            return False
        fail = [
            [
                Constraint(-form - 1)
                for row in part.conditions
                for form in row.inequalities
                if not implied(form, facts)
            ]
            for part in parts
            if isinstance(part, Guard) and self.visit(part.then, facts + part.conditions).is_positive
        ]
        ways = math.prod(map(len, fail))
        return 0 < len(fail) and ways <= 2 * COMPARED and all(is_empty((*facts, *f)) for f in product(*fail))

    def number(self, form: Affine, facts: Domain) -> ValueInterval:
        """The values of an index form."""
        if not implied(form, facts):
            return FINITE
        low = float(self.hold([Constraint(form - 1)], facts, self.numbers))
        return ValueInterval(low, math.inf, finite=True)

    def read(self, read: Read, facts: Domain) -> ValueInterval:
        """The values of an element of a tensor."""
        tensor = self.ranges.tensor(read.tensor)
        found = tensor.values
        for (rows, values), numbers in ((tensor.filled, False), (tensor.numbers, True)):
            at = dict(zip(tensor.indices, read.indices, strict=False))
            rows = [row.substitute(at) for row in rows]
            if rows and self.hold(rows, facts, numbers <= self.numbers):
                found = found.met(values)
        for place, number, values in tensor.parts:
            if read.indices[place] == Affine.const(number):
                found = found.met(values)
        return found

    def has_points(self, node: Reduce, facts: Domain) -> bool:
        """Whether the domain of a reduction is not empty where the facts hold."""
        rows = occupied(node.binders, node.domain, facts)
        return rows is not None and self.hold(rows, facts)

    def hold(self, rows: Sequence[Constraint], facts: Domain, may_ask: bool = True) -> bool:
        """Whether rows hold where the facts do; when asking, those that may hold do, and are noted."""
        left = not_implied(rows, facts)
        if (
            left
            and may_ask
            and self.asking is not None
            and all(row.form.variables <= self.asking for row in left)
        ):
            self.rows.update(dict.fromkeys(left))
            return True
        return not left


def _added(term: Term) -> list[Term]:
    """What a chain of additions adds up, if that is not more than is looked at."""
    parts, stack = list[Term](), [term]
    while stack and len(parts) <= COMPARED:
        node = stack.pop()
        if isinstance(node, Apply) and node.function == "add":
            stack += node.operands
        else:
            parts.append(node)
    return parts


def outside(rows: Domain, facts: Domain) -> Domain:
    """What holds where rows do not all hold: the sum of numbers that are never below 0 is at least 1."""
    if len(rows) < 2 or not all(row.equality and implied(row.form, facts) for row in rows):
        return negation(rows, facts)
    return (Constraint(sum((row.form for row in rows), Affine.const(-1))),)


def _compared(x: ValueInterval, relation: str, y: ValueInterval) -> ValueInterval:
    """The values of what compares so with y."""
    if relation in (">", ">="):
        x = x._replace(low=max(x.low, y.low))
        return x._replace(nonzero=x.is_nonzero or (relation == ">" and y.low >= 0))
    if relation in ("<", "<="):
        return _compared(x.negated(), ">" if relation == "<" else ">=", y.negated()).negated()
    if relation == "!=" and y == exactly(0):
        return x._replace(nonzero=True)
    return x


def _applied(node: Apply, below: list[ValueInterval]) -> ValueInterval:
    """The values of a function."""
    match node.function, node.operands:
        case "pow", (_, Const(value=value)) if math.isfinite(value):
            return power(below[0], value)
        case "mul", (x, y) if x is y:
            return power(below[0], 2)
        case function, (_,):
            return UNARY[function](*below)
        case function, _:
            return BINARY[function](*below)


def _reduced(kind: str, body: ValueInterval, has_points: bool) -> ValueInterval:
    """The values of a reduction of elements with these values: those that another element keeps.

    A bound that another element moves is 0 or none.
    """
    number, join = REDUCTIONS[kind].nothing, BINARY[REDUCTIONS[kind].join]
    nothing = ValueInterval(number, number, math.isfinite(number), number != 0)
    kept = body if has_points else body.joined(nothing)
    while True:
        more = kept.joined(join(kept, body))
        low = next(bound for bound in (kept.low, 0.0, -math.inf) if bound <= more.low)
        high = next(bound for bound in (kept.high, 0.0, math.inf) if bound >= more.high)
        more = ValueInterval(low, high, more.finite, more.is_nonzero)
        if more == kept:
            return kept
        kept = more


def read_under(program: Program) -> Mapping[str, Domain]:
    """Of each definition that is no output, sizes that are at least 1 wherever it is read.

    What it holds for other sizes is never seen.
    """
    rows = tuple(Constraint(Affine.var(size) - 1) for size in program.sizes)
    found: dict[str, Domain] = {d.name: rows for d in program.definitions if not d.is_output}
    for definition in reversed(program.definitions) if rows else ():
        facts = program.facts(definition) + found.get(definition.name, ())
        stack, seen = [(definition.body, facts)], set[tuple[int, Domain]]()
        while stack:
            node, known = stack.pop()
            if (node.number, known) in seen:
                continue
            seen.add((node.number, known))
            match node:
                case Read(tensor=tensor):
                    if left := found.get(tensor):
                        found[tensor] = tuple(row for row in left if implied(row.form, known))
                case Guard():
                    outside = known + negation(node.conditions, known)
                    stack += [(node.then, known + node.conditions), (node.otherwise, outside)]
                case Reduce():
                    stack.append((node.body, known + node.domain))
                case _:
                    stack += [(t, known) for t in operands(node)]
    return found
