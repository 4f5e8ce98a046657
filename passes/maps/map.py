"""What maps compute, as data: indices, extents, and a body of named values.

    Map(tensors=(c,), indices=("i", "j"), extents=(512, 256), body=
        v1 = sum k where 0 <= k <= 63:
            v2 = a[i, k]
            v3 = b[k, j]
            v4 = v2 * v3
            v4
        v1)

Forms are over the indices of the map, those of the reductions around, and the sizes, by name: no index is
computed on the way. Names of indices and values are used once in a map. A block holds what is always
evaluated: what only a branch or a reduction needs is in its block, so that no element is read where its guard
does not hold.
"""

from __future__ import annotations

import math
from collections import ChainMap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain
from typing import Literal

from tadc.frontend.source import Place
from tadc.frontend.terms import Domain
from tadc.lattice.affine import ZERO, Affine, Constraint
from tadc.lattice.late_dataclasses import dataclass, field, replace

Type = str
"""`f32`, `f64`, `i1` for a condition, or `i32` for index arrays, which no value has."""


@dataclass(frozen=True)
class Constant:
    """A literal."""

    value: float
    type: Type


@dataclass(frozen=True)
class IndexNumber:
    """An index form as a number."""

    form: Affine
    type: Type


@dataclass(frozen=True)
class Load:
    """An element of a tensor; of vectors `along` a loop or the index of a reduction, transposed in
    registers."""

    tensor: str
    at: tuple[Affine, ...]
    type: Type
    along: str = ""


@dataclass(frozen=True)
class Applied:
    """A function of values: `add`, `exp`, … as in the language; `powi` with an integer `exponent`; `convert`;
    a relation, which gives a condition; `choose` by one. Other operations have upstream's name."""

    function: str
    operands: tuple[str, ...]
    type: Type
    exponent: int = 0


@dataclass(frozen=True)
class Choice:
    """The values of one block where all rows hold, else of the other, which alone is evaluated."""

    rows: Domain
    then: Block
    otherwise: Block
    type: Type


FoldLoop = Literal["seq", "unroll", "jam", "lane", "thread"]
"""One after the other, those of the last index written out too; in lockstep, as copies, as lanes, and by
threads of a GPU that meet then."""


@dataclass(frozen=True)
class Fold:
    """The values of a block, each reduced over the integer points of a set, in the order of the indices.

    The steps of the last index of one that is `unroll` are written out where they are a known number for all
    points of a tile, `together` at a time if that is not 0. Where its loop is one of copies or of lanes, it
    has one index, of a known number of values: the block is computed for all of them in lockstep. The
    results of copies are joined in order, those of lanes by halves. Where it is one of threads, each of
    these computes the block for one point, the last index running fastest; the results of each `warp` of
    them are joined by halves, those of warps in order.

    With `parts`, the loop over the last index that is in one of them, with those inside, runs for the points
    in the first part, then for those in the second, …, and the results carry on.

    It goes on from the values `first`, one for each result, else from that of the reduction over no point.
    Nothing uses its results where the condition `when` does not hold, if it has one: its loops may be left
    out there.
    """

    kind: str
    indices: tuple[str, ...]
    rows: Domain
    body: Block
    type: Type
    loop: FoldLoop = "seq"
    warp: int = 1
    together: int = 0
    parts: tuple[Domain, ...] = ()
    first: tuple[str, ...] = ()
    when: str = ""

    def over(self, indices: tuple[str, ...], rows: Domain, body: Block) -> Fold:
        """The fold over other indices."""
        return replace(self, indices=indices, rows=rows, body=body)

    @property
    def parted(self) -> str:
        """The index whose loop stands in parts, if one does."""
        named = {name for part in self.parts for row in part for name in row.form.variables}
        return next((index for index in reversed(self.indices) if index in named), "")

    def meeting(self, row: Constraint) -> str | None:
        """The last index in an equality, of which that says one value; None where it says none."""
        index = next((name for name in reversed(self.indices) if name in row.form.variables), "")
        k = row.form.coefficient(index)
        rest = row.form - Affine.var(index) * k
        return index if k and row.equality and index not in rest.variables else None

    @property
    def is_in_lockstep(self) -> bool:
        """Whether its block is computed for all values of its index at once."""
        return self.loop not in ("seq", "unroll")

    @property
    def is_in_tile(self) -> bool:
        """Whether the values of its index are copies or lanes."""
        return self.loop in ("jam", "lane")

    @property
    def counts(self) -> tuple[int, ...]:
        """How many values each index of a reduction in lockstep has, from 0 on."""
        stops = ([row.form + Affine.var(index) for row in self.rows if row.form.coefficient(index) == -1]
                 for index in self.indices)  # fmt: skip
        return tuple(min(stop.constant for stop in each if stop.is_constant) + 1 for each in stops)

    @property
    def count(self) -> int:
        """How many points a reduction in lockstep has."""
        return math.prod(self.counts)

    def mentioned(self) -> Iterator[Affine]:
        """What the set says, without the fold's own indices: what it depends on."""
        for row in (*self.rows, *chain.from_iterable(self.parts)):
            own = {index: Affine.const(0) for index in self.indices}
            yield row.form.substitute(own)


@dataclass(frozen=True)
class Ask:
    """Asks for the line of an element, which may be outside of its tensor, to be brought near.

    In a fold, before each step, or before all `every` steps of its innermost loop.
    """

    tensor: str
    at: tuple[Affine, ...]
    every: int = 1


Value = Constant | IndexNumber | Load | Applied | Choice | Fold | Ask


@dataclass(frozen=True)
class Let:
    """Names for what a value gives: one, or those of a fold of several."""

    names: tuple[str, ...]
    value: Value
    place: Place | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Block:
    """Values in order, each of what stands above, and the names of those that the block gives."""

    lets: tuple[Let, ...]
    gives: tuple[str, ...]

    def inner(self) -> Iterator[tuple[Let, Block]]:
        """The blocks directly in this one, with what they are in."""
        return ((let, block) for let in self.lets for block in blocks_of(let.value))

    def all_lets(self) -> Iterator[Let]:
        """Those of the block and of all in it, what is inside after what holds it."""
        for let in self.lets:
            yield let
            for block in blocks_of(let.value):
                yield from block.all_lets()

    def folds(self) -> Iterator[Fold]:
        """The reductions of the block and of all in it."""
        return (let.value for let in self.all_lets() if isinstance(let.value, Fold))

    def loads(self) -> Iterator[Load]:
        """The reads of the block and of all in it."""
        return (let.value for let in self.all_lets() if isinstance(let.value, Load))


def blocks_of(value: Value) -> tuple[Block, ...]:
    """The blocks of a value, in order."""
    match value:
        case Choice(then=then, otherwise=otherwise):
            return then, otherwise
        case Fold(body=body):
            return (body,)
        case _:
            return ()


def factors(value: Value) -> tuple[str, ...]:
    """Of a product its operands; of a square its base, twice; nothing of another value."""
    match value:
        case Applied(function="mul", operands=operands):
            return operands
        case Applied(function="powi", operands=(base,), exponent=2):
            return base, base
        case _:
            return ()


def addends(value: Value) -> tuple[str, ...]:
    """The operands of what is an addition."""
    return value.operands if isinstance(value, Applied) and value.function == "add" else ()


@dataclass(frozen=True)
class TensorDecl:
    """A tensor, by a name of its own in the function; `label` is for people. Extents are forms of sizes.

    One of the type `i32` is an index array, with elements from 0 to `below - 1` that lookups in forms have.
    They do not fall along its only dimension if it is `increasing`. Those of the `owner_of` such an array
    say which of its ranges a number is in, or how many there are where it is in none.
    """

    name: str
    type: Type
    shape: tuple[Affine, ...]
    label: str = field(default="", compare=False)
    place: Place | None = field(default=None, compare=False)
    below: Affine | None = None
    increasing: bool = False
    owner_of: str = field(default="", compare=False)
    elements: tuple[int, ...] = ()
    """Those of an index array, in order, if they are known."""


@dataclass(frozen=True)
class Window:
    """The steps of which a tensor in between has memory: the last `rows`, by turns in the same places.

    `weights` say which step an element belongs to: the sum of its subscripts, times these. The first
    subscript of weight 1 or -1 is the axis that counts steps in memory, modulo `rows`. After the window there
    is room for `saved` more steps.
    """

    rows: int
    weights: tuple[int, ...]
    saved: int = 0

    @property
    def axis(self) -> int:
        """The dimension that memory has for steps."""
        return next(n for n, weight in enumerate(self.weights) if abs(weight) == 1)

    def step(self, at: Sequence[Affine]) -> Affine:
        """The step of an element."""
        return sum((form * weight for form, weight in zip(at, self.weights, strict=True)), ZERO)

    def place(self, at: Sequence[Affine]) -> tuple[Affine, ...]:
        """Where an element is in memory."""
        return (*at[: self.axis], self.step(at).mod(self.rows), *at[self.axis + 1 :])

    def shape(self, extents: Sequence[Affine]) -> tuple[Affine, ...]:
        """The extents of the memory of a tensor of these."""
        return (*extents[: self.axis], Affine.const(self.rows + self.saved), *extents[self.axis + 1 :])


@dataclass(frozen=True)
class Tape:
    """How a map that runs along with a recurrence runs again, for a chain that goes back over its steps.

    So many states are saved in `slots`: of the map's tensor the last `depth` steps. To take step r of the
    chain of number `back`, all steps up to r + `ahead` are to be at hand, of which the last `fresh` ones are
    computed just before, for `block` steps of that chain at a time.
    """

    back: int
    slots: int
    depth: int
    ahead: int
    fresh: int
    block: int = 1


@dataclass(frozen=True)
class Sweep:
    """How a map runs along with a recurrence, some steps at a time.

    Of the values of its index number `index`, those run with step t of the recurrence for which t is
    `scale` times the value plus `offset`, or the next such step; all steps go `down` or up.
    """

    index: int
    scale: int = 1
    offset: int = 0
    down: bool = False

    def step(self, at: Sequence[Affine]) -> Affine:
        """The step with which the element at these subscripts is computed."""
        return at[self.index] * self.scale + self.offset

    @property
    def is_step(self) -> bool:
        """Whether the index counts steps."""
        return self.scale == 1 and not self.offset


@dataclass(frozen=True)
class Marks:
    """How a map is to be computed, where that is decided before its schedule.

    Maps of one `chain` run one after the other over `rows` rows at a time, which the index number `row`
    counts; with `steps` the first index counts steps of so many rows. On a GPU `blocks` says how many indices
    number rows, and the threads of a row and a block.
    `in_place`: the elements are those of another tensor but on a thin set, in its memory.
    `parts`: they are long parts of a reduction; `joined`: nothing long is left to do; `kept`: they are the
    same in all calls. `window`: of the tensors that nobody outside gets, the last steps are kept.
    With a `sweep`, maps of the chain run one after the other for `rows` steps of a recurrence at a time, and
    those with a `tape` run again for a chain that goes back over the steps. Without `rows` the second of two
    maps is computed at the points of the first one's sum.
    """

    chain: int | None = None
    rows: int = 0
    row: int = 0
    blocks: tuple[int, ...] = ()
    steps: bool = False
    in_place: bool = False
    parts: bool = False
    joined: bool = False
    kept: bool = False
    window: Window | None = None
    sweep: Sweep | None = None
    tape: Tape | None = None

    @property
    def at_sum(self) -> bool:
        """Whether two maps run together for the points of the first one's sum."""
        return self.chain is not None and not self.rows


@dataclass(frozen=True)
class Map:
    """Tensors of one shape, computed element by element: the body gives a value for each.

    With an `order`, a form of the indices, it is a recurrence: it reads elements of its own of less order.
    """

    tensors: tuple[TensorDecl, ...]
    indices: tuple[str, ...]
    extents: tuple[Affine, ...]
    body: Block
    order: Affine | None = None
    marks: Marks = Marks()
    place: Place | None = field(default=None, compare=False)

    def loads(self) -> Iterator[Load]:
        """All reads of the body."""
        return self.body.loads()

    @property
    def name(self) -> str:
        """The first tensor that it computes, by which it is known."""
        return self.tensors[0].name

    @property
    def names(self) -> tuple[str, ...]:
        """The tensors that it computes."""
        return tuple(tensor.name for tensor in self.tensors)

    @cached_property
    def read(self) -> frozenset[str]:
        """The tensors that it reads."""
        return frozenset(load.tensor for load in self.loads())


@dataclass(frozen=True)
class MapFunction:
    """The maps of a function in order; `results` name the tensors that it returns, one perhaps several times.

    `known` holds of the sizes in every call.
    """

    name: str
    arguments: tuple[TensorDecl, ...]
    sizes: tuple[str, ...]
    maps: tuple[Map, ...]
    results: tuple[str, ...]
    known: Domain = ()

    def tensors(self) -> Mapping[str, TensorDecl]:
        """All tensors by name: the arguments, then what maps compute."""
        return self._tensors

    def seen(self, tensors: Iterable[TensorDecl]) -> MapFunction:
        """The function where these tensors have other shapes, of as many elements."""
        made = replace(self)
        views = {tensor.name: tensor for tensor in tensors}
        # What was found out about all maps stays: each map may see the function in its own way.
        made.__dict__.update(
            _tensors=ChainMap(views, self._tensors), given=self.given, read_by_maps=self.read_by_maps
        )
        return made

    @cached_property
    def _tensors(self) -> dict[str, TensorDecl]:
        made = (tensor for item in self.maps for tensor in item.tensors)
        return {tensor.name: tensor for tensor in (*self.arguments, *made)}

    @cached_property
    def given(self) -> frozenset[str]:
        """The names of its arguments."""
        return frozenset(tensor.name for tensor in self.arguments)

    @cached_property
    def windows(self) -> Mapping[str, Window]:
        """The tensors of which the last steps alone are kept."""
        return {
            tensor.name: item.marks.window
            for item in self.maps
            for tensor in item.tensors
            if item.marks.window is not None and tensor.name not in self.results
        }

    @cached_property
    def read_by_maps(self) -> frozenset[str]:
        """The tensors that maps read, but for those that a map completes in place."""
        plain = (item for item in self.maps if not item.marks.in_place)
        return frozenset(name for item in plain for name in item.read)
