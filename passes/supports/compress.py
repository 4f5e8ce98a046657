"""Tensors that are mostly 0, kept in boxes around their non-zeros.

A read of such a tensor is a read of the box that the element is in, under the rows that say so; those of
a sum over the index then bound its loops. An element in several boxes belongs to the first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from tadc.frontend.extents import Extent
from tadc.frontend.program import Definition, Program
from tadc.frontend.terms import Apply, Domain, Read, Term, bottom_up
from tadc.lattice.affine import ZERO, Affine, Constraint, box
from tadc.lattice.polyhedron import is_empty
from tadc.passes.supports.pattern import pattern_program
from tadc.passes.supports.sets import Supports
from tadc.passes.supports.support_boxes import Box, Sizes, boxes_around, full_box
from tadc.passes.terms.algebra import Algebra
from tadc.passes.terms.names import Names


@dataclass(frozen=True)
class Kept:
    """A tensor that holds the elements of another that are in a box and in none before it.

    `indices` are the names of its own dimensions, `at` the indices of the other as forms of them.
    """

    name: str
    indices: tuple[str, ...]
    box: Box
    at: tuple[Affine, ...]


@dataclass(frozen=True)
class Layout:
    """Which tensors keep the non-zeros of each definition."""

    tensors: Mapping[str, tuple[Kept, ...]]

    @staticmethod
    def of(program: Program) -> Layout:
        """The layout by the supports of all definitions."""
        names, supports = Names(program), Supports(pattern_program(program))
        sizes = Sizes.of(program)
        found: dict[str, tuple[Kept, ...]] = {}
        for definition in program.definitions:
            boxes = [full_box(definition.shape)]
            # The elements of a recurrence stay in one tensor, as they read each other.
            if definition.name in supports.definitions and definition.order is None:
                pieces = supports.of(definition.name)
                boxes = boxes_around(pieces, definition.indices, definition.shape, sizes)
            chosen = [definition.name, *(names.free(definition.name) for _ in boxes[1:])]
            found[definition.name] = tuple(
                _kept(definition, name, one, names) for name, one in zip(chosen, boxes, strict=True)
            )
        return Layout(found)


def _kept(definition: Definition, name: str, box: Box, names: Names) -> Kept:
    own: list[str] = []
    at: dict[str, Affine] = {}
    for index, side in zip(definition.indices, box.sides, strict=True):
        if side.is_plain:
            own.append(index)
        else:
            wish = "d" if side.extent != 1 else "at"
            own.append(names.index(wish, (*definition.indices, *own)))
        # An extent of 1 leaves the index no choice.
        offset = Affine.var(own[-1]) * side.step if side.extent != 1 or side.is_plain else ZERO
        at[index] = side.low.substitute(at) + offset
    return Kept(name, tuple(own), box, tuple(at.values()))


def compressed_program(program: Program, layout: Layout) -> Program:
    """The program whose definitions are those of a layout."""
    return _Compressor(program, layout).run()


@dataclass
class _Compressor:
    program: Program
    layout: Layout

    @cached_property
    def given(self) -> dict[str, Definition]:
        """The definitions by name."""
        return {d.name: d for d in self.program.definitions}

    def run(self) -> Program:
        """All definitions, in their boxes."""
        self.algebra = Algebra(self.program.terms)
        made = [
            self.definition(definition, kept, self.layout.tensors[definition.name][:n])
            for definition in self.program.definitions
            for n, kept in enumerate(self.layout.tensors[definition.name])
        ]
        return replace(self.program, definitions=tuple(made))

    def definition(self, old: Definition, kept: Kept, before: Sequence[Kept]) -> Definition:
        """The elements of a box that are in none before it."""
        terms, algebra = self.program.terms, self.algebra
        mapping = dict(zip(old.indices, kept.at, strict=True))
        body = bottom_up(terms.substitute(old.body, mapping), {}, self.read)
        facts = (*box(kept.indices, kept.box.shape), *self.program.size_facts())
        inside = box_rows(kept.at, old.shape)
        for other in before:
            rows, _ = other.box.coordinates(kept.at, old.indices)
            if not is_empty((*facts, *inside, *rows)):
                body = algebra.guard(rows, algebra.zero, body)
        body = algebra.guard(inside, body, algebra.zero)
        return replace(old, name=kept.name, shape=kept.box.shape, indices=kept.indices, body=body)

    def read(self, term: Term, below: list[Term]) -> Term:
        """A term over operands that are done; a read of the tensor that keeps the element.

        What is 0 outside of boxes leaves products, so that its rows reach the sum around.
        """
        match term:
            case Read() if term.tensor in self.given:
                return self.element(term)
            case Apply(function="mul" | "safe" | "div" | "add" | "sub" | "neg" as name) if any(
                new is not old for new, old in zip(below, term.operands, strict=True)
            ):
                return getattr(self.algebra, name)(*below)
            case _:
                return self.program.terms.rebuild(term, below)

    def element(self, read: Read) -> Term:
        """What is read, from the boxes that may hold it."""
        old = self.given[read.tensor]
        found: Term = self.algebra.zero
        for kept in reversed(self.layout.tensors[read.tensor]):
            rows, at = kept.box.coordinates(read.indices, old.indices)
            element = self.program.terms.read(kept.name, at, old.type, read.span)
            found = element if kept.box == full_box(old.shape) else self.algebra.guard(rows, element, found)
        return found


def box_rows(forms: Sequence[Affine], shape: Sequence[Extent]) -> Domain:
    """The rows that say that forms are indices of a tensor of a shape."""
    return tuple(
        Constraint(side) for form, size in zip(forms, shape, strict=True) for side in (form, size - 1 - form)
    )
