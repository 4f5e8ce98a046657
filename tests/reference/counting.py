"""An instrumented run: a program evaluated on arrays, element by element, that counts what it does.

Each scope (an element, the steps of a reduction, a branch of a guard) keeps the values made in it, and a
value is looked up before it is made. One that no index of a loop changes is kept for all of its steps, unless
it holds a reduction. Nothing here knows of domains: every index runs over `reach`, and each row is tested
as soon as its indices have values.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.special import erf, erfc, expit, logsumexp

from tadc.frontend.extents import shape_at
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
    holds_reduction,
    operands,
    reachable,
)
from tadc.lattice.affine import Affine
from tadc.passes.terms.operation_counts import ComputedTogether

NAMES: dict[str, Callable[..., float]] = {
    "add": float.__add__, "sub": float.__sub__, "mul": float.__mul__, "div": np.divide, "mod": np.mod,
    "neg": float.__neg__, "pow": np.power, "max": np.maximum, "min": np.minimum, "abs": float.__abs__,
    "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "atan2": np.arctan2, "asinh": np.arcsinh,
    "acosh": np.arccosh, "atanh": np.arctanh, "erf": erf, "erfc": erfc, "sigmoid": expit,
    "relu": lambda x: np.maximum(x, 0), "safe": lambda x, y: x * y if x else 0.0,
    "pinv": lambda x: 1 / x if x else 0.0,
}  # fmt: skip
RELATIONS: dict[str, Callable[[float, float], bool]] = {
    "=": lambda x, y: x == y, "!=": lambda x, y: x != y, "<": lambda x, y: x < y,
    "<=": lambda x, y: x <= y, ">": lambda x, y: x > y, ">=": lambda x, y: x >= y,
}  # fmt: skip
REDUCTIONS: dict[str, Callable[[Sequence[float]], float]] = {
    "sum": sum, "prod": math.prod, "logsumexp": lambda e: float(np.asarray(logsumexp(e))) if e else -math.inf,
    "max": lambda e: max(e, default=-math.inf), "min": lambda e: min(e, default=math.inf),
}  # fmt: skip
#: The weights of the design: one for what is not here and not transcendental.
HEAVY = {"safe": 2, "pinv": 5, "div": 4, "sqrt": 4, "mod": 4, "logsumexp": 11}
LIGHT = set("add sub mul neg max min abs sign relu floor ceil select sum prod".split())


@dataclass
class Scope:
    """Values by term; what is evaluated here in any case, by number; the indices bound up to here, and those
    that this step of a loop binds."""

    outer: Scope | None
    indices: dict[str, int]
    always: dict[int, Term]
    binders: frozenset[str] = frozenset()
    values: dict[int, float] = field(default_factory=dict[int, float])


class Run:
    """One evaluation of a program without size symbols; `counts` says how often each operation was done."""

    def __init__(
        self,
        program: Program,
        arrays: Mapping[str, NDArray[np.floating]],
        reach: int,
        together: ComputedTogether | None = None,
    ) -> None:
        self.program, self.arrays, self.reach = program, dict(arrays), reach
        self.together = together or ComputedTogether()
        self.counts: Counter[str] = Counter()
        self.holds: dict[int, bool] = {}
        self.known: dict[tuple[int, ...], dict[int, Term]] = {}
        self.makers: dict[int, Callable[[Scope], float]] = {}
        self.needed: dict[tuple[int, int], list[Term]] = {}
        by_name = {d.name: d for d in program.definitions}
        maps = [([by_name[name] for name in names], values) for names, values in self.together.maps]
        fused = {d.name for group, _ in maps for d in group}
        maps += [([d], ()) for d in program.definitions if d.name not in fused]
        with np.errstate(all="ignore"):
            for group, values in sorted(maps, key=lambda each: program.definitions.index(each[0][0])):
                self.map(group, values)

    def map(self, group: Sequence[Definition], values: Sequence[Term]) -> None:
        """Compute tensors of one map, with all values that it makes for each element."""
        types = {"f32": np.float32, "f64": np.float64}
        made = [np.zeros(shape_at(d.shape, {}), types[d.type]) for d in group]
        bodies = [d.body for d in group]
        if group[0].order is not None:
            self.arrays[group[0].name] = made[0]
        places = [dict(zip(group[0].indices, point, strict=True)) for point in np.ndindex(*made[0].shape)]
        order = group[0].order or Affine.const(0)
        for indices in sorted(places, key=lambda place: order.evaluate(place)):
            point = tuple(indices.values())
            scope = Scope(None, indices, self.always(*bodies, *values))
            for value in values:
                self.value(value, scope)
            for array, body in zip(made, bodies, strict=True):
                array[point] = self.value(body, scope)
                self.counts[f"store {array.itemsize}"] += 1
        self.arrays |= {d.name: array for d, array in zip(group, made, strict=True)}

    @property
    def weighted(self) -> int:
        """The arithmetic in the weights of the design."""
        arithmetic = {n: count for n, count in self.counts.items() if n.split()[0] not in ("load", "store")}
        return sum(count * (HEAVY.get(n) or (1 if n in LIGHT else 10)) for n, count in arithmetic.items())

    @property
    def transcendental(self) -> int:
        """The operations that are neither light nor a quotient, a root or a safe product."""
        light = LIGHT | {"safe", "pinv", "div", "sqrt", "mod", "load", "store"}
        return sum(count for n, count in self.counts.items() if n.split()[0] not in light)

    def moved(self, what: str) -> int:
        """The bytes that loads or stores move."""
        found = [(n.split(), count) for n, count in self.counts.items()]
        return sum(int(words[1]) * count for words, count in found if words[0] == what)

    def value(self, term: Term, scope: Scope) -> float:
        """The value of a term, from where it is kept or made now."""
        around: Scope | None = scope
        while around:
            if term.number in around.values:
                return around.values[term.number]
            around = around.outer
        home = scope
        if scope.outer and scope.binders and scope.binders.isdisjoint(term.free):
            home = scope if holds_reduction(term, self.holds) else scope.outer
        if isinstance(term, Reduce) and len(same := self.merged(term, scope)) > 1:
            home.values |= self.sums(same, scope)
            return home.values[term.number]
        if isinstance(term, Guard | Reduce):
            # What is needed anyway comes before what needs it for a branch or a step only.
            for below in self.before(term, scope):
                self.value(below, scope)
        if term.number not in self.makers:
            self.makers[term.number] = self.maker(term)
        home.values[term.number] = made = self.makers[term.number](scope)
        return made

    def before(self, term: Term, scope: Scope) -> list[Term]:
        """What stands below a term and is evaluated in a scope in any case."""
        key = term.number, id(scope.always)  # which `known` keeps
        if key not in self.needed:
            self.needed[key] = [t for t in reachable(operands(term)) if t.number in scope.always]
        return self.needed[key]

    def merged(self, term: Reduce, scope: Scope) -> list[Reduce]:
        """The sums of a scope that are one loop with this one."""
        numbers = {term.number}.union(*(s for s in self.together.sums if term.number in s))
        found = [scope.always[number] for number in sorted(numbers) if number in scope.always]
        return [t for t in found if isinstance(t, Reduce)]

    def sums(self, same: Sequence[Reduce], scope: Scope) -> dict[int, float]:
        """The values of sums over one set, step by step together."""
        for below in [
            t for t in reachable([b for s in same for b in operands(s)]) if t.number in scope.always
        ]:
            self.value(below, scope)
        highest = max(same, key=lambda term: term.body.height)
        bodies: list[Term] = []
        for term in same:
            names = dict(zip(term.binders, map(Affine.var, highest.binders), strict=True))
            bodies.append(term.body if term is highest else self.program.terms.substitute(term.body, names))
        totals = [0.0] * len(same)
        before, always = Scope(scope, scope.indices, {}), self.always(*bodies)
        for indices in self.points(highest.binders, highest.domain, scope.indices):
            step = Scope(before, indices, always, frozenset(highest.binders))
            totals = [total + self.value(body, step) for total, body in zip(totals, bodies, strict=True)]
            self.counts["sum"] += len(same)
        return {term.number: total for term, total in zip(same, totals, strict=True)}

    def always(self, *roots: Term) -> dict[int, Term]:
        """What a scope with these roots evaluates in any case."""
        key = tuple(root.number for root in roots)
        if key not in self.known:
            found: dict[int, Term] = {}
            stack = list(roots)
            while stack:
                term = stack.pop()
                if term.number in found:
                    continue
                found[term.number] = term
                stack += () if isinstance(term, Guard | Reduce) else operands(term)
            self.known[key] = found
        return self.known[key]

    def maker(self, term: Term) -> Callable[[Scope], float]:
        """What makes the value of a term in a scope from those of its operands."""
        match term:
            case Const(value=value):
                return lambda _: float(value)
            case IndexValue(form=form):
                return lambda scope: float(form.evaluate(scope.indices))
            case Read():
                return lambda scope: self.loaded(term, scope)
            case Apply(function="pow", operands=(x, Const(value=int(n)))):
                return lambda scope: self.power(self.value(x, scope), n)
            case Apply():
                compute = NAMES.get(term.function) or getattr(np, term.function)
                return lambda scope: self.applied(term, compute, scope)
            case Guard():
                return lambda scope: self.guarded(term, scope)
            case Select():
                return lambda scope: self.selected(term, scope)
            case Reduce():
                return lambda scope: self.reduction(term, scope)
            case _:
                raise TypeError(term)

    def loaded(self, term: Read, scope: Scope) -> float:
        found = self.arrays[term.tensor][tuple([form.evaluate(scope.indices) for form in term.indices])]
        self.counts[f"load {found.itemsize}"] += 1
        return float(found)

    def applied(self, term: Apply, compute: Callable[..., float], scope: Scope) -> float:
        self.counts[term.function] += 1
        return float(compute(*[self.value(t, scope) for t in term.operands]))

    def guarded(self, term: Guard, scope: Scope) -> float:
        taken = term.then if all(row.holds(scope.indices) for row in term.conditions) else term.otherwise
        return self.value(taken, Scope(scope, scope.indices, self.always(taken)))

    def selected(self, term: Select, scope: Scope) -> float:
        lhs, rhs, then, otherwise = [self.value(t, scope) for t in operands(term)]
        self.counts["select"] += 1
        return then if RELATIONS[term.relation](lhs, rhs) else otherwise

    def power(self, x: float, n: int) -> float:
        """By squaring: one product for each bit, and one more for each further bit that is 1."""
        bits = bin(abs(n))[3:] if n else ""
        self.counts["mul"] += len(bits) + bits.count("1")
        self.counts["div"] += n < 0
        return float(np.float64(x) ** n)

    def reduction(self, term: Reduce, scope: Scope) -> float:
        elements: list[float] = []
        binders = frozenset(term.binders)
        before, always = Scope(scope, scope.indices, {}), self.always(term.body)
        for indices in self.points(term.binders, term.domain, scope.indices):
            elements.append(self.value(term.body, Scope(before, indices, always, binders)))
            self.counts[term.kind] += 1
        return float(REDUCTIONS[term.kind](elements))

    def points(
        self, binders: Sequence[str], rows: Domain, known: Mapping[str, int]
    ) -> Iterator[dict[str, int]]:
        """The points of a domain."""
        ready = [row for row in rows if row.form.variables <= known.keys()]
        if not all(row.holds(known) for row in ready):
            return
        if not binders:
            yield dict(known)
            return
        rest = tuple(row for row in rows if row not in ready)
        for at in range(-self.reach, self.reach + 1):
            yield from self.points(binders[1:], rest, {**known, binders[0]: at})
