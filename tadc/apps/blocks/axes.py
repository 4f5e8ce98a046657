"""Which dimensions and sums of a program go along with an index of its outputs, as an axis of blocks.

An axis begins with the outputs that have an index of its name. A tensor that is read at `i + ...` goes along
with `i`, a cotangent with its output, and who reads such a tensor at its own or a sum's index, with it.
(So do Shardy's and GSPMD's shardings; here offsets do not matter, for blocks need not be equal.)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from tadc.apps.blocks.joining import JOIN
from tadc.toolkit.language import (
    Affine,
    Apply,
    Definition,
    Domain,
    Program,
    Read,
    Reduce,
    Select,
    Term,
    as_form,
    implied,
    operands,
    reachable,
)


def of_stored(program: Program) -> Program:
    """The program whose sparse tensors are those of what they store: tensors as others are."""
    return replace(
        program,
        arguments=tuple(replace(a, pattern=None) for a in program.arguments),
        definitions=tuple(replace(d, pattern=None) for d in program.definitions),
    )


@dataclass
class BlockAxis:
    """An index that is divided.

    `dims` has the dimension of each tensor that goes along with it, `sums` the index of reductions that do,
    by the number of the reduction's term; `extents` how far any of these goes.
    """

    name: str
    dims: dict[str, int] = field(default_factory=dict[str, int])
    sums: dict[int, int] = field(default_factory=dict[int, int])
    extents: list[Affine] = field(default_factory=list[Affine])

    def longest(self, known: Domain) -> Affine | None:
        """The extent that none of the others exceeds, where that is known."""
        for extent in self.extents:
            if all(implied(extent - other, known) for other in self.extents):
                return extent
        return None

    def extent(self, sizes: Mapping[str, int]) -> int:
        """How many places the longest that goes along has, at values of sizes."""
        return max(form.evaluate(sizes) for form in self.extents)

    def joins(self, reduction: Reduce, definition: Definition) -> bool:
        """Whether each element of a definition needs a reduction of it over all blocks."""
        d = self.dims.get(definition.name)
        return reduction.number in self.sums and (d is None or definition.indices[d] not in reduction.free)


@dataclass(frozen=True)
class _Use:
    """An index that reads a dimension which goes along: alone, or with something added."""

    alone: bool
    index: str


def axis_of(program: Program, name: str, others: Iterable[BlockAxis] = ()) -> BlockAxis | None:
    """All that goes along with an index of this name; None where nothing that may be divided
    has it.

    It does not begin with sums that go along with others.
    """
    taken = {found for other in others for found in other.sums.items()}
    axis = BlockAxis(name)
    having = [d for d in program.definitions if name in d.indices]
    outputs = [d for d in having if d.is_output]
    for definition in outputs or [d for d in having if d.order is not None]:
        axis.dims[definition.name] = definition.indices.index(name)
    if not axis.dims:
        for definition in program.definitions:
            for reduction in reductions_of(program, definition):
                place = reduction.hints.index(name) if name in reduction.hints else -1
                if place < 0 or (reduction.number, place) in taken:
                    continue
                binder = reduction.binders[place]
                extent = extents_of(reduction, program).get(binder)
                if extent is not None:
                    axis.sums[reduction.number] = place
                    _take_along_reads(program, reduction.body, binder, extent, axis)
    if not axis.dims and not axis.sums:
        return None
    _spread(program, axis)
    axis.extents = list(_how_far(program, axis))
    return axis


def axes_of(program: Program) -> list[BlockAxis]:
    """Axes along which a program may be divided at once: of indices of its outputs, then of its sums."""
    outputs = dict.fromkeys(index for d in program.outputs for index in d.indices)
    reductions = (r for d in program.definitions for r in reductions_of(program, d))
    sums = dict.fromkeys(hint for r in reductions for hint in r.hints if hint not in outputs)
    first = [axis for name in outputs if (axis := axis_of(program, name)) is not None]
    found = [axis for name in sums if (axis := axis_of(program, name, first)) is not None]
    kept: list[BlockAxis] = []
    for axis in (*first, *sorted(found, key=lambda axis: -len(axis.dims))):
        is_told = bool(axis.extents) and not any(form.has_lookups for form in axis.extents)
        if is_told and not any(axis.dims.items() & other.dims.items() for other in kept):
            kept.append(axis)
    return kept


def _how_far(program: Program, axis: BlockAxis) -> Iterator[Affine]:
    """The extents of all results that go along with an axis, and of sums."""
    for definition in program.definitions:
        if definition.name in axis.dims and (definition.is_output or definition.order is not None):
            yield as_form(definition.shape[axis.dims[definition.name]])
        for reduction in reductions_of(program, definition):
            if axis.joins(reduction, definition):
                yield extents_of(reduction, program)[reduction.binders[axis.sums[reduction.number]]]


def outer_reductions(term: Term) -> Iterator[Reduce]:
    """The reductions that are computed wherever a term is, and whose halves can be joined."""
    match term:
        case Reduce():
            if term.kind in JOIN:
                yield term
        case Apply() | Select():
            for part in operands(term):
                yield from outer_reductions(part)
        case _:
            pass


def reductions_of(program: Program, definition: Definition) -> Iterator[Reduce]:
    """The reductions of a definition that may be joined of parts: outer ones, and those in these.

    Of the latter those that depend on no index of others, as the maximum of a row in the sum over it.
    """
    outer = list(outer_reductions(definition.body))
    yield from outer
    own, known = {*definition.indices, *program.sizes}, {r.number for r in outer}
    for node in reachable(r.body for r in outer):
        if isinstance(node, Reduce) and node.kind in JOIN and node.number not in known and node.free <= own:
            yield node


def _spread(program: Program, axis: BlockAxis) -> None:
    """Let what reads, and what is read, go along, until nothing is new."""
    while True:
        before = len(axis.dims), len(axis.sums)
        for definition in (*reversed(program.definitions), *program.definitions):
            if definition.name in axis.dims:
                d = axis.dims[definition.name]
                extent = as_form(definition.shape[d])
                _take_along_reads(program, definition.body, definition.indices[d], extent, axis)
                _note_sums(program, definition, axis)
            else:
                _join_readers(program, definition, axis)
        for argument in program.arguments:
            if argument.cotangent_of in axis.dims:
                axis.dims.setdefault(argument.name, axis.dims[argument.cotangent_of])
        if before == (len(axis.dims), len(axis.sums)):
            return


def _take_along_reads(program: Program, body: Term, index: str, extent: Affine, axis: BlockAxis) -> None:
    """What is read at an index that goes along."""
    for read in _reads(body):
        for d, form in enumerate(read.indices):
            if form.coefficient(index) == 1:
                _take(program, axis, read.tensor, d, extent)


def _take(program: Program, axis: BlockAxis, tensor: str, dimension: int, extent: Affine) -> None:
    if tensor in axis.dims or not is_alike(extent, as_form(program.shapes()[tensor][dimension])):
        return
    axis.dims[tensor] = dimension


def _join_readers(program: Program, definition: Definition, axis: BlockAxis) -> None:
    """A definition, or sums in it, that reads what goes along: rather what reads it at an index alone."""
    sums = [] if _is_gathered(definition) else _note_sums(program, definition, axis)
    own = {index: as_form(size) for index, size in zip(definition.indices, definition.shape, strict=True)}
    uses = sorted(_uses(program, axis, _reads(definition.body), own), key=lambda use: not use.alone)
    if uses and (uses[0].alone or not any(use.alone for use in sums)):
        axis.dims[definition.name] = definition.indices.index(uses[0].index)


def _is_gathered(definition: Definition) -> bool:
    """Whether index arrays say which terms of sums belong to an element.

    Each block would have a part of all elements, most of which none of its terms belongs to.
    """
    own = {*definition.indices}
    domains = (node.domain for node in reachable([definition.body]) if isinstance(node, Reduce))
    return any(row.form.has_lookups and row.form.variables & own for rows in domains for row in rows)


def _note_sums(program: Program, definition: Definition, axis: BlockAxis) -> list[_Use]:
    """The sums of a definition that go along; how each reads what does."""
    found: list[_Use] = []
    for reduction in reductions_of(program, definition):
        uses = list(_uses(program, axis, _reads(reduction.body), extents_of(reduction, program)))
        if uses:
            use = min(uses, key=lambda use: not use.alone)
            axis.sums.setdefault(reduction.number, reduction.binders.index(use.index))
            found.append(use)
    return found


def extents_of(reduction: Reduce, program: Program) -> dict[str, Affine]:
    """How far the indices of a reduction go, by bounds of each that have no other index in them."""
    found: dict[str, Affine] = {}
    own = set(reduction.binders)
    for row in reduction.domain:
        for form in row.inequalities:
            names = form.variables & own
            name = next(iter(names), "")
            if len(names) == 1 and form.coefficient(name) == -1 and form.variables <= {name, *program.sizes}:
                found.setdefault(name, form + Affine.var(name) + 1)
    return found


def _uses(
    program: Program, axis: BlockAxis, reads: Iterable[Read], extents: dict[str, Affine]
) -> Iterator[_Use]:
    shapes = program.shapes()
    for read in reads:
        d = axis.dims.get(read.tensor)
        if d is None:
            continue
        form, size = read.indices[d], as_form(shapes[read.tensor][d])
        for index, extent in extents.items():
            if form.coefficient(index) == 1 and is_alike(extent, size):
                yield _Use(form.variable == index, index)


def _reads(term: Term) -> Iterator[Read]:
    return (node for node in reachable([term]) if isinstance(node, Read))


def is_alike(extent: Affine, other: Affine) -> bool:
    """Whether an index goes as far as a dimension but for a margin: not that of a window's weights."""
    left = extent - other
    if left.is_constant:
        return not other.is_constant or 2 * abs(left.constant) <= other.constant
    return bool(other.variables - left.variables)
