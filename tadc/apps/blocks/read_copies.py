"""Tensors that are read along two indices, as bodies that attract each other are, under a name for each.

In `y[i] = sum{j} (k(x[i], x[j]))` a block along i needs all of x. With a copy of x in the sum, i and j are
two axes: a block of both needs two slices, and adds a part of the sum. Copies have the elements of what they
are copies of.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from tadc.apps.blocks.axes import BlockAxis, axis_of, reductions_of
from tadc.toolkit.language import (
    Affine,
    Argument,
    Definition,
    Names,
    Program,
    Read,
    Reduce,
    Term,
    bottom_up,
    reachable,
)


def read_apart(program: Program, names: Sequence[str] | None = None) -> tuple[Program, dict[str, str]]:
    """The program with copies of what sums along an axis read, and of which argument each new one is a copy.

    Where some `names` of indices are divided, one has to be that of the axis, and another that of its sums.
    """
    spoken = (hint for d in program.definitions for r in reductions_of(program, d) for hint in r.hints)
    outputs = (index for d in program.outputs for index in d.indices)
    for name in dict.fromkeys((*outputs, *spoken)) if names is None else names:
        axis = axis_of(program, name)
        sums = [] if axis is None else list(_sums(program, axis))
        hints = [s.hint for s in sums if names is None or (s.hint in names and s.hint != name)]
        if axis is not None and hints:
            return _Copier(program, axis, sums, hints[0]).copied()
    return program, {}


@dataclass(frozen=True)
class _SumOverAxis:
    """A sum over all of an axis for each place `own` along it, and which of its indices goes over it."""

    number: int
    place: int
    own: str
    hint: str


def _sums(program: Program, axis: BlockAxis) -> Iterator[_SumOverAxis]:
    for definition in program.definitions:
        for reduction in reductions_of(program, definition) if definition.order is None else ():
            place, d = axis.sums.get(reduction.number), axis.dims.get(definition.name)
            if place is None:
                continue
            own, places = reduction.binders[place], [n for n in range(len(reduction.binders)) if n != place]
            if d is not None and not axis.joins(reduction, definition):
                own, places = definition.indices[d], [place]
            for n in places:
                if _reads_alone(axis, reduction.body, reduction.binders[n], own):
                    yield _SumOverAxis(reduction.number, n, own, reduction.hints[n])


def _reads_alone(axis: BlockAxis, term: Term, index: str, own: str) -> bool:
    """Whether something along an axis is read at an index that has nothing to do with its own one."""
    reads = (t for t in reachable([term]) if isinstance(t, Read) and t.tensor in axis.dims)
    return any(_is_apart(read.indices[axis.dims[read.tensor]], index, own) for read in reads)


def _is_apart(form: Affine, index: str, own: str) -> bool:
    return form.coefficient(index) == 1 and not form.coefficient(own)


class _Copier:
    def __init__(self, program: Program, axis: BlockAxis, sums: Sequence[_SumOverAxis], hint: str) -> None:
        self.program, self.axis = program, axis
        self.sums = {s.number: s for s in sums}
        self.names = Names(program)
        indices = {index for d in program.definitions for index in d.indices}
        #: What the index of all sums is called.
        self.hint = self.names.free(hint) if hint in indices else hint
        self.tensors = {t.name: t for t in (*program.arguments, *program.definitions)}
        #: The copies of tensors.
        self.made: dict[str, Argument | Definition] = {}

    def copied(self) -> tuple[Program, dict[str, str]]:
        """The program, and of which argument each new one is a copy."""
        bodies = {d.name: self._apart(d) for d in self.program.definitions}
        definitions: list[Definition] = []
        for definition in self.program.definitions:
            definitions.append(definition.with_body(bodies[definition.name]))
            copy = self.made.get(definition.name)
            if isinstance(copy, Definition):
                definitions.append(copy)
        new = {name: copy for name, copy in self.made.items() if isinstance(copy, Argument)}
        arguments = (*self.program.arguments, *new.values())
        program = replace(self.program, arguments=arguments, definitions=tuple(definitions))
        return program, {copy.name: name for name, copy in new.items()}

    def _apart(self, definition: Definition) -> Term:
        """The body, whose sums read copies."""
        terms = self.program.terms

        def node(term: Term, below: list[Term]) -> Term:
            found = self.sums.get(term.number)
            if found is None or not isinstance(term, Reduce):
                return terms.rebuild(term, below)
            hints = [self.hint if n == found.place else hint for n, hint in enumerate(term.hints)]
            body = self._reading(below[0], term.binders[found.place], found.own)
            return terms.reduce_like(term, term.binders, term.domain, body, hints)

        return bottom_up(definition.body, {}, node)

    def _reading(self, term: Term, index: str, own: str = "") -> Term:
        """A term that reads copies along the axis at an index."""
        terms = self.program.terms

        def node(term: Term, below: list[Term]) -> Term:
            if isinstance(term, Read) and term.tensor in self.axis.dims:
                if _is_apart(term.indices[self.axis.dims[term.tensor]], index, own):
                    return terms.reread(term, self._copy(term.tensor))
            return terms.rebuild(term, below)

        return bottom_up(term, {}, node)

    def _copy(self, name: str) -> str:
        """The name of the copy of a tensor; its own, where there can be none."""
        tensor = self.tensors[name]
        if isinstance(tensor, Definition):
            if tensor.order is not None:
                return name
        elif tensor.is_index_array:
            return name
        if name not in self.made:
            own = self.names.free(name)
            if isinstance(tensor, Argument):
                self.made[name] = replace(tensor, name=own, cotangent_of="")
            else:
                # What its sums read are no copies: these go along with the axis.
                body = self._reading(tensor.body, tensor.indices[self.axis.dims[name]])
                self.made[name] = tensor.between(own, body=body, cotangent_of="")
        return self.made[name].name
