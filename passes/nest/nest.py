"""The loop nest of a kernel, as data.

    for i0 = 0 to 512 step 6:
        at i = min(i0, 506)
        for j0 = 0 to 512 step 32:
            for i1 = 0 to 6 jam:
                for j1 = 0 to 32 step 16 jam:
                    for j2 = 0 to 16 lane:
                        %3 = sum k where 0 <= k <= 255: …
                        c[i + i1, j0 + j1 + j2] = %3

Scalars are those of a map (`passes/maps/map.py`); a nest says where they are computed. What stands in loops
of the kinds `jam` and `lane` is computed for all their points in lockstep, the loops of its reductions around
them: copies side by side, and vectors. So a nest keeps the order of every sum, whatever its loops are.
"""

from __future__ import annotations

from typing import Literal

from tadc.frontend.terms import Domain
from tadc.lattice.affine import Affine
from tadc.lattice.late_dataclasses import dataclass
from tadc.passes.maps.map import Block, TensorDecl

Kind = Literal["seq", "unroll", "jam", "lane", "grid", "block", "thread", "launch"]
"""One after the other; written out, each value a number; in lockstep, as copies and as lanes of a vector;
on a GPU divided among all threads, among blocks, among the threads of a block; a launch each."""

DIVIDED: tuple[Kind, ...] = ("grid", "block", "thread")

ON_GPU: tuple[Kind, ...] = (*DIVIDED, "launch")

Space = Literal["global", "stack", "shared", "register"]


@dataclass(frozen=True)
class Extreme:
    """The least or the greatest of forms."""

    which: Literal["min", "max"]
    forms: tuple[Affine, ...]


@dataclass(frozen=True)
class Either:
    """One form where all rows hold, else the other."""

    rows: Domain
    then: Affine
    otherwise: Affine


Bound = Affine | Extreme | Either


@dataclass(frozen=True)
class For:
    """The body for each value of an index from `start` on below `stop`, a `step` apart.

    Of a part of all values, tiles may `reach` from one form up to another, and compute elements of other
    parts again. It starts and stops at multiples of `group`. The threads that come to a `thread` loop are so
    many `teams`, each of which takes every so many values; a loop directly in it without teams is numbered
    with it.
    """

    index: str
    start: Bound
    stop: Bound
    step: int
    kind: Kind
    body: Body
    reach: tuple[Affine, Affine] | None = None
    group: int = 1
    teams: int = 0


@dataclass(frozen=True)
class If:
    """One body where all rows hold, else the other."""

    rows: Domain
    then: Body
    otherwise: Body = ()


@dataclass(frozen=True)
class At:
    """Names an index value for the statements that follow."""

    index: str
    value: Bound


@dataclass(frozen=True)
class Know:
    """Rows that hold for the statements that follow: what made the loops around has seen to it."""

    rows: Domain


@dataclass(frozen=True)
class Stage:
    """Room for a tensor of numbers for extents, for the statements that follow, which fill and read it."""

    tensor: TensorDecl
    space: Space


@dataclass(frozen=True)
class Store:
    """A value of a block goes to an element; past the caches where it `streams`.

    Where it `joins`, by the name of a reduction, it is joined with the element first, unless `fresh` holds.
    """

    tensor: str
    at: tuple[Affine, ...]
    value: str
    streams: bool = False
    joins: str = ""
    fresh: Domain = ()


@dataclass(frozen=True)
class Compute:
    """Evaluates a block, then stores values of it; those of the values of a loop, which are side by side in
    memory, together where they are `interleaved` along it.

    Only where the rows `within` hold: elsewhere in a tile what is next to an element is read, nothing stored.
    """

    block: Block
    stores: tuple[Store, ...]
    interleaved: str = ""
    within: Domain = ()


@dataclass(frozen=True)
class Call:
    """Runs another nest: over tensors in the place of its own, at values of its ranges; its sizes are those
    here that have their names, or these. Several `threads` may each take a part of the ranges. What it
    computes `once`, in the first of all calls, is kept until the last."""

    nest: str
    tensors: tuple[str, ...]
    ranges: tuple[Affine, ...] = ()
    sizes: tuple[Affine, ...] = ()
    threads: bool = False
    once: bool = False


Statement = For | If | At | Know | Stage | Compute | Call
Body = tuple[Statement, ...]


@dataclass(frozen=True)
class Nest:
    """A kernel: the tensors that it reads and writes, the sizes, further index arguments (`ranges`), what is
    known of all of these, and its statements. `computed` tensors are written, each element. On a GPU `block`
    threads make a block."""

    name: str
    tensors: tuple[TensorDecl, ...]
    sizes: tuple[str, ...]
    ranges: tuple[str, ...]
    known: Domain
    computed: tuple[str, ...]
    body: Body
    block: int = 0
