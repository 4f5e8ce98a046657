"""A program as stages, of which each needs of those before it whole results alone.

What all elements of a result need from all blocks, as the sum below a softmax, is a part of each block in one
stage, joined, and an argument of the next.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tadc.apps.blocks.axes import BlockAxis, outer_reductions
from tadc.toolkit.language import (
    Argument,
    Definition,
    Names,
    Program,
    Reduce,
    Term,
    bottom_up,
    tensors_read,
)
from tadc.toolkit.transforms import needed


@dataclass(frozen=True)
class JoinedPart:
    """A result of a block that is joined with those of other blocks along some axes, by a reduction."""

    name: str
    kind: str
    axes: tuple[str, ...]


@dataclass(frozen=True)
class BlockStage:
    """A program of which blocks are computed, the axes that divide it, and which of its results are parts."""

    program: Program
    axes: tuple[BlockAxis, ...]
    parts: tuple[JoinedPart, ...]


def stages(program: Program, axes: Sequence[BlockAxis]) -> list[BlockStage]:
    """The stages of a program along axes.

    Results have the names that they have in the program. What is joined and is no result has a name of its
    own, and is an argument of later stages.
    """
    found: list[BlockStage] = []
    left: Program | None = program
    while left is not None:
        stage, left = _Splitter(left, axes).split()
        found.append(stage)
    return found


class _Splitter:
    """The first stage of a program, and the program of what is left."""

    def __init__(self, program: Program, axes: Sequence[BlockAxis]) -> None:
        self.program = program
        self.names = Names(program)
        self.axes = tuple(axes)
        #: Tensors that need parts of all blocks.
        self.late: set[str] = set()
        self.parts: list[JoinedPart] = []
        self.made: list[Definition] = []

    def split(self) -> tuple[BlockStage, Program | None]:
        """Both; no program where nothing is left."""
        later = [d for definition in self.program.definitions for d in self._later(definition)]
        first = _needed(replace(self.program, definitions=tuple(self.made)))
        return BlockStage(first, self.axes, tuple(self.parts)), self._rest(later) if later else None

    def _later(self, definition: Definition) -> list[Definition]:
        """What is left to define of a tensor once this stage is done."""
        if tensors_read([definition.body]) & self.late:
            self.late.add(definition.name)
            return [definition]
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
        body = bottom_up(
            definition.body, {}, lambda node, below: found.get(node.number) or terms.rebuild(node, below)
        )
        return [definition.with_body(body)]

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
        """The sums of a definition over all blocks of some axes, by number, with the axes."""
        if definition.order is not None:
            return {}
        found: dict[int, tuple[Reduce, tuple[str, ...]]] = {}
        for reduction in outer_reductions(definition.body):
            over = tuple(axis.name for axis in self.axes if axis.joins(reduction, definition))
            if over:
                found[reduction.number] = reduction, over
        return found

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


def _needed(program: Program) -> Program:
    """The program without what no result reads."""
    definitions = needed(program.definitions)
    read = tensors_read(d.body for d in definitions)
    stored = (*(a for a in program.arguments if a.name in read), *definitions)
    read |= {name for tensor in stored if tensor.pattern is not None for name in tensor.pattern.at}
    arguments = tuple(a for a in program.arguments if a.name in read)
    return replace(program, definitions=definitions, arguments=arguments)
