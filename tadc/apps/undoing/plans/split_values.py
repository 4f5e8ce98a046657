"""Values with a short dimension as a tensor for each index of it.

    y[b, i: 2] = if {i = 0} then (x[b, 0]) else (x[b, 1]*exp(s[b]))

becomes

    let x_0[b] = x[b, 0],  let x_1[b] = x[b, 1],  let y_0[b] = x_0[b],  let y_1[b] = x_1[b]*exp(s[b])
    y[b, i: 2] = if {i = 0} then (y_0[b]) else (y_1[b])

The first line and the last are permutations. Between them the partition into components finds the rows and
columns in an order in which the blocks of the Jacobian are triangular, and what of them is full.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from itertools import product
from math import prod

from tadc.apps.undoing.plans.graph import ValuePart
from tadc.toolkit.language import (
    Affine,
    Definition,
    Domain,
    Names,
    Program,
    Read,
    Reduce,
    Term,
    bottom_up,
    box,
    equals_zero,
    reachable,
    shape_at,
    tensors_read,
)
from tadc.toolkit.transforms import Algebra, Simplifier, elements, needed, without_copies

#: A value becomes at most so many tensors.
_MOST = 6


def in_parts(
    program: Program, wrt: Sequence[str], values: Mapping[str, int]
) -> tuple[Program, dict[str, ValuePart]] | None:
    """The program with some values in parts, which depend on the arguments `wrt`, and what each part is.

    They are in parts along short dimensions behind the first ones, `values` says how many. So are others of
    which one index is read. None where no dimension is short.
    """
    splitter = _ValueSplitter(without_copies(program), wrt)
    for name, first in values.items():
        if name in splitter.values:
            sizes = list(enumerate(splitter.shapes[name]))[first:]
            for dimension, _ in sorted(sizes, key=lambda item: item[1]):
                splitter.choose(name, dimension)
    return splitter.made() if splitter.chosen else None


@dataclass
class _ValueSplitter:
    """Values of a program, and along which of their dimensions they are in parts."""

    whole: Program
    inputs: Sequence[str]
    chosen: dict[str, tuple[int, ...]] = field(default_factory=dict[str, tuple[int, ...]])

    def __post_init__(self) -> None:
        self.terms, self.names = self.whole.terms, Names(self.whole)
        self.algebra = Algebra(self.terms)
        self.shapes = {name: shape_at(shape, {}) for name, shape in self.whole.shapes().items()}
        #: What depends on the inputs; an input is a definition that copies it.
        self.values: dict[str, Definition] = {}
        for a in self.whole.arguments:
            if a.name in self.inputs:
                indices = tuple(self.names.indices("i" for _ in a.shape))
                body = self.terms.read(a.name, list(map(Affine.var, indices)), a.type)
                self.values[a.name] = Definition(
                    a.name, a.type, a.shape, indices, body, pattern=a.pattern, span=a.span
                )
        for d in self.whole.definitions:
            if tensors_read([d.body]) & self.values.keys():
                self.values[d.name] = d

    def choose(self, name: str, dimension: int) -> None:
        """Choose a dimension of a value, if that makes few parts."""
        value, shape = self.values[name], self.shapes[name]
        chosen = sorted({*self.chosen.get(name, ()), dimension})
        is_plain = value.order is None and value.pattern is None
        if is_plain and shape[dimension] > 1 and prod(shape[n] for n in chosen) <= _MOST:
            self.chosen[name] = tuple(chosen)

    def made(self) -> tuple[Program, dict[str, ValuePart]]:
        """The program in parts, and what each part is."""
        bodies: dict[str, list[Term]] = {}
        for d in reversed(self.values.values()):
            bodies[d.name] = list(self._bodies(d))
            # A value of which one index is read is in parts too.
            for read in reachable(bodies[d.name]):
                if isinstance(read, Read) and read.tensor in self.values and read.tensor != d.name:
                    for n, form in enumerate(read.indices):
                        if form.is_constant:
                            self.choose(read.tensor, n)
        made: list[Definition] = []
        for d in (*(self.values[name] for name in self.inputs), *self.whole.definitions):
            made += self._in_parts(d, bodies[d.name]) if d.name in self.values else [d]
        parts = {
            part: ValuePart(name, dict(zip(self.chosen[name], place, strict=True)))
            for name, named in self.parts.items()
            for place, part in named.items()
        }
        return replace(self.whole, definitions=needed(made)), parts

    @cached_property
    def parts(self) -> dict[str, dict[tuple[int, ...], str]]:
        """The names of the parts of values, by their indices."""
        return {
            name: {place: self.names.free("_".join(map(str, (name, *place)))) for place in self._places(name)}
            for name in self.chosen
        }

    def _places(self, name: str) -> Iterator[tuple[int, ...]]:
        """The indices of the parts of a value."""
        return product(*(range(self.shapes[name][n]) for n in self.chosen.get(name, ())))

    def _bodies(self, d: Definition) -> Iterator[Term]:
        """The body of each part of a value."""
        for place in self._places(d.name):
            at = {
                d.indices[n]: Affine.const(k) for n, k in zip(self.chosen.get(d.name, ()), place, strict=True)
            }
            body = bottom_up(self.terms.substitute(d.body, at), {}, self._written_out)
            left = [(index, size) for index, size in zip(d.indices, d.shape, strict=True) if index not in at]
            yield Simplifier(self.terms).visit(body, box([i for i, _ in left], [size for _, size in left]))

    def _written_out(self, term: Term, below: list[Term]) -> Term:
        """A term; a sum over the parts of a value is written out."""
        made = self.terms.rebuild(term, below)
        if not isinstance(made, Reduce) or made.kind != "sum":
            return made
        over = {
            name
            for read in reachable([made.body])
            if isinstance(read, Read)
            for n in self.chosen.get(read.tensor, ())
            for name in read.indices[n].variables
        }
        found = elements(self.algebra, made, _MOST) if over & set(made.binders) else None
        return made if found is None else reduce(self.algebra.add, found)

    def _in_parts(self, d: Definition, bodies: Sequence[Term]) -> Iterator[Definition]:
        """The parts of a value, and the value as what they make up."""
        is_input = d.name in self.inputs
        made = bodies if is_input else [self.terms.with_reads(body, self._part) for body in bodies]
        if d.name not in self.chosen:
            yield from () if is_input else [d.with_body(made[0])]
            return
        rest = [n for n in range(len(d.shape)) if n not in self.chosen[d.name]]
        shape, indices = tuple(d.shape[n] for n in rest), tuple(d.indices[n] for n in rest)
        for name, body in zip(self.parts[d.name].values(), made, strict=True):
            yield d.between(name, shape=shape, indices=indices, body=body, cotangent_of="")
        if not is_input:
            whole = self._part(self.terms.read(d.name, d.own, d.type))
            assert whole is not None
            yield d.with_body(whole)

    def _part(self, read: Read) -> Term | None:
        """What is read of a part, in the place of a read of a value; None where that is whole."""
        chosen = self.chosen.get(read.tensor, ())
        forms = [read.indices[n] for n in chosen]
        if not chosen or any(True for form in forms for _ in form.lookups()):
            return None
        rest = [form for n, form in enumerate(read.indices) if n not in chosen]
        cases: list[tuple[Domain, Term]] = []
        for place, part in self.parts[read.tensor].items():
            apart = [form - k for form, k in zip(forms, place, strict=True)]
            if all(form == Affine.const(0) for form in apart if form.is_constant):
                rows = tuple(equals_zero(form) for form in apart if not form.is_constant)
                cases.append((rows, self.terms.reread(read, part, rest)))
        return self.algebra.first(cases[:-1], cases[-1][1]) if cases else None
