"""Intermediates that are mostly 0 are stored as boxes around their non-zeros: diagonals, bands, blocks.

If the Jacobians of intermediates are bands, the operations of a Jacobian are then linear in the elements of
these bands, not quadratic (`tests/passes/test_growth.py`).

A read of such a tensor becomes a read of the box that contains the element, under conditions; in a sum, these
conditions bound the loops. An element in several boxes belongs to the first.

A tensor that adds deltas and products of tensors with fewer indices becomes a formula where a sum reads it:

    dz[i, k] = if {i = k} then (a[k]) else (0) + u[i] * e[k],   df[i, d] = sum{k} (dz[i, k] * w[k, d])
    is  df[i, d] = a[i] * w[i, d] + u[i] * sum{k} (e[k] * w[k, d])

as in the Jacobian of a softmax, or of a subtracted mean.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial

from tadc.frontend.extents import Extent
from tadc.frontend.program import Definition, Program
from tadc.frontend.terms import (
    Apply,
    Domain,
    Guard,
    Read,
    Reduce,
    Select,
    Term,
    bottom_up,
    is_bound,
    operands,
)
from tadc.lattice.affine import ZERO, Affine, Constraint, box
from tadc.lattice.late_dataclasses import dataclass, field, replace
from tadc.lattice.polyhedron import is_empty
from tadc.passes.derivatives.cancel import cancel_program
from tadc.passes.supports.pattern import pattern_program
from tadc.passes.supports.sets import Supports
from tadc.passes.supports.support_boxes import Box, Sizes, boxes_around, full_box
from tadc.passes.terms.algebra import Algebra, chooses_zero, is_const
from tadc.passes.terms.collect import added, addends
from tadc.passes.terms.liveness import needed
from tadc.passes.terms.names import Names
from tadc.passes.terms.products import product_of
from tadc.passes.terms.simplify import simplify_program


@dataclass(frozen=True)
class KeptBox:
    """A tensor that holds the elements of another that are in a box and in none before it.

    `indices` are the names of its own dimensions, each for the side of the box that `sides` tells, and `at`
    the indices of the other as forms of them.
    """

    name: str
    indices: tuple[str, ...]
    box: Box
    sides: tuple[int, ...]
    at: tuple[Affine, ...]

    @property
    def shape(self) -> tuple[Extent, ...]:
        """The extents of its dimensions."""
        return tuple(self.box.shape[k] for k in self.sides)

    def coordinates(self, indices: Sequence[Affine], names: Sequence[str]) -> tuple[Domain, list[Affine]]:
        """The rows that hold of an element of the other in the box, and its indices here."""
        rows, found = self.box.coordinates(indices, names)
        return rows, [found[k] for k in self.sides]


@dataclass(frozen=True)
class Layout:
    """Which tensors keep the non-zeros of each definition."""

    tensors: Mapping[str, tuple[KeptBox, ...]]

    @staticmethod
    def of(program: Program, outputs: bool = True) -> Layout:
        """The layout by the supports of all definitions, or of those alone that are no `outputs`."""
        names, supports = Names(program), Supports(pattern_program(program))
        sizes = Sizes.of(program)
        found: dict[str, tuple[KeptBox, ...]] = {}
        for definition in program.definitions:
            boxes = [full_box(definition.shape)]
            # The elements of a recurrence stay in one tensor, as they read each other.
            may_be = definition.order is None and (outputs or not definition.is_output)
            if may_be and definition.name in supports.definitions:
                pieces = supports.of(definition.name)
                # What index arrays say is listed (`entries.py`).
                if not any(row.form.has_lookups for piece in pieces for row in piece.rows):
                    boxes = boxes_around(pieces, definition.indices, definition.shape, sizes)
            chosen = [definition.name, *(names.free(definition.name) for _ in boxes[1:])]
            found[definition.name] = tuple(
                _kept(definition, name, one, names) for name, one in zip(chosen, boxes, strict=True)
            )
        return Layout(found)

    @staticmethod
    def whole(program: Program) -> Layout:
        """The layout of tensors as they are."""
        names = Names(program)
        return Layout({d.name: (_kept(d, d.name, full_box(d.shape), names),) for d in program.definitions})


def _kept(definition: Definition, name: str, box: Box, names: Names) -> KeptBox:
    own: dict[int, str] = {}
    at: dict[str, Affine] = {}
    for k, (index, side) in enumerate(zip(definition.indices, box.sides, strict=True)):
        # An extent of 1 leaves the index no choice; callers know outputs by their dimensions.
        is_given = side.extent == 1 and not side.is_plain
        if side.is_plain:
            own[k] = index
        elif not is_given or definition.is_output:
            own[k] = names.index("at" if is_given else "d", (*definition.indices, *own.values()))
        offset = ZERO if is_given else Affine.var(own[k]) * side.step
        at[index] = side.low.substitute(at) + offset
    return KeptBox(name, tuple(own.values()), box, tuple(own), tuple(at.values()))


def without_zeros_between(program: Program) -> Program:
    """The program with the non-zeros alone of what is no output, simplified; it itself where these are all
    elements."""
    layout = Layout.of(program, outputs=False)
    given = {d.name: full_box(d.shape) for d in program.definitions}
    if any([kept.box for kept in layout.tensors[name]] != [box] for name, box in given.items()):
        program = simplify_program(cancel_program(compressed_program(program, layout)))
    if not any(map(adds_deltas, program.definitions)):
        return program
    opened = _Compressor(program, Layout.whole(program), opens=True).run()
    return simplify_program(cancel_program(opened))


def adds_deltas(definition: Definition) -> bool:
    """Whether a tensor in between adds deltas and products of factors that depend on fewer indices."""
    if definition.is_output or definition.order is not None or definition.type != definition.body.type:
        return False
    indices, parts = frozenset(definition.indices), addends(definition.body)
    others = [part for _, part in parts if not _is_delta(part, indices)]
    factors = (factor for part in others for factor in _factors(part))
    return 0 < len(others) < len(parts) and not any(factor.free >= indices for factor in factors)


def _is_delta(part: Term, indices: frozenset[str]) -> bool:
    """Whether a part is 0 but where an equality of indices holds."""
    return (
        isinstance(part, Guard)
        and is_const(part.otherwise, 0)
        and any(row.equality and len(row.form.variables & indices) > 1 for row in part.conditions)
    )


def _factors(part: Term) -> Sequence[Term]:
    """What a part is a product of, that is 0 where values compare otherwise."""
    if isinstance(part, Select) and is_const(part.otherwise, 0):
        return (part.lhs, part.rhs, *_factors(part.then))
    product = product_of(part)
    return (*product.over, *product.under)


def compressed_program(program: Program, layout: Layout) -> Program:
    """The program whose definitions are those of a layout."""
    return _Compressor(program, layout).run()


@dataclass
class _Compressor:
    """The definitions of a layout; with `opens`, what sums read of those that add deltas is their body."""

    program: Program
    layout: Layout
    opens: bool = False
    formulas: dict[str, Definition] = field(default_factory=dict[str, Definition])
    opened: bool = False

    @cached_property
    def given(self) -> dict[str, Definition]:
        return {d.name: d for d in self.program.definitions}

    def run(self) -> Program:
        """All definitions, in their boxes."""
        self.algebra, made = Algebra(self.program.terms), list[Definition]()
        for definition in self.program.definitions:
            tensors = self.layout.tensors[definition.name]
            made += (self.definition(definition, kept, tensors[:n]) for n, kept in enumerate(tensors))
            if self.opens:
                self.opened = True
                formula = definition.with_body(bottom_up(definition.body, {}, self.read))
                self.opened = False
                if adds_deltas(formula):
                    self.formulas[definition.name] = formula
        return replace(self.program, definitions=needed(made))

    def definition(self, old: Definition, kept: KeptBox, before: Sequence[KeptBox]) -> Definition:
        """The elements of a box that are in none before it."""
        terms, algebra = self.program.terms, self.algebra
        mapping = old.at(kept.at)
        body = bottom_up(terms.substitute(old.body, mapping), {}, self.read)
        facts = (*box(kept.indices, kept.shape), *self.program.size_facts())
        inside = box_rows(kept.at, old.shape)
        for other in before:
            rows, _ = other.coordinates(kept.at, old.indices)
            if not is_empty((*facts, *inside, *rows)):
                body = algebra.guard(rows, algebra.zero, body)
        body = algebra.guard(inside, body, algebra.zero)
        return replace(old, name=kept.name, shape=kept.shape, indices=kept.indices, body=body)

    def read(self, term: Term, below: list[Term]) -> Term:
        """A term over operands that are done; a read of the tensor that keeps the element.

        What is 0 outside of boxes leaves products and sums, so that its rows reach the sum around.
        """
        algebra = self.algebra
        changed = [n for n, old in enumerate(operands(term)) if below[n] is not old]
        if not changed:
            return self.element(term) if isinstance(term, Read) and term.tensor in self.given else term
        match term:
            case Apply(function="add" | "sub" as name):
                return getattr(algebra, name)(*below)
            case Apply(function="mul" | "safe" | "div" | "neg" as name):
                places = changed[:1] if name == "div" else changed
                place = next((n for n in places if in_guards(below[n])), changed[0])
                before, after = below[:place], below[place + 1 :]
                factor = getattr(algebra, name)
                return self.spread(below[place], lambda part: factor(*before, part, *after))
            case Reduce(kind="sum"):
                total = partial(algebra.sum, term.binders, term.domain, hints=term.hints, span=term.span)
                return self.spread(below[0], total)
            case _:
                return self.program.terms.rebuild(term, below)

    def spread(self, total: Term, linear: Callable[[Term], Term]) -> Term:
        """What is linear in a total, for each of its addends if some are 0 in one branch of a choice."""
        parts = addends(total) if in_guards(total) else [(False, total)]
        return added(self.algebra, [(sign, linear(part)) for sign, part in parts], self.algebra.zero)

    def element(self, read: Read) -> Term:
        """What is read, from the boxes that may hold it: all but the first that does hold 0 there."""
        algebra, old = self.algebra, self.given[read.tensor]
        if read.tensor in self.formulas and (self.opened or any(map(is_bound, read.free))):
            made = self.formulas[read.tensor]
            return self.program.terms.substitute(made.body, made.at(read.indices))
        found: Term = algebra.zero
        for kept in self.layout.tensors[read.tensor]:
            rows, at = kept.coordinates(read.indices, old.indices)
            element = self.program.terms.read(kept.name, at, old.type, read.span)
            is_whole = kept.box == full_box(old.shape)
            found = algebra.add(found, element if is_whole else algebra.guard(rows, element, algebra.zero))
        return found


def in_guards(term: Term) -> bool:
    """Whether a term adds up what is 0 in one branch of a choice."""
    return any(chooses_zero(part) for _, part in addends(term))


def box_rows(forms: Sequence[Affine], shape: Sequence[Extent]) -> Domain:
    """The rows that say that forms are indices of a tensor of a shape."""
    return tuple(
        Constraint(side) for form, size in zip(forms, shape, strict=True) for side in (form, size - 1 - form)
    )
