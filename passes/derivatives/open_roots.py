"""Definitions that end in a root are read as that root where a derivative has to see it.

    let n[i] = sqrt(u[i]),    f = sum{i} (cos(n[i]))
    becomes    f = sum{i} (cos(sqrt(u[i])))

The cotangent of `n` vanishes where n does, and what it then is times the infinite slope of the root is told
by the formula that the root stands in (`slopes.py`), which a tensor of cotangents does not show. So a short
formula with such a slope stands in the place of a read where what reads it has no first power of it, as
`cos(n)` and `n**2`, or may have none, as `(n - r)**2`. Of others, as `x / n`, the cotangent is summed up
before it goes through the root.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from tadc.frontend.program import Definition, Program
from tadc.frontend.terms import (
    Apply,
    Const,
    IndexValue,
    Read,
    Reduce,
    Select,
    Term,
    bottom_up,
    operands,
    reachable,
    type_in,
)
from tadc.lattice.late_dataclasses import dataclass, field, replace
from tadc.passes.derivatives.activity import Activity, active_tensors
from tadc.passes.derivatives.choice_algebra import is_power
from tadc.passes.derivatives.derivative_table import STEEP, partials
from tadc.passes.derivatives.formula_slopes import leaves
from tadc.passes.derivatives.powers_of_roots import PowersOfRoots
from tadc.passes.derivatives.series import Expansion, Series
from tadc.passes.derivatives.slope_ends import ORDERS
from tadc.passes.derivatives.slopes import CotangentAlgebra
from tadc.passes.terms.algebra import is_const
from tadc.passes.terms.costs import COMPARED
from tadc.passes.terms.names import Names

POWERS = ORDERS + 1
"""So many powers of what is read tell whether a formula is linear in it."""


@dataclass(frozen=True)
class OpenRoots:
    """A program where roots stand in what has to see them; `seen` are definitions that end in roots, of which
    every other reader has a first power: their cotangents do not vanish with them. Those of `hidden`
    definitions, which have roots in them, may.
    """

    program: Program
    seen: frozenset[str] = frozenset()
    hidden: frozenset[str] = frozenset()


def with_open_roots(program: Program, wrt: Collection[str]) -> OpenRoots:
    """The program with formulas in the place of reads of definitions that end in roots."""
    if not any(
        isinstance(t, Apply) and t.function in STEEP for d in program.definitions for t in reachable([d.body])
    ):
        return OpenRoots(program)
    opened = _Opened(program, wrt)
    made = [new for d in program.definitions for new in opened.definition(d)]
    if opened.is_used:
        program = replace(program, definitions=tuple(made))
    seen = frozenset(opened.formulas).difference(opened.unseen)
    hidden = _hidden(program, wrt, opened.algebra, seen)
    return OpenRoots(program, seen - hidden, hidden)


def _hidden(
    program: Program, wrt: Collection[str], algebra: CotangentAlgebra, seen: Collection[str]
) -> frozenset[str]:
    """The definitions with roots in them whose cotangents may vanish with these: what they are summed up to
    is in a formula that is not linear in it. Of those that are `seen`, formulas with reads of them are none.
    """
    activity, found = Activity(active_tensors(program, wrt)), set[str]()
    for definition in reversed(program.definitions):
        # A term, and whether it is needed: in the formula that it stands in, and by what is around that.
        stack: list[tuple[Term, bool, bool]] = [(definition.body, False, definition.name in found)]
        known = set[tuple[int, bool, bool]]()
        while stack:
            node, inside, around = stack.pop()
            if (node.number, inside, around) in known:
                continue
            known.add((node.number, inside, around))
            if isinstance(node, Read):
                is_needed = around or (inside and node.tensor not in seen)
                if is_needed and algebra.is_bent(node):
                    found.add(node.tensor)
                continue
            needs = _needs(node, activity, algebra)
            if isinstance(node, Apply):
                stack += [(t, inside or need, around) for t, need in zip(operands(node), needs, strict=True)]
                continue
            if isinstance(node, Reduce) and (inside or around or any(needs)) and algebra.is_bent(node):
                found.add(definition.name)
            stack += [
                (t, False, inside or around or need) for t, need in zip(operands(node), needs, strict=True)
            ]
    return frozenset(found)


def _needs(node: Term, activity: Activity, algebra: CotangentAlgebra) -> Sequence[bool]:
    """For each operand, whether what it gets may vanish with a root in it: not if that is smooth."""
    match node:
        case Apply(function="mul" | "safe", operands=(x, y)):
            return [algebra.is_bent(x) and algebra.is_bent(y) and algebra.shares(x, y)] * 2
        case Apply(function="div", operands=(x, y)):
            return [algebra.is_bent(y) and algebra.shares(x, y), algebra.is_bent(y)]
        case Select():
            return [False] * 4
        case _:
            return activity.needs(node)


@dataclass
class _Opened:
    """One walk over the definitions; `formulas` are those that end in roots.

    Of those that are `unseen` something that has to see the root reads the tensor still, as it would compute
    it too often. The slopes of `zeros` count as 0 where they would be infinite.
    """

    program: Program
    wrt: Collection[str]
    formulas: dict[str, Definition] = field(default_factory=dict[str, Definition])
    unseen: set[str] = field(default_factory=set[str])
    zeros: set[str] = field(default_factory=set[str])
    is_used: bool = False

    def __post_init__(self) -> None:
        self.names, self.active = Names(self.program), active_tensors(self.program, self.wrt)
        self.algebra = CotangentAlgebra(self.program, self.wrt)
        self.plain = PowersOfRoots(self.program.terms, self.algebra.values)

    def definition(self, definition: Definition) -> list[Definition]:
        """The definition over formulas, and before it what it is a formula of."""
        body = self.plain.without(definition.body)
        seen = {read.number: self._formula(read) for read in self._needed(body)}
        if seen:
            body = self.plain.without(bottom_up(body, seen, self.program.terms.rebuild))
        self.is_used |= body is not definition.body
        made = replace(definition, body=body)
        # Where it is read in turn, it is a formula of what the tensors that it reads are formulas of.
        whole = bottom_up(body, dict[int, Term](), self._opened)
        if not self._ends_in_root(made, whole):
            return [made]
        inner = [self._tensor(made, leaf) for leaf in leaves(whole) if not isinstance(leaf, _SHORT)]
        terms = self.program.terms
        reads: dict[int, Term] = {d.body.number: terms.read(d.name, d.own, d.type) for d in inner}
        self.formulas[made.name] = replace(made, body=bottom_up(whole, reads, terms.rebuild))
        return [*inner, made]

    def _opened(self, node: Term, below: Sequence[Term]) -> Term:
        made = self.program.terms.rebuild(node, below)
        return self._formula(made) if isinstance(made, Read) and made.tensor in self.formulas else made

    def _formula(self, read: Read) -> Term:
        found = self.formulas[read.tensor]
        return self.program.terms.substitute(found.body, found.at(read.indices))

    # -- where a root is seen --------------------------------------------------------------------

    def _needed(self, body: Term) -> Iterator[Read]:
        """The reads of roots in whose place the formula has to stand."""
        for formula in _formulas(body):
            for leaf in leaves(formula):
                if (
                    isinstance(leaf, Read)
                    and leaf.tensor in self.formulas
                    and self._may_vanish(formula, leaf)
                ):
                    yield leaf

    def _may_vanish(self, formula: Term, read: Read) -> bool:
        """Whether the derivative of a formula by what it reads may be 0 where that is, or is not finite."""
        if any(
            isinstance(t, Apply) and t.function.startswith("log")
            for t in reachable([self.formulas[read.tensor].body])
        ):
            self.unseen.add(read.tensor)
            return False
        expansion = Expansion(self.algebra, POWERS)
        expansion.known[read.number] = expansion.made(1, [self.algebra.one])
        found = expansion.of(formula)
        if not isinstance(found, Series):
            if formula.free <= read.free or any(map(is_power, reachable([formula]))):
                return True
            self.unseen.add(read.tensor)
            return False
        if found.lead < 0:
            return False
        first, *others = (found.at(k) or self.algebra.zero for k in range(1, POWERS))
        is_linear = all(is_const(c, 0) for c in others)
        if is_const(first, 0):
            return found.lead > 0 or not is_linear
        told = is_linear and not self.algebra.shares(first, read)
        if told or (isinstance(first, Const) and read.tensor not in self.zeros):
            return False
        if formula.free <= read.free:
            return True
        self.unseen.add(read.tensor)
        return False

    # -- definitions that end in roots -----------------------------------------------------------

    def _ends_in_root(self, definition: Definition, body: Term) -> bool:
        """Whether a definition is a short formula with a slope that is infinite somewhere."""
        if definition.name not in self.active or definition.order is not None or definition.pattern:
            return False
        if not isinstance(body, Apply) or body.type != definition.type:
            return False
        formula: list[Apply] = []
        stack: list[Term] = [body]
        while stack and len(formula) <= COMPARED:
            node = stack.pop()
            if isinstance(node, Apply):
                formula.append(node)
                stack += node.operands
        steep = [t for t in formula if t.function in STEEP and self.algebra.is_steep(t)]
        if all(self.algebra.values.of(slope).finite for t in steep for slope in partials(self.algebra, t)):
            self.zeros.add(definition.name)
        return len(formula) <= COMPARED and bool(steep)

    def _tensor(self, definition: Definition, leaf: Term) -> Definition:
        return Definition(
            self.names.free(f"{definition.name}_0"),
            type_in(leaf, definition.type),
            definition.shape,
            definition.indices,
            leaf,
            False,
            definition.span,
        )


#: What a formula may be of without a tensor for it.
_SHORT = (Read, Const, IndexValue)


def _formulas(body: Term) -> Iterator[Apply]:
    """The largest formulas in a term: each function that is no operand of another."""
    seen: set[int] = set()
    stack: list[tuple[Term, bool]] = [(body, False)]
    while stack:
        node, inside = stack.pop()
        if isinstance(node, Apply) and not inside:
            yield node
        if node.number not in seen:
            seen.add(node.number)
            stack += [(t, isinstance(node, Apply)) for t in operands(node)]
