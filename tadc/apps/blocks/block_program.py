"""The program for one block of a stage: `i_at + i` in the place of `i`, over the slices that this reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

from tadc.apps.blocks.axes import BlockAxis
from tadc.apps.blocks.block_stages import BlockStage, Handed
from tadc.apps.blocks.block_stages import carried as carried_dimensions
from tadc.apps.blocks.reach import Hull, Reach, image
from tadc.toolkit.language import (
    Affine,
    Argument,
    Constraint,
    Definition,
    Domain,
    EliminationLimit,
    Floor,
    Lookup,
    Names,
    Program,
    Read,
    Reduce,
    Term,
    accesses,
    as_form,
    at_least_zero,
    bottom_up,
    box,
    extent,
    implied,
    print_program,
)
from tadc.toolkit.transforms import used_sizes


@dataclass(frozen=True)
class Slice:
    """The places of one dimension that a block has: `size` of them from `start` on."""

    start: Affine
    size: Affine


#: Of each dimension the slice, None for all of it.
Slices = tuple[Slice | None, ...]


@dataclass(frozen=True)
class Told:
    """Two sizes of a block program that the places which are read tell: where a slice begins and ends."""

    start: str
    size: str
    places: Hull
    extent: Affine

    def at(self, sizes: Mapping[str, int]) -> range:
        """The places, of those that there are: a hull over the rationals may go beyond them."""
        places, extent = self.places.at(sizes), self.extent.evaluate(sizes)
        start = min(max(0, places.start), extent)
        return range(start, max(start, min(places.stop, extent)))


@dataclass(frozen=True)
class ReadOfBlock:
    """What a block reads of one dimension of a tensor: an index form, where rows on indices and sizes hold.

    `reader` is the definition that reads it, by the indices of the whole program; `spoken` has what people
    call the indices of sums.
    """

    tensor: str
    dimension: int
    reader: str
    form: Affine
    where: Domain
    spoken: Mapping[str, str]


@dataclass(frozen=True)
class BlockSizes:
    """The sizes of a block program for where a block begins along an axis, and how many places it has."""

    axis: str
    start: str
    size: str


@dataclass(frozen=True)
class StepsBefore:
    """An argument of a block: the last steps of a recurrence in the blocks before it, or behind it.

    `slices` are the places of the tensor `of`; beyond its ends there is anything.
    """

    name: str
    of: str
    slices: Slices


@dataclass(frozen=True)
class BlockProgram:
    """The program of a block, and what it reads and computes.

    `slices` has the arguments and the outputs of the stage that is divided. `told` are sizes of the block
    program in the order in which those before tell them; all of them are told by the sizes of the stage and
    those of `along`. `known` holds of all sizes; `own` are those that one block does not share with the next.
    """

    program: Program
    known: Domain
    own: frozenset[str]
    along: tuple[BlockSizes, ...]
    slices: Mapping[str, Slices]
    #: What is computed of each tensor in between, or that is read beside its block: its name, and slices.
    between: Mapping[str, tuple[str, Slices]]
    told: tuple[Told, ...]
    sizes: tuple[str, ...]
    reads: tuple[ReadOfBlock, ...]
    before: tuple[StepsBefore, ...]

    @property
    def text(self) -> str:
        """The program as one writes it."""
        return print_program(self.program)

    def sizes_at(self, sizes: Mapping[str, int]) -> dict[str, int]:
        """All sizes, by those of the stage and of the axes."""
        found = dict(sizes)
        for told in self.told:
            places = told.at(found)
            found[told.start], found[told.size] = places.start, len(places)
        return found


#: What is sliced, most first: all dimensions of which a block reads a part, those where forms tell that part
#: whatever the sizes are, and results alone.
Slicing = Literal["told", "stated", "results"]
SLICING: tuple[Slicing, ...] = get_args(Slicing)


def divided(stage: BlockStage, slicing: Slicing = "told") -> BlockProgram:
    """The program of a block of a stage.

    A result that goes along with no axis is computed whole, in every block. Raises CompileError: TAD1002
    where elements of a recurrence need others along an axis.
    """
    return _Divider(stage, slicing).division()


class _Divider:
    """Goes through the definitions from the last one up: who reads a tensor says what is read of it."""

    def __init__(self, stage: BlockStage, slicing: Slicing) -> None:
        self.stage = stage
        self.slicing = slicing
        self.program = stage.program
        self.terms = stage.program.terms
        self.names = Names(stage.program)
        self.shapes = stage.program.shapes()
        self.sizes = list(stage.program.sizes)
        self.known: Domain = stage.program.size_facts()
        self.told: list[Told] = []
        self.reads: list[ReadOfBlock] = []
        self.slices: dict[str, Slices] = {}
        #: What is read of each dimension; None for all.
        self.read: dict[tuple[str, int], list[Reach | None]] = {}
        #: Tensors in between with more elements of an output than the block has, by the output.
        self.wider: dict[str, str] = {}
        self.handed = {handed.name: handed for handed in stage.handed}
        #: What blocks get of recurrences, by these.
        self.before: dict[str, StepsBefore] = {}
        self.along = {axis.name: self._along(axis) for axis in stage.axes}
        self.parts = {part.name: part for part in stage.parts}
        self.bodies = {d.name: self._in_block(d) for d in self.program.definitions}
        #: The sizes that one block does not share with the next.
        self.own = {name for along in self.along.values() for name in (along.start, along.size)}

    def division(self) -> BlockProgram:
        """The program and its slices."""
        for definition in reversed(self.program.definitions):
            self._slice(definition)
            self._note_reads(definition)
        for argument in self.program.arguments:
            self.slices[argument.name] = self._slices_read(argument)
        kept = (*self.program.arguments, *self.program.outputs)
        program = self._program()
        return BlockProgram(
            program,
            self.known,
            frozenset(self.own),
            tuple(self.along.values()),
            {tensor.name: self.slices[tensor.name] for tensor in kept},
            {
                d.name: (name := self.wider.get(d.name, d.name), self.slices[name])
                for d in self.program.definitions
                if not d.is_output or d.name in self.wider
            },
            tuple(self.told),
            program.sizes,
            tuple(self.reads),
            tuple(self.before.values()),
        )

    def _along(self, axis: BlockAxis) -> BlockSizes:
        """The sizes of an axis, and what holds of them."""
        along = BlockSizes(
            axis.name, self.names.free(f"{axis.name}_at"), self.names.free(f"{axis.name}_size")
        )
        start, size = Affine.var(along.start), Affine.var(along.size)
        self.sizes += [along.start, along.size]
        self.known += (at_least_zero(start), at_least_zero(size - 1))
        longest = axis.longest(self.known)
        if longest is not None:
            self.known += (at_least_zero(longest - start - size),)
        return along

    def _in_block(self, definition: Definition) -> Term:
        """The body, of a part over the block alone."""
        part, body = self.parts.get(definition.name), definition.body
        if part is None or not isinstance(body, Reduce):
            return body
        rows: list[Constraint] = []
        moved: dict[str, Affine] = {}
        for axis in self.stage.axes:
            if axis.name in part.axes:
                along = self.along[axis.name]
                binder = body.binders[axis.sums[body.number]]
                moved[binder] = Affine.var(binder) + Affine.var(along.start)
                rows += box([binder], [Affine.var(along.size)])
        old = [row.substitute(moved) for row in body.domain]
        needed = [row for row in old if row.equality or not implied(row.form, (*self.known, *rows))]
        inner = self.terms.substitute(body.body, moved)
        return self.terms.reduce_like(body, body.binders, (*rows, *needed), inner)

    def _slice(self, definition: Definition) -> None:
        """What a block has of a definition."""
        name = definition.name
        carried = frozenset(carried_dimensions(self.program, definition))
        if not definition.is_output:
            self.slices[name] = self._slices_read(definition, carried)
            return
        slices: list[Slice | None] = [None] * len(definition.shape)
        for axis in self.stage.axes:
            d = axis.dims.get(name)
            if d is None:
                continue
            slices[d] = self._output_slice(definition, axis, as_form(definition.shape[d]))
        self.slices[name] = tuple(slices)
        if name in self.handed:
            self._hand_on(definition, self.handed[name])
            return
        hulls = ((s, self._hull(name, d)) for d, s in enumerate(slices) if s is not None)
        if not all(hull is not None and hull.lies_in(s.start, s.size, self.known) for s, hull in hulls):
            self._widen(definition, carried)

    def _output_slice(self, definition: Definition, axis: BlockAxis, size: Affine) -> Slice:
        """What a block computes of a result: of a shorter one than others, the last blocks have less."""
        along = self.along[axis.name]
        start, length = Affine.var(along.start), Affine.var(along.size)
        if size == axis.longest(self.program.size_facts()):
            return Slice(start, length)
        own = Reach((), (start,), (start + length - 1, size - 1))
        return self._tell(f"{definition.name}_{axis.name}", Hull((own,)), size)

    def _widen(self, definition: Definition, carried: frozenset[int]) -> None:
        """Store more of an output than its block in a tensor that others read."""
        for d, part in enumerate(self.slices[definition.name]):
            s = part or Slice(Affine.const(0), as_form(definition.shape[d]))
            own = Reach((), (s.start,), (s.start + s.size - 1,))
            self.read.setdefault((definition.name, d), []).append(own)
        made = self.wider[definition.name] = self.names.free(definition.name)
        self.slices[made] = self._slices_read(definition, carried)

    def _hand_on(self, definition: Definition, handed: Handed) -> None:
        """Compute a block of a recurrence beside the steps that it needs of others."""
        name, d, steps = definition.name, handed.dimension, handed.steps
        own = self.slices[name][d]
        assert own is not None
        wide = Slice(own.start - (0 if handed.is_backward else steps), own.size + steps)
        first = own.start + own.size if handed.is_backward else wide.start
        made = self.wider[name] = self.names.free(name)
        self.slices[made] = tuple(wide if n == d else s for n, s in enumerate(self.slices[name]))
        before = self.names.free(f"{name}_{'behind' if handed.is_backward else 'before'}")
        kept = Slice(first, Affine.const(steps))
        slices = tuple(kept if n == d else s for n, s in enumerate(self.slices[name]))
        self.before[name] = StepsBefore(before, name, slices)
        self.slices[before] = slices

    def _with_steps(self, definition: Definition, wide: Definition) -> Definition:
        """The recurrence, which begins with steps of others: by the places of the whole."""
        before = self.before[definition.name]
        d = self.handed[definition.name].dimension
        kept, own = before.slices[d], Affine.var(definition.indices[d])
        assert kept is not None
        read = self.terms.read(before.name, definition.own, definition.type)
        rows = (at_least_zero(own - kept.start), at_least_zero(kept.start + kept.size - 1 - own))
        if self.handed[definition.name].is_backward:
            return wide.with_body(self.terms.guard(rows[:1], read, wide.body))
        return wide.with_body(self.terms.guard(rows[1:], read, wide.body))

    def _slices_read(self, tensor: Argument | Definition, whole: frozenset[int] = frozenset()) -> Slices:
        """The slices that those read which were looked at before."""
        hulls = {d: self._hull(tensor.name, d) for d in range(len(tensor.shape))}
        sliced = {d: hull for d, hull in hulls.items() if hull and self._is_sliced(tensor, d, hull, whole)}
        # Of the others only whether anything is read depends on the block: a box is empty in one dimension,
        # and slices that are all of the inner dimensions are read where they are, without a copy.
        sliced = {d: hull for d, hull in sliced.items() if hull.moves_with(self.own)} or sliced
        slices: list[Slice | None] = []
        for d in range(len(tensor.shape)):
            hull = sliced.get(d)
            if hull is None:
                slices.append(None)
                continue
            extent = as_form(tensor.shape[d])
            found = hull.interval(extent, self.known)
            wish = f"{tensor.name}_{d}" if len(sliced) > 1 else tensor.name
            if found is not None:
                slices.append(Slice(*found))
            else:
                slices.append(self._tell(wish, hull, extent) if self.slicing == "told" else None)
        return tuple(slices)

    def _is_sliced(
        self, tensor: Argument | Definition, dimension: int, hull: Hull, whole: frozenset[int]
    ) -> bool:
        if self.slicing == "results" or dimension in whole or not hull.depends_on(self.own):
            return False
        return not hull.is_all(as_form(tensor.shape[dimension]))

    def _hull(self, tensor: str, dimension: int) -> Hull | None:
        """What is read of a dimension; None for all of it, or for what nobody can tell."""
        images = self.read.get((tensor, dimension), [])
        known = [found for found in images if found is not None]
        return Hull(tuple(dict.fromkeys(known))) if len(known) == len(images) else None

    def _tell(self, wish: str, places: Hull, extent: Affine) -> Slice:
        """A slice of a dimension whose start and size are sizes of their own."""
        told = Told(self.names.free(f"{wish}_at"), self.names.free(f"{wish}_size"), places, extent)
        self.told.append(told)
        self.sizes += [told.start, told.size]
        self.own |= {told.start, told.size}
        start, size = Affine.var(told.start), Affine.var(told.size)
        self.known += (at_least_zero(start), at_least_zero(size), at_least_zero(extent - start - size))
        return Slice(start, size)

    def _note_reads(self, definition: Definition) -> None:
        """What the block's elements of a definition read."""
        name = definition.name
        slices = self.slices[name if name in self.handed else self.wider.get(name, name)]
        facts = (*self.known, *_box(definition, slices))
        within = definition.with_body(self.bodies[definition.name])
        spoken: dict[str, str] = {}
        for read, _, holds in accesses(self.program, self.shapes, within, facts, spoken):
            if read.dimension is None or read.tensor == definition.name:
                continue
            where = tuple(row for row in holds if row not in self.known)
            self.reads.append(
                ReadOfBlock(read.tensor, read.dimension, definition.name, read.form, where, spoken)
            )
            try:
                found = image(read.form, holds, self.sizes, self.known)
            except EliminationLimit:
                self.read.setdefault((read.tensor, read.dimension), []).append(None)
                continue
            kept = self.read.setdefault((read.tensor, read.dimension), [])
            if found is not None:
                kept.append(found)

    def _program(self) -> Program:
        """The program over slices."""
        made: list[Definition] = []
        for definition in self.program.definitions:
            wider = self.wider.get(definition.name)
            body = self.bodies[definition.name]
            whole = (definition if wider is None else definition.between(wider)).with_body(body)
            if definition.name in self.before:
                whole = self._with_steps(definition, whole)
            made.append(self._shifted(whole))
            if wider is not None:
                made.append(self._copied(definition, made[-1]))
        arguments = tuple(replace(a, shape=self._shape(a.name, a.shape)) for a in self.program.arguments)
        definitions = {d.name: d for d in self.program.definitions}
        for before in self.before.values():
            of = definitions[before.of]
            arguments += (Argument(before.name, of.type, self._shape(before.name, of.shape)),)
        program = replace(
            self.program,
            arguments=arguments,
            definitions=tuple(made),
            sizes=tuple(self.sizes),
            excluded=(),
        )
        used = used_sizes(program, arguments)
        return replace(program, sizes=tuple(name for name in self.sizes if name in used))

    def _shape(self, name: str, shape: Sequence[int | Affine]) -> tuple[int | Affine, ...]:
        slices = self.slices[name]
        return tuple(size if s is None else extent(s.size) for s, size in zip(slices, shape, strict=True))

    def _shifted(self, definition: Definition) -> Definition:
        """The definition by places of slices."""
        slices = self.slices[definition.name]
        at = {
            index: Affine.var(index) + s.start
            for index, s in zip(definition.indices, slices, strict=True)
            if s is not None
        }
        mover = _Mover(self, at)
        order = definition.order
        return replace(
            definition,
            shape=self._shape(definition.name, definition.shape),
            body=bottom_up(definition.body, {}, mover.node),
            order=None if order is None else order.substitute(at),
        )

    def _copied(self, definition: Definition, wide: Definition) -> Definition:
        """The block of an output, of which others need more."""
        own, all_of_it = self.slices[definition.name], self.slices[wide.name]
        at = [
            Affine.var(index) + (0 if s is None else s.start) - (0 if w is None else w.start)
            for index, s, w in zip(definition.indices, own, all_of_it, strict=True)
        ]
        return replace(
            definition,
            shape=self._shape(definition.name, definition.shape),
            body=self.terms.read(wide.name, at, wide.type),
            order=None,
        )

    def at(self, tensor: str, forms: Sequence[Affine]) -> tuple[str, tuple[Affine, ...]]:
        """Who has an element of a tensor, and where."""
        name = self.wider.get(tensor, tensor)
        slices = self.slices[name]
        return name, tuple(f if s is None else f - s.start for f, s in zip(forms, slices, strict=True))


@dataclass(frozen=True)
class _Mover:
    """Index forms by places of slices; `places` are those of the definition at hand."""

    divider: _Divider
    places: Mapping[str, Affine]

    def node(self, node: Term, below: list[Term]) -> Term:
        """A term over others that read slices."""
        terms = self.divider.terms
        if not isinstance(node, Read):
            return terms.rebuild(node, below, self.form)
        name, at = self.divider.at(node.tensor, [self.form(form) for form in node.indices])
        return terms.reread(node, name, at)

    def form(self, form: Affine) -> Affine:
        """An index form whose elements of index arrays are in their slices."""
        moved = form.substitute(self.places)
        return moved.replace(self._atom) if moved.has_lookups else moved

    def _atom(self, atom: str | Floor | Lookup) -> Affine | None:
        if not isinstance(atom, Lookup):
            return None
        inner = [form.replace(self._atom) if form.has_lookups else form for form in atom.at]
        return Affine.atom(replace(atom, at=self.divider.at(atom.array, inner)[1]))


def _box(definition: Definition, slices: Slices) -> tuple[Constraint, ...]:
    """What holds of the indices of a block's elements."""
    rows: list[Constraint] = []
    for index, size, s in zip(definition.indices, definition.shape, slices, strict=True):
        place = Affine.var(index)
        first = Affine.const(0) if s is None else s.start
        count = as_form(size) if s is None else s.size
        rows += [at_least_zero(place - first), at_least_zero(first + count - 1 - place)]
    return tuple(rows)
