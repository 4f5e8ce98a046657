"""Sums over the steps of a recurrence, in a form that can be accumulated while the steps are computed.

    dk = sum{i} (c[i] * sum{t} (du[t, i] * u[t, i]))    is     sum{i, t} (c[i] * (du[t, i] * u[t, i]))
    dc[i] = if {i >= 1} then (k * sum{t} (…)) else (0)  reads  dc_steps[i] = sum{t: i >= 1} (…)

This applies if du is so large that only a window of it may be kept (`passes/maps/sweeps.py`). Each step is
then added to all sums while it is in memory, so no sum may be inside another or under a guard. None may run
over the steps of two unrelated recurrences: `sum{t} (du[t] * u[t] + dv[t] * v[t])` becomes two sums.
Otherwise such gradients would store all steps of du (`tests/passes/test_tapes.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import reduce

from tadc.frontend.extents import is_static
from tadc.frontend.program import Definition, Program
from tadc.frontend.terms import Apply, Domain, Guard, Read, Reduce, Term, reachable, tensors_read
from tadc.lattice.affine import Affine
from tadc.passes.terms.algebra import Algebra
from tadc.passes.terms.collect import addends
from tadc.passes.terms.costs import bytes_of
from tadc.passes.terms.long_steps import is_worth_running_along
from tadc.passes.terms.names import Names

Steps = Mapping[str, Definition]
"""Recurrences by the names of their tensors."""


def long_recurrences(program: Program, limit: int | None) -> Steps:
    """The recurrences in between that may be worth a window: all of them where there is a limit, for under
    every limit sums are added up in the same order."""
    return {
        d.name: d
        for d in program.definitions
        if d.order is not None and not d.is_output and (limit is not None or _has_long_steps(d, d.order))
    }


def follows_steps(body: Term, names: Sequence[str], steps: Steps) -> bool:
    """Whether one of these indices of a sum, or one that a sum in it has, goes along the steps of a
    recurrence."""
    for node in reachable([body]):
        found = steps.get(node.tensor) if isinstance(node, Read) else None
        if not isinstance(node, Read) or found is None or found.order is None:
            continue
        along = zip(found.indices, node.indices, strict=True)
        used = {name for index, form in along if found.order.coefficient(index) for name in form.variables}
        if not used.isdisjoint(names):
            return True
    return False


def with_sums_over_steps(program: Program, limit: int | None = None) -> Program:
    """The program where sums over steps stand in no other sum, and under no guard."""
    steps = long_recurrences(program, limit)
    if not steps:
        return program
    names, made = Names(program), list[Definition]()
    for definition in program.definitions:
        if definition.order is None:
            one = _OneDefinition(program, definition, steps, names)
            body = one.term(definition.body, ())
            made += [*one.new, replace(definition, body=body)]
        else:
            made.append(definition)
    return replace(program, definitions=tuple(made))


class _OneDefinition:
    """A definition, and the `new` ones that it reads: its sums over steps that are under guards."""

    def __init__(self, program: Program, definition: Definition, steps: Steps, names: Names) -> None:
        self.terms, self.definition, self.steps, self.names = program.terms, definition, steps, names
        self.algebra = Algebra(program.terms)
        self.new: list[Definition] = []

    def term(self, term: Term, guards: Domain) -> Term:
        """A term that is evaluated where the guards hold."""
        match term:
            case Apply(operands=below):
                return self.terms.rebuild(term, [self.term(operand, guards) for operand in below])
            case Guard(then=then, otherwise=otherwise):
                inside = self.term(then, (*guards, *term.conditions))
                return self.terms.rebuild(term, [inside, otherwise])
            case Reduce(kind="sum"):
                return self.sum(term, guards)
            case _:
                return term

    def sum(self, term: Reduce, guards: Domain) -> Term:
        """A sum, or what is read in its place."""
        terms = self.terms
        names, domain, body = terms.open(term)
        inner = self.factor(body)
        if inner is not None:
            more, rows, inside = terms.open(inner)
            names, domain, body = (*names, *more), (*domain, *rows), self.put(body, inner, inside)
            term = terms.reduce_like(term, names, domain, body, (*term.hints, *inner.hints))
        parts = self.apart(body, names)
        if len(parts) > 1:
            sums = [terms.reduce_like(term, names, domain, part) for part in parts]
            return reduce(self.algebra.add, [self.sum(one, guards) for one in sums])
        if not guards or term.type is None or not follows_steps(body, names, self.steps):
            return term
        total = terms.reduce_like(term, names, (*domain, *guards), body)
        name = self.names.free(f"{self.definition.name}_steps")
        own = self.definition.between(name, type=term.type, body=total)
        self.new.append(own)
        return terms.read(own.name, own.own, own.type)

    def apart(self, body: Term, names: Sequence[str]) -> list[Term]:
        """What a sum adds up, by the recurrences whose steps it follows, along with which it is added up."""
        groups: list[tuple[set[str], list[Term]]] = []
        for summand in (self.algebra.neg(t) if negative else t for negative, t in addends(body)):
            read = tensors_read([summand])
            found = {n for n in read & self.steps.keys() if follows_steps(summand, names, {n: self.steps[n]})}
            same = [group for group in groups if not group[0].isdisjoint(found)] if found else groups[:1]
            groups = [group for group in groups if group not in same]
            merged = found.union(*(tensors for tensors, _ in same))
            groups.append((merged, [*(term for _, terms in same for term in terms), summand]))
        return [reduce(self.algebra.add, parts) for _, parts in groups]

    def factor(self, term: Term) -> Reduce | None:
        """The sum over steps that is a factor of a product."""
        match term:
            case Apply(function="mul", operands=(left, right)):
                return self.factor(left) or self.factor(right)
            case Apply(function="neg", operands=(below,)) | Apply(function="div", operands=(below, _)):
                return self.factor(below)
            case Reduce(kind="sum"):
                names, _, body = self.terms.open(term)
                return term if follows_steps(body, names, self.steps) else None
            case _:
                return None

    def put(self, term: Term, inner: Reduce, inside: Term) -> Term:
        """A product with another factor in the place of a sum."""
        if term is inner:
            return inside
        if not isinstance(term, Apply):
            return term
        below = [self.put(operand, inner, inside) for operand in term.operands]
        return self.terms.rebuild(term, below)


def _has_long_steps(definition: Definition, order: Affine) -> bool:
    """Whether a recurrence may be worth a window."""
    shape = zip(definition.indices, definition.shape, strict=True)
    row = tuple(size for index, size in shape if not order.coefficient(index))
    own = [node for node in reachable([definition.body]) if isinstance(node, Read)]
    forms = [node.indices for node in own if node.tensor == definition.name]
    has_batch = any(
        all(at[n] == Affine.var(index) for at in forms) for n, index in enumerate(definition.indices)
    )
    each, total = (
        bytes_of(sizes, definition.type) if is_static(sizes) else None for sizes in (row, definition.shape)
    )
    return is_worth_running_along(each, total, has_batch)
