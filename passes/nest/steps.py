"""The steps of a schedule as data: each names a primitive and its arguments.

A schedule is a list of steps, applied in order to the plain nest of a map, which has a loop for each index:

    split i 6 overlap -> i0, i1      for i0 by 6: at i = min(i0, N - 6): for i1 = 0 to 6
    split j 32 overlap -> j0, j1
    split j1 16 -> j1, j2
    reorder j0 i0 i1 j1 j2
    jam i1 j1
    lane j2
    stage %2 inside j0 over k j1 j2

Loops are named by their index, reads and reductions by the first name of their `Let` in the map. A step
means all loops of a name: those before and after a full part too. No step changes the order in which the
elements of a reduction are joined but `Cut`, and, of indices of a reduction, `Reorder` and `Bind` to `jam`,
`lane` or `thread`; they depend on nothing that is known at run time alone, so results have the same
bits for every number of threads.
"""

from __future__ import annotations

from typing import Literal

from tadc.frontend.terms import Domain
from tadc.lattice.late_dataclasses import dataclass
from tadc.passes.maps.size_tests import SizeTest

Tail = Literal["exact", "overlap", "rest", "clip", "again", "guard", "branch"]
"""The last tile, where a factor does not divide the number of values:

- `exact`: it does.
- `overlap`: the last tile is moved back, and computes some elements again.
- `rest`: a second loop after that over whole tiles takes what is left as one tile, if that is a known number
  of values, else one by one.
- `clip`: the last tile has fewer values.
- `again`: as `overlap`, but the nest runs once for all whole tiles, and once more for the last one moved
  back: between blocks of a reduction no element may be in two tiles.
- `guard`: the last tile has points beyond the values, which store nothing.
- `branch`: whole tiles are in one branch of a condition, in the other the values of the last one, one by one.
"""

BoundKind = Literal["jam", "lane", "unroll", "grid", "block", "thread", "launch"]
Fill = Literal["vectors", "transpose", "gather", "threads"]
Ahead = Literal["rows", "vectors", "places"]
Near = Literal["shared", "register"]


@dataclass(frozen=True)
class Split:
    """A loop over `index` becomes one over tiles, `outer`, and one over the `factor` values of a tile,
    `inner`.

    An index of a reduction, of which all tiles but the last are whole, is split `exact` or `clip`. Where the
    threads of a block divide loops, its tiles begin at values that all of these know.
    Of a part of a known number of values that are fewer than a tile, tiles of vectors have no more vectors
    than that needs. With tail `overlap` a tile moved back ends where its part does: in a full part; elsewhere
    at the extent of the index.
    """

    TEXT = "split {index} {factor}[[ {tail=exact}]] -> {outer}, {inner}"
    index: str
    factor: int
    tail: Tail
    outer: str
    inner: str


@dataclass(frozen=True)
class Peel:
    """The values of `index` for which all `rows` hold, a full part, have a loop apart from those before and
    after it.

    The full part begins and ends at multiples of `factor`. It is empty where fewer than `room` groups of so
    many are in it. With `groups`, the parts before and after are in such groups too, but for what is left in
    the end. In these parts, other loops have full parts only if `all`.

    Of an index of a reduction, whose bounds may move with a tile, the full part is that which all points of
    the tile take in, with all steps of the loops inside that are a known number; where `rows` is an equality,
    it is that in which a point of the tile may meet it.
    """

    TEXT = (
        "peel {index}[[ where {rows@index=}]][[ by {factor}]][[ room {room}]][[ groups{groups}]][[ all{all}]]"
    )
    index: str
    rows: Domain
    factor: int = 1
    room: int = 1
    groups: bool = False
    all: bool = False


@dataclass(frozen=True)
class Shift:
    """Each point of a tile counts the steps of the loop over `index`, of a reduction, whose closest bounds
    move with the tile, from where its own begin: all points have as many. Where other bounds leave some out,
    steps are under masks."""

    TEXT = "shift {index}"
    index: str


@dataclass(frozen=True)
class Residues:
    """Where `index` is in groups of `factor` elements, it is `factor*outer + r`: a loop over the groups, and
    the body once for each r, written out; `inner` names this loop."""

    TEXT = "residues {index} {factor} -> {outer}, {inner}"
    index: str
    factor: int
    outer: str
    inner: str


@dataclass(frozen=True)
class Reorder:
    """Loops stand in this order, outermost first; they are directly in each other, or can be.

    Those of a reduction, of which all are named or some, change the order in which it joins its elements.
    """

    TEXT = "reorder {indices}"
    indices: tuple[str, ...]


@dataclass(frozen=True)
class Reverse:
    """A loop runs from the last value of its index down to 0."""

    TEXT = "reverse {index}"
    index: str


@dataclass(frozen=True)
class Join:
    """Two loops over the indices of a map, `second` directly in `first`, become one over all their pairs; so
    do two indices of a reduction.

    Tensors are seen with one dimension for two, whose elements are consecutive. It comes before other steps.
    """

    TEXT = "join {first}, {second} -> {joint}"
    first: str
    second: str
    joint: str


@dataclass(frozen=True)
class Bind:
    """Loops get a kind: `jam` and `lane` for lockstep, `unroll` is written out; `grid`, `block` and `thread`
    divide them on a GPU, `launch` makes a launch of each value.

    The innermost index of a reduction may be `unroll` too, where its bounds are a known number of steps
    apart: where all points of a tile have these, what steps and copies read at one place is read once. With a
    `factor`, which divides their number, so many are written out in a loop over the others. An
    index of a reduction may be `jam` or `lane`, where it has a known number of values from 0 on: each has a
    result of its own, and these are joined at the end, those of copies in order, those of lanes by halves.
    So may some indices of one be `thread`: a thread of a GPU for each of their points, of the last one's
    fastest. The results of `warp` consecutive threads at a time are joined by halves, those of warps in
    order; without it the threads are apart, between them those that compute neighbouring elements.

    The threads that come to a loop are so many `teams`, which divide it; a loop directly in it is divided
    with it.
    """

    TEXT = "{kind} {indices}[[ by {factor}]][[ teams {teams}]][[ warp {warp}]]"
    kind: BoundKind
    indices: tuple[str, ...]
    factor: int = 0
    teams: int = 0
    warp: int = 0


@dataclass(frozen=True)
class InBlocks:
    """Blocks of so many threads of a GPU run the nest."""

    TEXT = "in_blocks {threads}"
    threads: int


@dataclass(frozen=True)
class Cut:
    """A reduction runs in blocks of `steps` values of its `index`; `outer` is a loop over these, outside of
    all that stand so far. The results of a tile are in memory between two blocks: those of a block are
    joined with what is there, but for the first one's. It runs once at least.

    The indices of the reduction before `index` are cut already, one value at a time. With `inside`, the loop
    stands in that one, around all that is in it.
    """

    TEXT = "cut {fold:value} {index} {steps} -> {outer}[[ inside {inside}]]"
    fold: str
    index: str
    steps: int
    outer: str
    inside: str = ""


@dataclass(frozen=True)
class Scatter:
    """The sum `fold` is all that the loop over an index computes, and an equality of it says to which element
    a summand belongs. Each is computed once for the elements of a group, and added there.

    A group has the same bounds of the sum: it is a block of a number of elements, a fibre, or all; `outer` is
    the loop over these. Where the equality is of elements of index arrays, these are keys, and summands are
    added up in `room`, a number for each key, or `room` has what elements look for, and `room_of` which keys
    are of the group.
    """

    TEXT = "scatter {fold:value} {index} -> {outer}[[, {room}]]"
    fold: str
    index: str
    outer: str
    room: str = ""


@dataclass(frozen=True)
class StageRead:
    """A buffer for a read: the elements that it reads inside of the loop `inside` are copied to it first.

    The buffer is laid out `over` these loops and indices of reductions, the last one fastest; its elements
    begin at a line of the cache. `inside` is "" for the whole nest. `fill` says how it is copied: in vectors
    along the lanes, in squares that are transposed in registers, or lane by lane.

    By `threads` of a block of a GPU it is copied to memory that they share: what all of them read there, over
    all loops inside. `inside` is an index of the reduction that reads it then, or "" for all at once.
    """

    TEXT = "stage {read:value}[[ inside {inside=}]][[ over {over}]][[ by {fill}]]"
    read: str
    inside: str
    over: tuple[str, ...] = ()
    fill: Fill = "vectors"


@dataclass(frozen=True)
class Transpose:
    """The vectors of a read, whose lanes are far apart, are read along `index`, a loop of a few copies or the
    innermost index of a reduction, whose few steps are written out, and transposed in registers."""

    TEXT = "transpose {read:value} {index}"
    read: str
    index: str


@dataclass(frozen=True)
class Interleave:
    """Values that a loop `index` of copies or residues computes are stored side by side: vectors of them are
    interleaved in registers."""

    TEXT = "interleave {index}"
    index: str


@dataclass(frozen=True)
class Stream:
    """Vectors of these tensors are stored past the caches, where they are whole lines of them."""

    TEXT = "stream {tensors:tensors}"
    tensors: tuple[str, ...]


@dataclass(frozen=True)
class Prefetch:
    """Asks for lines that a read needs soon.

    `places`: where an index array says some steps later;
    `rows`: in steps of a line of the innermost loop of the reduction, for the next tile along the copies;
    `vectors`: in each step, for the next tile along the lanes.
    """

    TEXT = "prefetch {read:value} {how}"
    read: str
    how: Ahead


@dataclass(frozen=True)
class Threads:
    """Threads divide the values of one of these indices; of two, which is chosen by their numbers at run
    time.

    Ranges begin at multiples of a number of values for each.
    """

    TEXT = "threads {indices,grains:pairs}"
    indices: tuple[str, ...]
    grains: tuple[int, ...]


@dataclass(frozen=True)
class Rows:
    """A range of values of `index` is computed at a time, given from outside, `count` of them or more: tiles
    end where it does."""

    TEXT = "rows {index} {count}"
    index: str
    count: int


@dataclass(frozen=True)
class Points:
    """Only the points where `rows` hold are visited, in loops found by solving them.

    With a `step`, `rows` has one equation of it with a form of the indices, and it is a loop around all.
    """

    TEXT = "points[[ where {rows=}]][[ step {step}]]"
    rows: Domain
    step: str = ""


@dataclass(frozen=True)
class Fits:
    """Where one of these indices, whose extents are sizes, has fewer values than its number, the plain nest
    is computed instead."""

    TEXT = "fits {least:pairs}"
    least: tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class When:
    """The steps are for sizes of which all tests hold; for others the next steps of the map are. They make
    kernels of a GPU, of which one is launched."""

    TEXT = "when {tests}"
    tests: tuple[SizeTest, ...]


@dataclass(frozen=True)
class Flatten:
    """The map has one index, the place in memory: it reads scalars, and what has its shape at its place."""

    TEXT = "flatten {index}"
    index: str


@dataclass(frozen=True)
class MergeLoops:
    """Loops of as many turns, which stand beside each other, become one, the first of these: in each turn it
    runs what they run in it. They go along the rows of a chain of maps, which read no others' rows."""

    TEXT = "merge {indices}"
    indices: tuple[str, ...]


@dataclass(frozen=True)
class Room:
    """What a turn of the loop `inside` computes of some tensors is in memory that the threads of a block of a
    GPU share, or in registers of theirs; and elsewhere only where that is read."""

    TEXT = "stage {tensors:tensors} in {space} inside {inside}"
    tensors: tuple[str, ...]
    space: Near
    inside: str


Step = (
    Join | Split | Peel | Shift | Residues | Reorder | Reverse | Bind | InBlocks | Cut | Scatter |
    StageRead | Transpose | Interleave | Stream | Prefetch | Threads |
    Rows | Points | Fits | When | Flatten | MergeLoops | Room )  # fmt: skip

Steps = tuple[Step, ...]
