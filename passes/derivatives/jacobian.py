"""Jacobians: every partial derivative of every element, as expressions.

A Jacobian is what reverse mode gives for a cotangent that is a Kronecker delta, once for each element of
the output: the indices of that element go in front of all cotangents, and the delta is one more equality
for `tad-cancel-deltas` to solve. What it solves is where the Jacobian is not 0. Or it is what forward mode
gives for a tangent that is a delta, once for each element of the argument, whose indices go behind those of
all tangents.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property

from tadc.frontend.extents import Extent
from tadc.frontend.program import Argument, Definition, Program
from tadc.frontend.terms import Domain, Guard, Read, Term
from tadc.lattice.affine import Affine, equals_zero
from tadc.lattice.late_dataclasses import dataclass, replace
from tadc.passes.derivatives.forward import Forward, T
from tadc.passes.derivatives.kept_values import with_kept_values
from tadc.passes.derivatives.open_roots import with_open_roots
from tadc.passes.derivatives.reverse import ReverseMode
from tadc.passes.terms.algebra import is_const
from tadc.passes.terms.liveness import needed
from tadc.passes.terms.names import Names, gradient_indices


def jacobian_program(
    program: Program, wrt: Sequence[str], tangents: Collection[tuple[str, str]] = ()
) -> Program:
    """The Jacobian `df_dx` of each output f by each argument x in `wrt`, of shape `f.shape + x.shape`.

    That of an output and an argument in `tangents` is made in forward mode. The result takes the program's
    arguments and returns nothing else. `Definition.tangent_of` and `gradient_of` say of a Jacobian which
    output and which argument it belongs to.
    """
    opened = with_open_roots(program, wrt)
    kept = with_kept_values(opened.program, wrt)
    program = kept.program
    own = [d.between(d.name) for d in program.definitions]
    names = Names(program)
    named = {(o.name, a): names.free(f"d{o.name}_d{a}") for o in program.outputs for a in wrt}

    def returning(*outputs: str) -> Program:
        return replace(program, definitions=tuple(replace(d, is_output=d.name in outputs) for d in own))

    found: dict[str, Definition] = {}
    for output in program.outputs:
        others = [a for a in wrt if (output.name, a) not in tangents]
        one = _OutputJacobian(
            returning(output.name), tuple(others), seen_roots=opened.seen, values=kept.values
        )
        for made in one.of(output, names, named):
            found[made.name] = made
    for argument in program.arguments:
        outputs = [o.name for o in program.outputs if (o.name, argument.name) in tangents]
        if outputs:
            made = _ArgumentJacobian(returning(*outputs), (argument.name,))
            found |= {d.name: d for d in made.of(argument, names, named)}
    results = [found.pop(name) for name in named.values()]
    arguments = tuple(replace(a, cotangent_of="", tangent_of="") for a in program.arguments)
    definitions = needed([*own, *found.values(), *results])
    return replace(program, arguments=arguments, definitions=definitions, doubts=())


Named = Mapping[tuple[str, str], str]
"""The name of the Jacobian of an output by an argument."""


@dataclass
class _OutputJacobian(ReverseMode):
    """The Jacobian of the one output of a program."""

    def of(self, output: Definition, names: Names, named: Named) -> list[Definition]:
        """The Jacobians by all arguments, and what they read besides the program."""
        self.output = output
        self.start(names)
        made = self.derived({a: named[output.name, a] for a in self.wrt})
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
        return self.elements

    def narrowed(self, domain: Domain, cotangent: Term) -> tuple[Domain, Term]:
        """With the delta among the equalities of the sum."""
        while isinstance(cotangent, Guard) and is_const(cotangent.otherwise, 0):
            domain, cotangent = (*domain, *cotangent.conditions), cotangent.then
        return domain, cotangent

    def seed(self, definition: Definition) -> Term:
        here = [Affine.var(i) for i in self.indices[definition.name]]
        rows = [equals_zero(i - Affine.var(o)) for i, o in zip(here, self.elements, strict=True)]
        return self.algebra.guard(rows, self.algebra.one, self.algebra.zero)


@dataclass
class _ArgumentJacobian(Forward):
    """The Jacobians by the one argument, of all outputs of a program: a tangent for each of its elements."""

    def of(self, argument: Argument, names: Names, named: Named) -> list[Definition]:
        """The Jacobians, and what they read besides the program."""
        program, name = self.program, argument.name
        self.start(names)
        taken = [index for d in program.definitions for index in d.indices]
        for index, extent in zip(gradient_indices(program, names)[name], argument.shape, strict=True):
            self.lanes[names.index(index, (*taken, *self.lanes))] = extent
        results = {o.name: named[o.name, name] for o in program.outputs}
        self.tangent_of = {d: results.get(d) or names.free(f"d{d}_d{name}") for d in self.moving()}
        made = [self.definition(d) for d in program.definitions if d.name in self.tangent_of]
        return [replace(d, is_output=True, gradient_of=name) if d.tangent_of else d for d in made]

    def along(self, own: Sequence[T], lanes: Iterable[T]) -> tuple[T, ...]:
        """The element of the output, then that of the argument."""
        return (*own, *lanes)

    def read(self, read: Read) -> Term:
        """Of the argument, 1 for the element itself, 0 for others."""
        if read.tensor not in self.wrt:
            return super().read(read)
        rows = [equals_zero(form - Affine.var(i)) for form, i in zip(read.indices, self.lanes, strict=True)]
        return self.algebra.guard(rows, self.algebra.one, self.algebra.zero)
