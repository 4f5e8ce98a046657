"""A program as stages, of which each needs of those before it whole results alone.

What all elements of a result need from all blocks, as the sum below a softmax, is a part of each block in one
stage, joined, and an argument of the next.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from tadc.apps.blocks.axes import BlockAxis, outer_reductions, reductions_of
from tadc.toolkit.language import (
    Affine,
    Argument,
    Definition,
    Names,
    Program,
    Reduce,
    Term,
    accesses,
    all_proven,
    bottom_up,
    reachable,
    tensors_read,
)
from tadc.toolkit.reporting import CompileError, Diagnostic
from tadc.toolkit.transforms import needed

ZERO = Affine.const(0)


@dataclass(frozen=True)
class JoinedPart:
    """A result of a block that is joined with those of other blocks along some axes, by a reduction."""

    name: str
    kind: str
    axes: tuple[str, ...]


@dataclass(frozen=True)
class Handed:
    """A recurrence along an axis: a block begins with the last `steps` of those before it, or behind it."""

    name: str
    axis: str
    dimension: int
    steps: int
    is_backward: bool


@dataclass(frozen=True)
class BlockStage:
    """A program of which blocks are computed, the axes that divide it, and which of its results are parts.

    What is `handed` on is computed block after block.
    """

    program: Program
    axes: tuple[BlockAxis, ...]
    parts: tuple[JoinedPart, ...]
    handed: tuple[Handed, ...] = ()

    def goes_along(self, axis: BlockAxis) -> bool:
        """Whether results go along with an axis, or are parts of sums over it."""
        return any(d.name in axis.dims for d in self.program.outputs) or any(
            axis.name in part.axes for part in self.parts
        )


def stages(program: Program, axes: Sequence[BlockAxis]) -> list[BlockStage]:
    """The stages of a program along axes.

    Results have the names that they have in the program. What is joined and is no result has a name of its
    own, and is an argument of later stages.
    """
    found: list[BlockStage] = []
    left: Program | None = program
    while left is not None:
        stage, left = _Splitter(left, axes).split()
        found += _apart(stage)
    return found


def _apart(stage: BlockStage) -> Iterator[BlockStage]:
    """Stages of which all results go along with the same axes: none is computed once for each of others."""
    groups: dict[frozenset[str], set[str]] = {}
    for d in stage.program.outputs:
        over = {axis.name for axis in stage.axes if d.name in axis.dims}
        over.update(*(part.axes for part in stage.parts if part.name == d.name))
        groups.setdefault(frozenset(over), set()).add(d.name)
    for names in groups.values():
        own = (replace(d, is_output=d.name in names) for d in stage.program.definitions)
        yield BlockStage(
            _needed(replace(stage.program, definitions=tuple(own))),
            stage.axes,
            tuple(part for part in stage.parts if part.name in names),
            tuple(handed for handed in stage.handed if handed.name in names),
        )


class _Splitter:
    """The first stage of a program, and the program of what is left."""

    def __init__(self, program: Program, axes: Sequence[BlockAxis]) -> None:
        self.program = program
        self.names = Names(program)
        self.axes = tuple(axes)
        #: Tensors that need parts of all blocks.
        self.late: set[str] = set()
        self.parts: list[JoinedPart] = []
        self.handed: list[Handed] = []
        self.made: list[Definition] = []

    def split(self) -> tuple[BlockStage, Program | None]:
        """Both; no program where nothing is left."""
        later = [d for definition in self.program.definitions for d in self._later(definition)]
        first = _needed(replace(self.program, definitions=tuple(self.made)))
        return BlockStage(first, self.axes, tuple(self.parts), tuple(self.handed)), self._rest(
            later
        ) if later else None

    def _later(self, definition: Definition) -> list[Definition]:
        """What is left to define of a tensor once this stage is done."""
        if tensors_read([definition.body]) & self.late:
            self.late.add(definition.name)
            return [definition]
        along = [handed_on(self.program, definition, axis) for axis in self.axes]
        handed = [each for each in along if each is not None]
        if handed:
            self.late.add(definition.name)
            if len(handed) > 1:
                raise carried_along(definition, handed[1].dimension)
            if any(other.is_backward != handed[0].is_backward for other in self.handed):
                return [definition]
            self.handed += handed
            self.made.append(replace(definition, is_output=True))
            return []
        sums = self._sums(definition)
        if not sums:
            self.made.append(definition)
            return []
        self.late.add(definition.name)
        if (
            definition.body.number in sums
            and definition.is_output
            and definition.type == definition.body.type
        ):
            self._add_part(definition, sums[definition.body.number])
            return []
        terms = self.program.terms
        found: dict[int, Term] = {}
        for reduction, axes in sums.values():
            part = self._part(definition, reduction)
            self._add_part(part, (reduction, axes))
            found[reduction.number] = terms.read(part.name, part.own, part.type)

        def later(node: Term, below: list[Term]) -> Term:
            made = found.get(node.number) or terms.rebuild(node, below)
            for axis in self.axes:
                if node.number in axis.sums:
                    axis.sums.setdefault(made.number, axis.sums[node.number])
            return made

        return [definition.with_body(bottom_up(definition.body, {}, later))]

    def _part(self, definition: Definition, reduction: Reduce) -> Definition:
        """A reduction as a result of its own, with those of the definition's indices that it depends on."""
        name = self.names.free(f"{definition.name}_part")
        kept = [d for d, index in enumerate(definition.indices) if index in reduction.free]
        for axis in self.axes:
            if (d := axis.dims.get(definition.name)) in kept:
                axis.dims[name] = kept.index(d)
        part = definition.between(
            name,
            shape=tuple(definition.shape[d] for d in kept),
            indices=tuple(definition.indices[d] for d in kept),
            body=reduction,
            type=reduction.type or definition.type,
            order=None,
        )
        return replace(part, is_output=True, cotangent_of="")

    def _add_part(self, part: Definition, made_of: tuple[Reduce, tuple[str, ...]]) -> None:
        self.made.append(part)
        self.parts.append(JoinedPart(part.name, made_of[0].kind, made_of[1]))

    def _sums(self, definition: Definition) -> dict[int, tuple[Reduce, tuple[str, ...]]]:
        """The sums of a definition over all blocks of some axes, by number, with the axes.

        What is in others of them comes first.
        """
        if definition.order is not None:
            return {}
        found: dict[int, tuple[Reduce, tuple[str, ...]]] = {}
        outer = {reduction.number for reduction in outer_reductions(definition.body)}
        for reduction in reductions_of(self.program, definition):
            over = tuple(axis.name for axis in self.axes if axis.joins(reduction, definition))
            if over and (reduction.number in outer or self._may_stand_alone(definition, reduction)):
                found[reduction.number] = reduction, over
        inside = {n: {t.number for t in reachable([r.body])} for n, (r, _) in found.items()}
        return {n: each for n, each in found.items() if inside[n].isdisjoint(found)}

    def _may_stand_alone(self, definition: Definition, reduction: Reduce) -> bool:
        """Whether what a reduction in another one reads is in range wherever the definition has elements."""
        return all_proven(self.program, self.program.shapes(), definition.with_body(reduction))

    def _rest(self, later: Sequence[Definition]) -> Program:
        """The program of the definitions that wait for parts."""
        program = self.program
        stored = [d for d in self.made if d.is_output]
        made = {d.name for d in stored}
        arguments = [Argument(d.name, d.type, d.shape) for d in stored]
        between = [d for d in self.made if d.name not in made]
        return _needed(
            replace(program, arguments=(*program.arguments, *arguments), definitions=(*between, *later))
        )


def carried(program: Program, definition: Definition) -> dict[int, list[Affine]]:
    """The dimensions along which a recurrence reads other elements of itself: how far from its own."""
    found: dict[int, list[Affine]] = {}
    if definition.order is None:
        return found
    for read, _, _ in accesses(program, program.shapes(), definition):
        if read.dimension is None or read.tensor != definition.name:
            continue
        back = read.form - Affine.var(definition.indices[read.dimension])
        found.setdefault(read.dimension, []).append(back)
    return {d: several for d, several in found.items() if any(back != ZERO for back in several)}


def handed_on(program: Program, definition: Definition, axis: BlockAxis) -> Handed | None:
    """How a recurrence goes from block to block of an axis; None where none needs another.

    Raises CompileError (TAD1002) where blocks need more than some steps of those on one side.
    """
    dimension = axis.dims.get(definition.name)
    back = carried(program, definition).get(dimension, []) if dimension is not None else []
    if dimension is None or not back:
        return None
    steps = [form.constant for form in back]
    if not all(form.is_constant for form in back) or min(steps) < 0 < max(steps):
        raise carried_along(definition, dimension)
    return Handed(definition.name, axis.name, dimension, max(map(abs, steps)), max(steps) > 0)


def carried_along(definition: Definition, dimension: int) -> CompileError:
    """That each element of a recurrence needs others along a dimension, of which nobody knows how many."""
    own = definition.indices[dimension]
    others = [f"`{name}`" for name in definition.indices if name != own]
    return CompileError(
        [
            Diagnostic(
                "TAD1002",
                f"`{definition.name}` cannot be divided along `{own}`: its elements need others on both "
                "sides, or farther and farther away",
                helps=[f"divide along {' or '.join(others)}"] if others else [],
            )
        ]
    )


def _needed(program: Program) -> Program:
    """The program without what no result reads."""
    definitions = needed(program.definitions)
    read = tensors_read(d.body for d in definitions)
    arguments = tuple(a for a in program.arguments if a.name in read)
    return replace(program, definitions=definitions, arguments=arguments)
