"""What tasks of other schedulers do, wherever they run: a block, a piece of a chunk, a join of two parts.

Tasks are small and pickled by value: of a function the text, from which each process takes it once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from tadc.apps.blocks.joining import JOIN
from tadc.toolkit.reporting import VERSION, CompileError, Diagnostic, Source, new_rlock
from tadc.toolkit.running import Function, function_of_text

#: Functions of this process, by text; so many are kept.
_functions: dict[str, Function] = {}
_KEPT = 256
_lock = new_rlock()


def function_here(text: str, version: str) -> Function:
    """The function of a text, in this process.

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
            _functions[text] = function_of_text(Source(text, "<block>"))
        return _functions[text]


@dataclass(frozen=True)
class BoxLayout:
    """How a box is made of pieces of chunks.

    `lengths` has of each dimension those of pieces, `pieces` the places of each in what a task gives; None
    stands for all of that.
    """

    lengths: tuple[tuple[int, ...], ...]
    pieces: tuple[tuple[slice, ...] | None, ...]

    def box(self, chunks: Sequence[Any], dtype: np.dtype[Any]) -> Any:
        """The box, of one chunk without a copy."""
        parts = [
            np.asarray(chunk) if piece is None else np.asarray(chunk)[piece]
            for piece, chunk in zip(self.pieces, chunks, strict=True)
        ]
        if len(parts) == 1:
            return parts[0]
        found = np.empty(tuple(map(sum, self.lengths)), dtype)
        for place, part in zip(product(*map(_consecutive, self.lengths)), parts, strict=True):
            found[place] = part
        return found


def _consecutive(lengths: Sequence[int]) -> list[slice]:
    stops = np.cumsum(lengths, dtype=int)
    return [slice(int(stop) - length, int(stop)) for length, stop in zip(lengths, stops, strict=True)]


@dataclass(frozen=True)
class StitchBox:
    """A task that makes a box of chunks."""

    layout: BoxLayout
    dtype: np.dtype[Any]

    def __call__(self, chunks: Sequence[Any]) -> Any:
        """The box."""
        return self.layout.box(chunks, self.dtype)


@dataclass(frozen=True)
class CutPiece:
    """A task that copies a piece out of a chunk, so that the chunk need neither move nor stay."""

    piece: tuple[slice, ...]

    def __call__(self, chunk: Any) -> Any:
        """The piece."""
        return np.array(np.asarray(chunk)[self.piece])


@dataclass(frozen=True)
class ComputeBlock:
    """A task that computes the results of a block: one array, or several in a tuple."""

    text: str
    version: str
    sizes: Mapping[str, int]
    layouts: Mapping[str, tuple[BoxLayout, np.dtype[Any]]]

    def __call__(self, *chunks: Sequence[Any]) -> Any:
        """The results, of the chunks of each argument."""
        f = function_here(self.text, self.version)
        boxes = {
            name: layout.box(some, dtype)
            for (name, (layout, dtype)), some in zip(self.layouts.items(), chunks, strict=True)
        }
        results = f(**boxes, **self.sizes)
        # The class of a named tuple is of this process.
        return tuple(map(np.asarray, results)) if len(f.outputs) > 1 else np.asarray(results)


@dataclass(frozen=True)
class JoinParts:
    """A task that joins two parts."""

    kind: str

    def __call__(self, one: Any, other: Any) -> Any:
        """Both together."""
        return np.asarray(JOIN[self.kind](one, other))
