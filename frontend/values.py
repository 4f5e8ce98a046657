"""Value expressions: from syntax to terms, every read proven in range."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from tadc.frontend import syntax
from tadc.frontend.binders import check_binders
from tadc.frontend.complaints import by_value, sum_by_value
from tadc.frontend.conditions import IndexCondition, guard, rows_and_rest, where_all_hold, where_one_fails
from tadc.frontend.context import Context
from tadc.frontend.extents import Extent, as_form
from tadc.frontend.functions import OPERATORS, REDUCTIONS
from tadc.frontend.index_expr import LONG, IndexExprReader, check_divisions, fits, grouped
from tadc.frontend.index_operators import combined, divides
from tadc.frontend.index_uses import RangeUses
from tadc.frontend.naming import first_free
from tadc.frontend.printable import ranged
from tadc.frontend.program import Pattern
from tadc.frontend.ranges import inferred_size
from tadc.frontend.reads import ReadChecker, Setting, check_magnitude, rank_error
from tadc.frontend.recurrences import Recurrence
from tadc.frontend.report import Rejected, Reporter, error
from tadc.frontend.scope import ProgramNames, ScopedIndex, ScopedSize, ScopedTensor
from tadc.frontend.size_conditions import negative_sizes
from tadc.frontend.sizes import SizeReader
from tadc.frontend.source import Span
from tadc.frontend.sparse import (
    Sparse,
    SparsePart,
    applied,
    chosen,
    compared,
    not_reduced,
    over_stored,
    settled,
    summed,
)
from tadc.frontend.stored_places import pattern_arrays, places
from tadc.frontend.terms import Term, Terms
from tadc.lattice.affine import ZERO, Affine, Constraint, at_least_zero, box, equals_zero
from tadc.lattice.late_dataclasses import dataclass, replace
from tadc.lattice.polyhedron import cleared

#: The most conditions of one `if` or reduction; each `!=` makes a guard of its own below the others.
MAX_CONDITIONS = 100


@dataclass(frozen=True)
class Value:
    """A term, or a sum over what sparse tensors store; its form if it is an index expression."""

    term: Term | Sparse
    form: Affine | None = None


class ValueReader:
    """Turns the body of one definition into a term. What is wrong is reported and gives None."""

    def __init__(
        self,
        names: ProgramNames,
        sizes: SizeReader,
        terms: Terms,
        reporter: Reporter,
        uses: RangeUses,
        recurrence: Recurrence | None = None,
    ) -> None:
        self.names = names
        self.sizes = sizes
        self.terms = terms
        self.reporter = reporter
        self.reads = ReadChecker(names, reporter, recurrence)
        self.uses = uses

    def whole(
        self, value: Term | Sparse, own: Sequence[str], places: Mapping[str, Affine], span: Span
    ) -> Term:
        """The term of the body of a definition with these indices, at the places of what it stores."""
        stored = own[: len(next(places[name].lookups()).at)] if (name := next(iter(places), "")) else ()
        return over_stored(value, stored, places, self.terms, span)

    def read(self, expr: syntax.Expr, setting: Setting) -> Value | None:
        """The value of an expression; None if a part of it is rejected."""
        chain: list[syntax.Binary] = []
        # A long sum is a deep tree on the left.
        while isinstance(expr, syntax.Binary):
            chain.append(expr)
            expr = expr.lhs
        value = self._attempt(lambda: self._leaf(expr, setting))
        for node in reversed(chain):
            value = self._extend(node, value, self.read(node.rhs, setting), setting)
        return value

    def _attempt(self, build: Callable[[], Value | None]) -> Value | None:
        try:
            return build()
        except Rejected as problem:
            self.reporter.add(problem)
            return None

    def _extend(
        self, node: syntax.Binary, left: Value | None, right: Value | None, setting: Setting
    ) -> Value | None:
        if left is None or right is None:
            return None
        return self._attempt(lambda: self._binary(node, left, right, setting))

    def _leaf(self, expr: syntax.Expr, setting: Setting) -> Value | None:
        match expr:
            case syntax.Number():
                return self._number(expr.value, expr.span)
            case syntax.Pi():
                return Value(self.terms.const(math.pi, expr.span))
            case syntax.Name():
                return self._name(expr, setting)
            case syntax.Subscript():
                return self._element(expr, setting)
            case syntax.Unary():
                return self._minus(expr, setting)
            case syntax.CallExpr():
                return self._apply(expr.function, [self.read(e, setting) for e in expr.arguments], expr.span)
            case syntax.ReduceExpr():
                return self._reduce(expr, setting)
            case syntax.IfExpr():
                return self._if(expr, setting)
            case syntax.SelectExpr():
                return self._select(expr, setting)
            case syntax.Binary():
                raise AssertionError("the chain of operators is walked in `read`")

    # -- atoms -----------------------------------------------------------------------------

    def _number(self, value: int | float, span: Span) -> Value:
        form = Affine.const(value) if isinstance(value, int) else None
        return Value(self.terms.const(value, span), form if form is not None and fits(form) else None)

    def _name(self, expr: syntax.Name, setting: Setting) -> Value:
        match self.names.resolve(expr.id, expr.span, setting.scope):
            case ScopedIndex(key=key):
                form = Affine.var(key)
                return Value(self.terms.index(form, expr.span), form)
            case ScopedSize(value=value) as size:
                if value is not None:
                    return self._number(value, expr.span)
                return Value(self.terms.index(size.form, expr.span), size.form)
            case ScopedTensor() as tensor:
                if tensor.shape:
                    raise Rejected(rank_error(tensor, 0, expr.span))
                if (looked_up := tensor.lookup(())) is not None:
                    return Value(self.terms.index(looked_up, expr.span), looked_up)
                if not self.reads.is_earlier(tensor, [], expr.span, setting):
                    raise Rejected
                return Value(self.terms.read(tensor.name, (), tensor.type, expr.span))

    def _element(self, expr: syntax.Subscript, setting: Setting) -> Value | None:
        found = self.reads.element(expr, setting)
        if found is None:
            return None
        tensor, forms = found
        if (looked_up := tensor.lookup(forms)) is not None:
            return Value(self.terms.index(looked_up, expr.span), looked_up)
        if tensor.pattern is not None and not expr.stored:
            return Value(self._stored(tensor, tensor.pattern, forms, expr.span))
        return Value(self.terms.read(tensor.name, forms, tensor.type, expr.span))

    def _stored(self, tensor: ScopedTensor, pattern: Pattern, forms: list[Affine], span: Span) -> Sparse:
        """The sum of all elements that a sparse tensor stores at one place."""
        arrays = pattern_arrays(pattern, self.names)
        shape = arrays[0].shape
        keys = tuple(self.terms.fresh("e") for _ in shape)
        own = [Affine.var(key) for key in keys]
        there = zip(places(arrays, own), forms, strict=False)
        rows = [*box(keys, shape), *(equals_zero(place - form) for place, form in there)]
        term = self.terms.read(tensor.name, (*own, *forms[len(arrays) :]), tensor.type, span)
        indices = {
            name for form in forms[: len(arrays)] for name in form.variables if not self.names.is_size(name)
        }
        part = SparsePart(term, keys, tuple("e" for _ in keys), tuple(rows), frozenset(indices))
        return Sparse((part,), tensor.name, span)

    # -- operators -------------------------------------------------------------------------

    def _apply(self, function: str, operands: Sequence[Value | None], span: Span) -> Value | None:
        known = [value.term for value in operands if value is not None]
        if len(known) < len(operands):
            return None
        plain = [term for term in known if not isinstance(term, Sparse)]
        if len(plain) < len(known):
            return self._attempt(lambda: Value(applied(self.terms, function, known, span)))
        return Value(self.terms.apply(function, plain, span))

    def _minus(self, expr: syntax.Unary, setting: Setting) -> Value | None:
        operand = expr.operand
        # An integer zero has no sign of its own, but minus zero is a value.
        if isinstance(operand, syntax.Number) and (operand.value or isinstance(operand.value, float)):
            return self._number(-operand.value, expr.span)
        if isinstance(operand, syntax.Pi):
            return self._number(-math.pi, expr.span)
        value = self.read(operand, setting)
        negative = self._apply("neg", [value], expr.span)
        if negative is None or value is None or value.form is None:
            return negative
        return Value(negative.term, -value.form)

    def _binary(self, node: syntax.Binary, left: Value, right: Value, setting: Setting) -> Value | None:
        lhs, rhs = left.form, right.form
        is_index = lhs is not None and rhs is not None and divides(rhs)
        if node.operator == "//" or (node.operator == "%" and is_index):
            return self._quotient(node, lhs, rhs, setting)
        value = self._apply(OPERATORS[node.operator], [left, right], node.span)
        form = combined(node.operator, lhs, rhs) if lhs is not None and rhs is not None else None
        return Value(value.term, form) if value and form is not None and fits(form) else value

    def _quotient(
        self, node: syntax.Binary, lhs: Affine | None, rhs: Affine | None, setting: Setting
    ) -> Value:
        """`//`, which only index expressions have, and `%` between them."""
        if lhs is None or rhs is None:
            text = self.reporter.text
            top, below = grouped(node.lhs, text), grouped(node.rhs, text)
            bad = node.lhs if lhs is None else node.rhs
            message = "`//` divides index expressions only"
            helps = [f"for values write `floor({top} / {below})`"] if len(top + below) < LONG else []
            raise Rejected(error("TAD0311", message, bad.span, "not a linear index expression", helps=helps))
        what = "index expression"
        form = combined(node.operator, lhs, rhs)
        if form is None:
            reader = IndexExprReader(self.names, setting.scope, self.reporter.text, what)
            raise reader.no_divisor(node, rhs)
        check_magnitude(form, what, node.span, setting)
        check_divisions(form, what, node.span)
        if form.is_constant:
            return self._number(form.constant, node.span)
        return Value(self.terms.index(form, node.span), form)

    # -- reductions and choices ------------------------------------------------------------

    def _reduce(self, node: syntax.ReduceExpr, setting: Setting) -> Value | None:
        """Read a reduction: all indices of one `sum{…}` make one node."""
        legal = check_binders(node.indices, self.names, self.reporter, setting.scope.owner)
        indices, context = dict(setting.scope.indices), setting.context
        keys: list[str] = []
        domain: list[Constraint] = []
        for position, spec in enumerate(node.indices):
            # One name for two indices would make their facts one, and the names in what they enclose.
            key = self.terms.fresh(spec.name)
            rows, context = self._range(node, position, key, setting, context)
            legal = legal and rows is not None
            keys.append(key)
            domain += rows or []
            indices.pop(spec.name, None)
            indices[spec.name] = ScopedIndex(spec.name, key, node.kind)
        inside = Setting(replace(setting.scope, indices=indices), context)
        found, inside = self._conditions(node, "a reduction", inside)
        body = self.read(node.body, inside)
        if body is None or not legal or found is None:
            return None
        rows, rest = rows_and_rest(found)
        domain += map(cleared, rows)
        hints = [first_free(spec.name, self.names.sites) for spec in node.indices]
        term = body.term
        if not isinstance(term, Sparse) or node.kind != "sum":
            term = settled(
                self.terms, term, node.span, lambda value: not_reduced(value, node.kind, node.span)
            )
        if rest:
            nothing = self.terms.const(REDUCTIONS[node.kind].nothing)
            term = chosen(
                self.terms, term, nothing, lambda here, there: guard(self.terms, rest, here, there, node.span)
            )
        if isinstance(term, Sparse):
            return Value(summed(term, keys, hints, tuple(domain), self.terms))
        return Value(self.terms.reduce(keys, domain, term, kind=node.kind, hints=hints, span=node.span))

    def _conditions(
        self, node: syntax.ReduceExpr | syntax.IfExpr, what: str, outside: Setting
    ) -> tuple[list[IndexCondition] | None, Setting]:
        """The conditions of a reduction or an `if`, None if one is rejected, and where they hold."""
        if len(node.conditions) > MAX_CONDITIONS:
            label = f"more than {MAX_CONDITIONS}"
            raise Rejected(error("TAD0314", f"{what} with too many conditions", node.span, label))
        before = len(self.reporter.diagnostics)
        found = self.reads.conditions(node.conditions, outside)
        if isinstance(node, syntax.ReduceExpr) and node.kind == "sum":
            for problem in self.reporter.diagnostics[before:]:
                if problem.code == "TAD0307":
                    problem.helps = [sum_by_value(node, self.reporter.text)]
        known = [condition for condition in found if condition is not None]
        if len(known) < len(found):
            return None, replace(outside, context=outside.context.unknown())
        return known, replace(outside, context=where_all_hold(outside.context, known))

    def _range(
        self, node: syntax.ReduceExpr, position: int, key: str, outside: Setting, context: Context
    ) -> tuple[list[Constraint] | None, Context]:
        """Bind one index of a reduction to its range: the rows of the domain, None if that is rejected."""
        variable, spec = Affine.var(key), node.indices[position]
        if not node.lower:
            size = self._size(node, position, outside)
            if size is None:
                return None, context.bind(key, None)
            self.names.note_range(spec, [ZERO], [as_form(size) - 1], outside.scope)
            return [at_least_zero(variable), at_least_zero(size - 1 - variable)], context.bind(key, size)
        what = f"bound of the {node.kind}"
        lower = [self.reads.form(e, what, outside) for e in node.lower]
        upper = [self.reads.form(e, what, outside) for e in node.upper]
        lows, highs = [f for f in lower if f is not None], [f for f in upper if f is not None]
        if len(lows) + len(highs) < len(lower) + len(upper):
            return None, context.bind(key, None)
        self.names.note_range(spec, lows, highs, outside.scope)
        return ranged(key, lows, highs), context.bind_between(key, lows, highs)

    def _size(self, node: syntax.ReduceExpr, position: int, outside: Setting) -> Extent | None:
        spec = node.indices[position]
        try:
            if self.names.hidden(spec.name, outside.scope.owner):
                raise Rejected
            if spec.size is not None:
                size = self.sizes.resolve(spec.size, outside.scope.indices)
            else:
                uses = self.uses.of_sum(node)[position]
                size = inferred_size(
                    spec.name, spec.span, uses, self.reporter.text, self.sizes.symbols, node.kind
                )
            self.reads.excluded += negative_sizes(size)
            return size
        except Rejected as problem:
            self.reporter.add(problem)
            return None

    def _if(self, node: syntax.IfExpr, setting: Setting) -> Value | None:
        before = len(self.reporter.diagnostics)
        conditions, inside = self._conditions(node, "an `if`", setting)
        for problem in self.reporter.diagnostics[before:]:
            if problem.code == "TAD0307":
                problem.helps, problem.edits = by_value(node, self.reporter.text)
        outside = setting.context.unknown()
        if conditions is not None:
            outside = where_one_fails(setting.context, conditions)
        then = self.read(node.then, inside)
        otherwise = self.read(node.otherwise, Setting(setting.scope, outside))
        if then is None or otherwise is None or conditions is None:
            return None
        return Value(
            chosen(
                self.terms,
                then.term,
                otherwise.term,
                lambda here, there: guard(self.terms, conditions, here, there, node.span),
            )
        )

    def _select(self, node: syntax.SelectExpr, setting: Setting) -> Value | None:
        """Read a choice by value; both branches are evaluated, so nothing is assumed in them."""
        relation = node.condition
        parts = [self.read(e, setting) for e in (relation.lhs, relation.rhs, node.then, node.otherwise)]
        known = [value for value in parts if value is not None]
        if len(known) < len(parts):
            return None
        (lhs, rhs), by = compared(self.terms, [value.term for value in known[:2]], relation.span)

        def choose(then: Term, otherwise: Term) -> Term:
            return self.terms.select(relation.operator, lhs, rhs, then, otherwise, node.span)

        return Value(chosen(self.terms, known[2].term, known[3].term, choose, by))
