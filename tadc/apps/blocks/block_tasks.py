"""What tasks of other schedulers do, wherever they run: a block, a piece of a chunk, a join of two parts.

Tasks are small and pickled by value: of a function the text, from which each process takes it once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from math import prod
from typing import Any, NamedTuple

import numpy as np

from tadc.apps.blocks.block_places import Box, cut
from tadc.apps.blocks.block_plan import StepsOfOthers
from tadc.apps.blocks.carried_tasks import CarriedTask
from tadc.apps.blocks.joining import JOIN
from tadc.toolkit.reporting import VERSION, ArgumentError, CompileError, Diagnostic, Source, new_rlock
from tadc.toolkit.running import (
    Array,
    ChosenVersions,
    Function,
    Relation,
    function_of_text,
    new_array,
    sharing_threads,
)

#: Of each dimension the places.
Slices = tuple[slice, ...]

#: Functions of this process, by text; so many are kept.
_functions: dict[str, ChosenVersions] = {}
_KEPT = 256
_lock = new_rlock()


def function_here(text: str, lengths: Mapping[str, int], version: str = VERSION) -> Function:
    """The function of a text, in this process, for values of some of its sizes.

    Raises CompileError (TAD0802) where another version of tadc made the tasks.
    """
    if version != VERSION:
        message = f"the tasks were made by tadc {version}, and this process has {VERSION}"
        helps = ["install the same version on all workers and where the arrays are computed from"]
        raise CompileError([Diagnostic("TAD0802", message, helps=helps)])
    with _lock:
        if text not in _functions:
            if len(_functions) >= _KEPT:
                _functions.pop(next(iter(_functions)))
            _functions[text] = ChosenVersions(function_of_text(Source(text, "<block>")))
        found = _functions[text]
    return found.at(lengths)


@dataclass(frozen=True)
class BoxLayout:
    """How a box is made of pieces of chunks.

    `lengths` has of each dimension those of pieces, `pieces` the places of each in what a task gives; None
    stands for all of that.
    """

    lengths: tuple[tuple[int, ...], ...]
    pieces: tuple[Box | None, ...]

    def box(self, chunks: Sequence[Any], dtype: np.dtype[Any], within: Slices | None = None) -> Array:
        """The box, or what is within these places of it: of one chunk without a copy."""
        if within is None:
            within = tuple(slice(0, sum(lengths)) for lengths in self.lengths)
        shape = tuple(s.stop - s.start for s in within)
        found: Array | None = None
        for met in product(*map(_met, self.lengths, within)):
            n = 0
            for piece, lengths in zip(met, self.lengths, strict=True):
                n = n * len(lengths) + piece.number
            part, own = np.asarray(chunks[n]), self.pieces[n]
            part = part if own is None else cut(part, own)
            promised = tuple(lengths[piece.number] for piece, lengths in zip(met, self.lengths, strict=True))
            if part.shape != promised:
                message = f"a chunk has {part.shape} elements where its array promises {promised}"
                helps = ["what makes the array may say other `chunks=` than it gives, as of `map_blocks`"]
                raise ArgumentError([Diagnostic("TAD0503", message, helps=helps)])
            part = part[tuple(piece.own for piece in met)]
            if part.shape == shape and part.flags.c_contiguous:
                return part
            if found is None:
                found = new_array(shape, dtype, prod(shape) * dtype.itemsize)
            found[tuple(piece.places for piece in met)] = part
        return np.empty(shape, dtype) if found is None else found


class _PieceMet(NamedTuple):
    """Of the pieces along a dimension one that is met: what of it, and where that is."""

    number: int
    own: slice
    places: slice


def _met(lengths: Sequence[int], within: slice) -> list[_PieceMet]:
    """The pieces that some places meet."""
    found: list[_PieceMet] = []
    start = 0
    for n, length in enumerate(lengths):
        first, stop = max(within.start, start), min(within.stop, start + length)
        if first < stop:
            places = slice(first - within.start, stop - within.start)
            found.append(_PieceMet(n, slice(first - start, stop - start), places))
        start += length
    return found


@dataclass(frozen=True)
class StitchBox(CarriedTask):
    """A task that makes a box of chunks."""

    layout: BoxLayout
    dtype: np.dtype[Any]

    def __call__(self, chunks: Sequence[Any]) -> Any:
        """The box."""
        return self.layout.box(chunks, self.dtype)


@dataclass(frozen=True)
class CutPiece(CarriedTask):
    """A task that copies a piece out of a chunk, so that the chunk need neither move nor stay."""

    piece: Box

    def __call__(self, chunk: Any) -> Any:
        """The piece."""
        return np.array(cut(chunk, self.piece))


@dataclass(frozen=True)
class PartOfBlock:
    """Some places of a block: its sizes, those that a kernel is made for, where it is in boxes and results.

    `reads` and `writes` are empty where it is all of the block.
    """

    sizes: Mapping[str, int]
    lengths: Mapping[str, int]
    reads: Mapping[str, Slices] = field(default_factory=dict[str, Slices])
    writes: Mapping[str, Slices] = field(default_factory=dict[str, Slices])


@dataclass(frozen=True)
class ComputeBlock(CarriedTask):
    """A task that computes the results of a block: one array, or several in a tuple.

    `results` has their shapes and types, `parts` those parts of the block that are computed one by one;
    `arrays` and `before` are as those of a block's plan. `into` are arrays of this process that results are
    written to.
    """

    text: str
    version: str
    layouts: Mapping[str, tuple[BoxLayout, np.dtype[Any]]]
    results: Mapping[str, tuple[tuple[int, ...], np.dtype[Any]]]
    parts: Sequence[PartOfBlock]
    arrays: Mapping[str, Relation]
    before: Mapping[str, StepsOfOthers]
    into: Mapping[str, Array] = field(default_factory=dict[str, Array])

    def __call__(self, *chunks: Sequence[Any]) -> Any:
        """The results, of the chunks of each argument."""
        try:
            found = [
                self.into[name]
                if name in self.into
                else new_array(shape, dtype, prod(shape) * dtype.itemsize)
                for name, (shape, dtype) in self.results.items()
            ]
            with sharing_threads():
                for part in self.parts:
                    self._compute(part, chunks, dict(zip(self.results, found, strict=True)))
        except MemoryError as error:
            message = f"there is too little memory for a block: {error}"
            helps = ['give it fewer places: `chunks={"i": 1000}` of `f.dask`, or shorter chunks of arguments']
            raise ArgumentError([Diagnostic("TAD0506", message, helps=helps)]) from None
        # The class of a named tuple is of this process.
        return tuple(found) if len(found) > 1 else found[0]

    def _compute(self, part: PartOfBlock, chunks: Sequence[Any], results: Mapping[str, Array]) -> None:
        f = function_here(self.text, part.lengths, self.version)
        boxes = {
            name: layout.box(some, dtype, part.reads.get(name))
            for (name, (layout, dtype)), some in zip(self.layouts.items(), chunks, strict=True)
        }
        out = {
            name: array[*part.writes[name], ...] if part.writes else array for name, array in results.items()
        }
        boxes |= {name: steps.filled(boxes[name]) for name, steps in self.before.items()}
        f(**boxes, **self.arrays, **part.sizes, out=out)


@dataclass(frozen=True)
class JoinParts(CarriedTask):
    """A task that joins two parts."""

    kind: str

    def __call__(self, one: Any, other: Any) -> Any:
        """Both together."""
        return np.asarray(JOIN[self.kind](one, other))
