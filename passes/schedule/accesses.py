"""What a map's body does, piece by piece: reads with the stride of each index, operations, loops."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

from tadc.frontend.dtypes import COMPUTING
from tadc.frontend.functions import REDUCTIONS
from tadc.frontend.terms import Domain
from tadc.lattice.affine import Affine, Constraint, Lookup
from tadc.lattice.late_dataclasses import dataclass, field
from tadc.passes.maps.blocks import index_arrays, joined_by_factors
from tadc.passes.maps.closest_bounds import closest_bounds, counted_from, step_with
from tadc.passes.maps.map import (
    Applied,
    Ask,
    Block,
    Choice,
    Constant,
    Fold,
    IndexNumber,
    Let,
    Load,
    Map,
    MapFunction,
    TensorDecl,
    addends,
    blocks_of,
)
from tadc.passes.maps.row_reads import bytes_of
from tadc.passes.schedule.fibre_steps import steps_between
from tadc.passes.schedule.splits import WHOLE, Parts
from tadc.passes.terms.costs import ELEMENT, LARGE, extent
from tadc.passes.terms.index_ranges import Range, ranges_within

IRREGULAR = None
"""The stride of an index that moves an address by no fixed distance."""

GUARD, INDEX_NUMBER, LOOKUP = "guard", "index number", "lookup"
"""The names of operations that are no functions."""


@dataclass(frozen=True)
class ElementRead:
    """One element read, by the name of its value; `strides` in elements, for indices that the address depends
    on.

    It is `direct` where no guard of the loop's body stands around it. The indices of reductions move it by
    `step` elements at least; 0 if none does, or by no fixed distance.
    """

    name: str
    tensor: str
    strides: Mapping[str, int | None]
    direct: bool
    step: int = 0
    offset: int = 0
    """The elements from the first one to that where all indices are 0, of a tensor of known shape."""
    looked_up: frozenset[str] = frozenset()
    """The indices that move it by way of elements of index arrays."""

    @cached_property
    def names(self) -> frozenset[str]:
        """The indices that it depends on."""
        return frozenset(self.strides)


@dataclass(frozen=True)
class ScalarOperation:
    """An operation on scalars."""

    name: str
    names: frozenset[str]


@dataclass
class Loop:
    """A body: the map's, with trips of 1, or that of a reduction. Loops inside are `inner`."""

    fold: str = ""
    """The first name of the reduction."""
    kind: str = ""
    binders: Sequence[str] = ()
    trips: Sequence[int] = ()
    result: frozenset[str] = frozenset()
    """The indices from outside that the result depends on."""
    domain: frozenset[str] = frozenset()
    """Those that the domain depends on."""
    bounds: frozenset[str] = frozenset()
    """Those by which the bounds of the loops differ, where the map's index runs in its full part."""
    is_box: bool = True
    """Whether no bound of an index depends on another of them."""
    is_within_box: bool = True
    """Whether each index has bounds besides that depend on nothing that loops count."""
    results: int = 1
    """How many values it gives."""
    additions: int = 1
    """How many of those add up, or compare, what is no product, which would be added in one step."""
    is_counted: bool = True
    """Whether its values can be counted from the lower one of its closest bounds, by `counted_from`."""
    direct: bool = True
    """Whether no guard of the body around it stands around it."""
    reads: list[ElementRead] = field(default_factory=list[ElementRead])
    operations: list[ScalarOperation] = field(default_factory=list[ScalarOperation])
    inner: list[Loop] = field(default_factory=list["Loop"])

    @cached_property
    def counts(self) -> Mapping[ScalarOperation, int]:
        """How often each operation stands in the body, all of it being known."""
        return Counter(self.operations)

    @property
    def size(self) -> int:
        """The operations of this and the inner ones."""
        return len(self.reads) + len(self.operations) + sum(4 + loop.size for loop in self.inner)

    def below(self) -> Iterable[Loop]:
        """This and the inner ones at any depth."""
        yield self
        for loop in self.inner:
            yield from loop.below()


class Accesses:
    """The pieces of a map's body, for these extents or its own, where its loops run in parts. An index whose
    loop runs by residue counts its groups."""

    def __init__(
        self, item: Map, function: MapFunction, sizes: Sequence[Affine] = (), parts: Sequence[Parts] = ()
    ) -> None:
        self.parts = dict(zip(item.indices, parts or [WHOLE] * len(item.indices), strict=True))
        self.map, self.function, self.sizes = item, function, tuple(sizes or item.extents)
        self.in_steps = item.order is not None or item.marks.sweep is not None
        self.tensors = function.tensors()
        self.known = frozenset(function.sizes)
        self.names = list(item.indices)
        self.forms: dict[str, Affine] = {}
        self.deps: dict[str, frozenset[str]] = {}
        self.ranges: dict[str, Range | None] = {}
        for name, size in zip(self.names, self.sizes, strict=True):
            factor = self.parts[name].factor
            self.forms[name] = Affine.var(name) * factor
            self.deps[name] = frozenset([name])
            self.ranges[name] = Range(Affine.const(0), size.floordiv(factor) - 1)
        self.widest = max(ELEMENT[COMPUTING[tensor.type]] for tensor in item.tensors)
        self.lets = {name: let for let in item.body.all_lets() for name in let.names}
        self.body = Loop()
        self.guards = 0
        self.unlike: frozenset[str] = frozenset()
        """The indices with each value of which a reduction has bounds of its own, from an index array."""
        self.looked_up: set[Lookup] = set()
        self.block(item.body, self.body)

    @cached_property
    def key(self) -> tuple[object, ...]:
        """All that pieces follow from: what has an equal one has equal pieces."""
        names = (*dict.fromkeys(load.tensor for load in self.map.loads()), *index_arrays(self.map.body))
        used = tuple((self.tensors[name], name in self.function.given) for name in names)
        return self.map, self.sizes, tuple(self.parts.values()), self.known, used

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Accesses) and self.key == other.key

    def __hash__(self) -> int:
        return hash((self.map.names, self.sizes))

    @property
    def results(self) -> int:
        """How many tensors the map computes."""
        return len(self.map.tensors)

    def extent(self, name: str) -> int:
        """About how many values an index takes."""
        return extent(self.ranges[name])

    def is_known(self, name: str) -> bool:
        """Whether the number of values of an index is a number."""
        found = self.ranges[name]
        return found is not None and found.extent.is_constant

    def is_from_caller(self, read: ElementRead) -> bool:
        """Whether the tensor that is read is an argument."""
        return read.tensor in self.function.given

    def place(self, read: ElementRead) -> list[Affine]:
        """The forms of a read over what loops count."""
        value = self.lets[read.name].value
        assert isinstance(value, Load)
        return [self.form(form) for form in value.at]

    def has_unlike_bounds(self, loop: Loop) -> bool:
        """Whether elements of index arrays bound a reduction."""
        fold = self.lets[loop.fold].value
        assert isinstance(fold, Fold)
        return any(row.form.has_lookups for row in fold.rows)

    def bytes_of(self, read: ElementRead) -> int:
        """The bytes of an element that is read."""
        return ELEMENT[self.tensors[read.tensor].type]

    def block(self, block: Block, loop: Loop) -> frozenset[str]:
        """Take in a block; what its values depend on."""
        for let in block.lets:
            self.let(let, loop)
        return self.union(block.gives)

    def union(self, names: Iterable[str]) -> frozenset[str]:
        """What one of some values, or indices, depends on."""
        return frozenset[str]().union(*(self.deps.get(name, frozenset()) for name in names))

    def form(self, form: Affine) -> Affine:
        """A form over the values that loops count."""
        return form.substitute(self.forms)

    def let(self, let: Let, loop: Loop) -> None:
        """Take in a value."""
        names = frozenset[str]()
        match let.value:
            case Load() as load:
                self.look_up(load.at, loop)
                read = self.read(let.names[0], load)
                loop.reads.append(read)
                names = read.names
                self.widest = max(self.widest, ELEMENT[COMPUTING[load.type]])
            case Fold() as fold:
                names = self.fold(let.names, fold, loop)
            case Choice(rows=rows, then=then, otherwise=otherwise):
                self.look_up((row.form for row in rows), loop)
                names = self.union(sorted({name for row in rows for name in row.form.variables}))
                loop.operations.append(ScalarOperation(GUARD, names))
                self.guards += 1
                for branch in (then, otherwise):
                    names |= self.block(branch, loop)
                self.guards -= 1
            case IndexNumber(form=form):
                self.look_up((form,), loop)
                names = self.form(form).variables & frozenset(self.ranges)
                loop.operations.append(ScalarOperation(INDEX_NUMBER, names))
            case Applied(function=function, operands=operands):
                names = self.union(operands)
                loop.operations.append(ScalarOperation(function, names))
            case Constant() | Ask():
                pass
        self.deps |= dict.fromkeys(let.names, names)

    def look_up(self, forms: Iterable[Affine], loop: Loop) -> None:
        """Take in the elements of index arrays in forms, each once."""
        for lookup in dict.fromkeys(lookup for form in forms for lookup in form.lookups()):
            if lookup not in self.looked_up:
                self.looked_up.add(lookup)
                loop.operations.append(ScalarOperation(LOOKUP, self.union(sorted(lookup.variables))))

    def unshared(self, name: str, rows: Domain) -> frozenset[str]:
        """The indices with which the bounds of a binder move, but not all alike.

        Those that are no closest ones do not count: a split leaves them to the boundary.
        """
        pair = closest_bounds(name, rows)
        forms = pair or tuple(f for row in rows for f in row.inequalities if name in f.variables)
        if pair is not None:
            shift = step_with(name, rows, self.names)
            forms = tuple(f + shift * f.coefficient(name) for f in pair)
        return frozenset(v for form in forms for v in form.variables) & frozenset(self.ranges)

    def read(self, value: str, load: Load) -> ElementRead:
        """A read with the strides of its indices."""
        forms = [self.form(form) for form in load.at]
        shape = [n.constant if n.is_constant else LARGE for n in self.tensors[load.tensor].shape]
        strides: dict[str, int | None] = {}
        for name in sorted(frozenset[str]().union(*(f.variables for f in forms)) & frozenset(self.ranges)):
            total: int | None = 0
            step = 1
            for form, size in zip(reversed(forms), reversed(shape), strict=True):
                k = form.coefficient(name)
                if name in (form - Affine.var(name) * k).variables:
                    total = IRREGULAR
                    break
                total += k * step
                step *= size
            strides[name] = total
        inner = [abs(k or 0) for name, k in strides.items() if name not in self.names]
        offset, step = 0, 1
        for form, size in zip(reversed(forms), reversed(shape), strict=True):
            offset, step = offset + form.constant * step, step * size
        lookups = (lookup for form in load.at for lookup in form.lookups())
        looked_up = self.union(sorted({name for lookup in lookups for name in lookup.variables}))
        return ElementRead(
            value, load.tensor, strides, not self.guards, min(inner, default=0), offset, looked_up
        )

    def fold(self, values: tuple[str, ...], fold: Fold, loop: Loop) -> frozenset[str]:
        """Take in a reduction; what its result depends on."""
        if fold.when:
            return self.union([fold.when])
        binders = fold.indices
        rows = tuple(Constraint(self.form(row.form), row.equality) for row in fold.rows)
        self.ranges |= ranges_within(binders, rows, self.ranges, self.known)
        for name in binders:
            moved = step_with(name, rows, self.names)
            self.forms[name] = Affine.var(name) + moved
            self.deps[name] = frozenset([name, *moved.variables])
        trips = tuple(self.trips(name, rows) for name in binders)
        inside = {name for row in rows for lookup in row.form.lookups() for name in lookup.variables}
        self.unlike |= inside & self.ranges.keys()
        bounds = frozenset(v for name in binders for v in self.unshared(name, rows)) - set(binders)
        domain = frozenset(v for row in rows for v in row.form.variables) & frozenset(self.ranges)
        inner = Loop(values[0], fold.kind, binders, trips, domain=domain - set(binders), bounds=bounds)
        inner.results = len(values)
        joined = joined_by_factors(fold.body) if fold.kind == "sum" else ()
        # What adds up products is no addition of its own.
        less = sum(bool(addends(self.lets[name].value)) for name in joined)
        inner.additions = sum(name not in joined for name in fold.body.gives) - less
        inner.direct = not self.guards
        inner.is_counted = bool(binders) and counted_from(binders[-1], rows) is not None
        inner.is_box = all(len(row.form.variables & set(binders)) < 2 for row in rows)
        apart = [row for row in rows if len(row.form.variables & frozenset(self.ranges)) == 1]
        inner.is_within_box = all(
            {1, -1} <= {row.form.coefficient(name) for row in apart} for name in binders
        )
        loop.inner.append(inner)
        inner.result = (self.block(fold.body, inner) | inner.domain) - set(binders)
        if not REDUCTIONS[fold.kind].in_loops:
            # The exponentials of what an element is below the maximum are added up.
            given = [self.union([name]) for name in fold.body.gives]
            inner.operations += [
                ScalarOperation(function, names) for names in given for function in ("sub", "exp")
            ]
        return inner.result

    def trips(self, name: str, rows: Sequence[Constraint]) -> int:
        """About how many values an index of a reduction takes."""
        most = min(extent(self.ranges[name]), _distance(name, rows))
        between = steps_between(name, (row.form for row in rows), self.tensors)
        return most if between is None else min(most, between)


def shape_bytes(tensor: TensorDecl) -> int | None:
    """The bytes of a tensor; None where its shape depends on sizes."""
    return bytes_of(tensor) if all(size.is_constant for size in tensor.shape) else None


def _distance(name: str, rows: Sequence[Constraint]) -> int:
    """The most values between a lower and an upper bound that move together."""
    pair = closest_bounds(name, rows)
    if pair is None:
        return LARGE**3
    j, k = pair[0].coefficient(name), -pair[1].coefficient(name)
    return max(0, (pair[0] * k + pair[1] * j).constant // (j * k) + 1)


def operations_in(item: Map) -> int:
    """The number of operations of a map, itself and the ends of its blocks among them."""
    return 2 + sum(1 + len(blocks_of(let.value)) for let in item.body.all_lets())
