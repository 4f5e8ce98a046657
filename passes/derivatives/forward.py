"""Forward-mode differentiation of typed programs.

The tangent of a term is the sum over its operands of partial times tangent; that of a read is a read of
the tangent tensor at the same place, so no equality arises and every sum keeps its domain. The rules are
those of reverse mode: a cotangent's rule is linear in the cotangent, and `g * partial` is the same product
with a tangent for g.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from typing import TypeVar

from tadc.frontend.extents import Extent
from tadc.frontend.program import Argument, Definition, Program
from tadc.frontend.terms import Apply, Guard, Read, Reduce, Select, Term, bottom_up, outside_reductions
from tadc.lattice.affine import Affine
from tadc.lattice.late_dataclasses import dataclass, field, replace
from tadc.passes.derivatives.activity import active_tensors
from tadc.passes.derivatives.derivative_table import STEEP, cotangents
from tadc.passes.derivatives.formula_slopes import formula_slopes, leaves
from tadc.passes.derivatives.open_roots import with_open_roots
from tadc.passes.derivatives.reduction_rules import RULES
from tadc.passes.derivatives.slopes import CotangentAlgebra
from tadc.passes.terms.algebra import is_const
from tadc.passes.terms.liveness import needed
from tadc.passes.terms.names import Names

T = TypeVar("T")


def forward_program(
    program: Program, wrt: Sequence[str], *, keep_values: bool = True, chunk: int = 0
) -> Program:
    """Tangents of the outputs along tangents of the arguments `wrt`: the Jacobian-vector product.

    The result takes the program's arguments and a tangent `x_dot` of each `x` in `wrt` (`Argument.tangent_of`
    says whose it is), and returns the outputs, unless `keep_values` is false, and then the tangent of each
    (`Definition.tangent_of`). A tangent has the shape of its tensor; with a `chunk` of more than 0 it is that
    many tangents, along a dimension in front.
    """
    opened = with_open_roots(program, wrt)
    return Forward(opened.program, tuple(wrt), keep_values, chunk, opened.hidden).run()


@dataclass
class Forward:
    """One differentiation; the options are those of `forward_program`."""

    program: Program
    wrt: tuple[str, ...]
    keep_values: bool = True
    chunk: int = 0
    hidden: frozenset[str] = frozenset()
    known: dict[int, Term] = field(default_factory=dict[int, Term])
    steep: dict[int, bool] = field(default_factory=dict[int, bool])
    #: The indices that tell the tangents of an element, with their extents.
    lanes: dict[str, Extent] = field(default_factory=dict[str, Extent])

    def run(self) -> Program:
        """The program's values and tangents."""
        program, names = self.program, Names(self.program)
        self.start(names)
        self.tangent_of = {tensor: names.free(f"{tensor}_dot") for tensor in (*self.wrt, *self.moving())}
        self.lanes = {names.free("tangent"): self.chunk} if self.chunk else {}
        arguments = [replace(a, cotangent_of="", tangent_of="") for a in program.arguments]
        given = {a.name: a for a in program.arguments}
        for name in self.wrt:
            shape = self.along(given[name].shape, self.lanes.values())
            pattern = None if self.lanes else given[name].pattern
            made = Argument(self.tangent_of[name], given[name].type, shape, tangent_of=name, pattern=pattern)
            arguments.append(made)
        definitions = [
            replace(d, is_output=d.is_output and self.keep_values, gradient_of="", tangent_of="")
            for d in program.definitions
        ]
        definitions += [self.definition(d) for d in program.definitions if d.name in self.tangent_of]
        return replace(
            program,
            arguments=tuple(arguments),
            definitions=needed(definitions),
            doubts=self.algebra.doubts(program.source),
        )

    def start(self, names: Names) -> None:
        """Look at the program; new tensors get names that are free in `names`."""
        program, self.names = self.program, names
        self.algebra = CotangentAlgebra(program, self.wrt)
        self.sharing = self.algebra.shares
        self.types, self.active = program.types(), active_tensors(program, self.wrt)

    def moving(self) -> list[str]:
        """The definitions that have a tangent."""
        return [d.name for d in self.program.definitions if d.name in self.active or d.is_output]

    def along(self, own: Sequence[T], lanes: Iterable[T]) -> tuple[T, ...]:
        """What is said of the dimensions of a tensor and of those of its tangents, in their order."""
        return (*lanes, *own)

    def definition(self, definition: Definition) -> Definition:
        """The tangent of a definition; of one that depends on no argument of `wrt` it is 0."""
        name = definition.name
        self.algebra.is_hidden = name in self.hidden
        body = self.tangent(definition.body) if name in self.active else self.algebra.zero
        self.sharing.define(self.tangent_of[name], body)
        return Definition(
            self.tangent_of[name],
            definition.type,
            self.along(definition.shape, self.lanes.values()),
            self.along(definition.indices, self.lanes),
            body,
            definition.is_output,
            definition.span,
            tangent_of=name if definition.is_output else "",
            order=definition.order,
            pattern=None if self.lanes else definition.pattern,
        ).in_order()

    def tangent(self, root: Term) -> Term:
        """The tangent of a term, from those of its operands; a reduction's body is opened for it."""
        return bottom_up(root, self.known, self.from_below, self.below)

    def below(self, term: Term) -> Sequence[Term]:
        """What a tangent is made of: of a formula with a slope that may be infinite, what it is a formula of.

        There each operand of it gets its slope as in reverse mode: 0 * inf is told by the whole product
        alone.
        """
        return leaves(term) if self.is_steep(term) else outside_reductions(term)

    def is_steep(self, term: Term) -> bool:
        """Whether a term is a formula in which a slope may be infinite."""
        return bottom_up(term, self.steep, self._is_steep)

    def _is_steep(self, node: Term, below: Sequence[bool]) -> bool:
        if not isinstance(node, Apply):
            return False
        return any(below) or (node.function in STEEP and self.algebra.is_steep(node))

    def from_below(self, term: Term, below: Sequence[Term]) -> Term:
        """The tangent of a term whose operands' tangents are known."""
        algebra = self.algebra
        match term:
            case Read():
                return self.read(term)
            case Apply() if not self.is_steep(term):
                # The rule of an operand uses what flows into it alone.
                parts = [
                    cotangents(algebra, tangent, term)[n]
                    for n, tangent in enumerate(below)
                    if not is_const(tangent, 0)
                ]
                return reduce(algebra.add, parts, algebra.zero)
            case Apply():
                slopes = formula_slopes(algebra, term)
                moving = zip(self.below(term), below, strict=True)
                parts = (algebra.moved(tangent, slopes[leaf.number]) for leaf, tangent in moving)
                return reduce(algebra.add, parts, algebra.zero)
            case Select():
                then, otherwise = map(self.tangent, algebra.branches(term))
                if is_const(then, 0) and is_const(otherwise, 0):
                    return algebra.zero
                return algebra.select(term.relation, term.lhs, term.rhs, then, otherwise)
            case Guard():
                if is_const(below[0], 0) and is_const(below[1], 0):
                    return algebra.zero
                return algebra.guard(term.conditions, below[0], below[1])
            case Reduce():
                return self.reduce(term)
            case _:
                return algebra.zero

    def read(self, read: Read) -> Term:
        """The element of the tangent tensor."""
        if read.tensor not in self.active:
            return self.algebra.zero
        name, type = self.tangent_of[read.tensor], self.types[read.tensor]
        at = self.along(read.indices, map(Affine.var, self.lanes))
        return self.program.terms.read(name, at, type, read.span)

    def reduce(self, term: Reduce) -> Term:
        """The sum over the elements of what each changes the result."""
        terms = self.program.terms
        binders, domain, body = terms.open(term)
        tangent = self.tangent(body)
        if is_const(tangent, 0):
            return tangent
        change = RULES[term.kind](self.algebra, tangent, term, body, binders)
        return self.algebra.sum(binders, domain, change, term.hints, term.span)
