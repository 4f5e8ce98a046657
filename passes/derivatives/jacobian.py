"""Jacobians: every partial derivative of every element, as expressions.

A Jacobian is what reverse mode gives for a cotangent that is a Kronecker delta, once for each element of
the output: the indices of that element go in front of all cotangents, and the delta is one more equality
for `tad-cancel-deltas` to solve. What it solves is where the Jacobian is not 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from tadc.frontend.extents import Extent
from tadc.frontend.program import Definition, Program
from tadc.frontend.terms import Domain, Guard, Term
from tadc.lattice.affine import Affine, equals_zero
from tadc.passes.derivatives.open_roots import with_open_roots
from tadc.passes.derivatives.reverse import Reverse
from tadc.passes.terms.algebra import is_const
from tadc.passes.terms.liveness import needed
from tadc.passes.terms.names import Names


def jacobian_program(program: Program, wrt: Sequence[str]) -> Program:
    """The Jacobian `df_dx` of each output f by each argument x in `wrt`, of shape `f.shape + x.shape`.

    The result takes the program's arguments and returns nothing else. `Definition.tangent_of` and
    `gradient_of` say of a Jacobian which output and which argument it belongs to.
    """
    opened = with_open_roots(program, wrt)
    program = opened.program
    own = [replace(d, is_output=False, gradient_of="", tangent_of="") for d in program.definitions]
    names = Names(program)
    derived: list[Definition] = []
    for output in program.outputs:
        alone = tuple(replace(d, is_output=d.name == output.name) for d in own)
        derived += _OutputJacobian(
            replace(program, definitions=alone), tuple(wrt), seen_roots=opened.seen
        ).of(output, names)
    arguments = tuple(replace(a, cotangent_of="", tangent_of="") for a in program.arguments)
    return replace(program, arguments=arguments, definitions=needed([*own, *derived]), doubts=())


@dataclass
class _OutputJacobian(Reverse):
    """The Jacobian of the one output of a program."""

    def of(self, output: Definition, names: Names) -> list[Definition]:
        """The Jacobians by all arguments, and what they read besides the program."""
        self.output = output
        self.start(names)
        made = self.derived({a: names.free(f"d{output.name}_d{a}") for a in self.wrt})
        return [replace(d, tangent_of=output.name) if d.gradient_of else d for d in made]

    @cached_property
    def elements(self) -> dict[str, Extent]:
        """The indices of the output's element, and their extents."""
        taken = [index for indices in self.indices.values() for index in indices]
        found: dict[str, Extent] = {}
        for index, extent in zip(self.output.indices, self.output.shape, strict=True):
            found[self.names.index(index, (*taken, *found))] = extent
        return found

    def front(self) -> dict[str, Extent]:
        """The indices of the output's element."""
        return self.elements

    def narrowed(self, domain: Domain, cotangent: Term) -> tuple[Domain, Term]:
        """With the delta among the equalities of the sum."""
        while isinstance(cotangent, Guard) and is_const(cotangent.otherwise, 0):
            domain, cotangent = (*domain, *cotangent.conditions), cotangent.then
        return domain, cotangent

    def seed(self, definition: Definition) -> Term:
        """1 for the element itself, 0 for others."""
        here = [Affine.var(i) for i in self.indices[definition.name]]
        rows = [equals_zero(i - Affine.var(o)) for i, o in zip(here, self.elements, strict=True)]
        return self.algebra.guard(rows, self.algebra.one, self.algebra.zero)
