"""A random program with index arrays, from a seed.

Every index is below N, E or K, and so is every element of an index array: a form is put together of parts
that are in range, whatever the arrays hold. Their elements are drawn with the program, for the points that
its sums have.
"""

from __future__ import annotations

import math
import random
import re
from dataclasses import dataclass, replace

import numpy as np

from tests.fuzz.forms import RELATIONS, Division, Form, Lookup, Relation
from tests.fuzz.generate import Generator
from tests.fuzz.lanes import Lanes, below
from tests.fuzz.reads import Reads
from tests.fuzz.restyle import with_inferred_sums
from tests.fuzz.sized import lanes_at
from tests.fuzz.sized_tree import SizedDefinition, SizedProgram, Sizes, plus
from tests.fuzz.styles import PLAIN
from tests.fuzz.tree import Apply, Guard, IndexArray, Literal, Node, Read, Sum, text

ZERO = Form(())

#: Programs of a seed that are tried for one that has an index array.
ATTEMPTS = 64


def size(symbol: str) -> Form:
    """A size symbol, or an index, as a form."""
    return Form(((symbol, 1),))


def times(form: Form, factor: int) -> Form:
    """A multiple of a form."""
    return Form(tuple((atom, factor * c) for atom, c in form.terms), factor * form.constant)


#: Index arrays: the sizes that they are long and wide, and what they are indices of. `ptr` is increasing.
ARRAYS: dict[str, tuple[str, str]] = {
    "i": ("E", "N"),
    "j": ("E", "N"),
    "o": ("E", "N"),
    "p": ("N", "E"),
    "b": ("N", "K"),
    "q": ("NK", "N"),
    "r": ("EK", "N"),
    "m": ("NK", "E"),
    "s": ("", "N"),
    "ptr": ("N", "E"),
}


@dataclass(frozen=True)
class Dimension:
    """What an extent has room for: places below these sizes, times factors, and up to `room` more."""

    parts: tuple[tuple[str, int], ...]
    room: int = 0

    @property
    def extent(self) -> Form:
        """One more than the largest sum."""
        found = Form((), 1 + self.room)
        for symbol, c in self.parts:
            found = plus(found, times(size(symbol).shifted(-1), c))
        return found


#: Dimensions, and how often each is chosen.
DIMENSIONS: dict[Dimension, float] = {
    Dimension((("N", 1),)): 8,
    Dimension((("E", 1),)): 6,
    Dimension((("K", 1),)): 4,
    Dimension((("N", 1),), 2): 3,
    Dimension((("N", 2), ("K", 1)), 2): 3,
    Dimension((("N", 1), ("E", 1)), 1): 1.5,
    Dimension((("N", 1), ("N", 1)), 1): 1.5,
    Dimension((("E", 2),), 1): 1,
}


def sizes_of(rng: random.Random, small: bool) -> dict[str, int]:
    """Values of the sizes; now and then there are no edges, or not even nodes."""
    n = rng.choices(range(6), (0.6, 1, 3, 4, 3, 2))[0]
    e = rng.choices(range(9), (0.5, 1, 1, 2, 3, 3, 2, 1, 1))[0] if n else 0
    return {"N": min(n, 4) if small else n, "E": min(e, 5) if small else e, "K": rng.choice((1, 2, 2, 3))}


def index_arrays(rng: random.Random, sizes: Sizes) -> dict[str, IndexArray]:
    """Some of ARRAYS, with elements; there is none that would have to hold an index of nothing."""
    found: dict[str, IndexArray] = {}
    for name, (long, of) in ARRAYS.items():
        count = math.prod(sizes[symbol] for symbol in long)
        if (sizes[of] or not count) and (name in "ij" or rng.random() < 0.5):
            found[name] = _pointers(rng, sizes) if name == "ptr" else _array(rng, name, sizes)
    return found


def _array(rng: random.Random, name: str, sizes: Sizes) -> IndexArray:
    """Elements of any order; few of them different now and then, so that many are equal; or sorted."""
    long, of = ARRAYS[name]
    most = rng.choice((sizes[of], sizes[of], min(2, sizes[of])))
    shape = tuple(sizes[symbol] for symbol in long)
    values = np.array([rng.randrange(most) for _ in range(math.prod(shape))], np.int64)
    rises = name == "o" and rng.random() < 0.7
    values = (np.sort(values) if rises or (len(long) == 1 and rng.random() < 0.2) else values).reshape(shape)
    return IndexArray(tuple(map(size, long)), size(of), values, rises)


def _pointers(rng: random.Random, sizes: Sizes) -> IndexArray:
    """Where rows begin, some of them empty; the first need not begin at 0, nor the last end with E."""
    n, e = sizes["N"], sizes["E"]
    low, high = rng.choice((0, 0, e // 3)), rng.choice((e, e, 2 * e // 3))
    values = sorted(rng.randint(min(low, high), high) for _ in range(n + 1))
    if rng.random() < 0.6:
        values[0], values[-1] = 0, e
    return IndexArray((size("N").shifted(1),), size("E").shifted(1), np.array(values, np.int64), True)


class IndexedReads(Reads):
    """Reads of tensors whose extents are DIMENSIONS, at places that are in range."""

    def __init__(self, rng: random.Random, arrays: dict[str, IndexArray]) -> None:
        super().__init__(rng, PLAIN, large=False)
        self.arrays = arrays
        self.dimensions: dict[str, tuple[Dimension, ...]] = {}
        self.kinds: dict[str, str] = {}

    def tensor(self, name: str, dimensions: tuple[Dimension, ...]) -> None:
        """Have a tensor."""
        self.dimensions[name] = dimensions
        self.shapes[name] = (0,) * len(dimensions)

    def lookup(self, name: str, parts: tuple[Form, ...]) -> Form:
        """An element of an index array."""
        return Form(((Lookup(name, parts, self.arrays[name].values), 1),))

    def place(self, kind: str, lanes: Lanes, depth: int, avoid: str | None = None) -> Form | None:
        """A form from 0 to a size less 1, of indices in scope and lookups; None if there is none."""
        found = self.element(kind, lanes, depth, avoid)
        if found is not None and self.rng.random() < 0.06:
            return Form(((Division(self.rng.choice(("//", "%")), found, self.rng.choice((2, 3))), 1),))
        return found

    def element(self, kind: str, lanes: Lanes, depth: int, avoid: str | None = None) -> Form | None:
        """A place that is no quotient or remainder."""
        rng = self.rng
        names = [n for n in lanes.env if self.kinds.get(n) == kind and n != avoid]
        if names and (depth == 0 or rng.random() < 0.4):
            # The innermost index, which no other read may have used yet, more often.
            found = size(rng.choice([*names, names[-1]]))
            return plus(size(kind).shifted(-1), times(found, -1)) if rng.random() < 0.06 else found
        tables = [name for name in self.arrays if name != "ptr" and ARRAYS[name][1] == kind] if depth else []
        for name in rng.sample(tables, len(tables)):
            parts = [self.place(long, lanes, depth - 1, avoid) for long in ARRAYS[name][0]]
            known = tuple(part for part in parts if part is not None)
            if len(known) == len(parts):
                return self.lookup(name, known)
        return size(names[-1]) if names else None

    def before(self, lanes: Lanes) -> tuple[Relation, ...]:
        """Conditions: of the last an element is there where the first holds. None without one."""
        rng = self.rng
        names = [name for name in self.arrays if len(self.arrays[name].shape) == 1 and name != "ptr"]
        if not names:
            return ()
        long, of = ARRAYS[name := rng.choice(names)]
        place, value = self.place(long, lanes, 1), self.place(of, lanes, 1)
        if place is None or value is None:
            return ()
        first = rng.choice((Relation(">=", place, Form((), 1)), Relation("!=", place, ZERO)))
        op = rng.choice(("=", "=", *RELATIONS))
        return first, Relation(op, self.lookup(name, (place.shifted(-1),)), value)

    def any_place(self, lanes: Lanes, avoid: str | None = None) -> Form | None:
        """A place below any of the sizes."""
        kinds = self.rng.sample("NEK", 3)
        return next((f for kind in kinds if (f := self.place(kind, lanes, 2, avoid)) is not None), None)

    def form(self, lanes: Lanes, avoid: str | None = None) -> Form:
        """A combination of a place or two, which may be out of any range."""
        rng = self.rng
        found = Form((), rng.choice((0, 0, 0, 1, -1)))
        for c in rng.choice(((1,), (1,), (2,), (1, 1), (1, -1), (2, -1))):
            if (place := self.any_place(lanes, avoid)) is not None:
                found = plus(found, times(place, c))
        return found

    def in_range(self, dimension: Dimension, lanes: Lanes) -> Form | None:
        """A form in range of a dimension."""
        found = Form((), self.rng.randint(0, dimension.room))
        for symbol, c in dimension.parts:
            place = self.place(symbol, lanes, self.rng.choice((0, 1, 1, 1, 2, 3)))
            if place is None:
                return None
            found = plus(found, times(place, c))
        return found

    def read(self, lanes: Lanes, alone: str | None = None) -> Node:
        """An element of a tensor, if need be under a guard; a number where no tensor can be read."""
        rng = self.rng
        for tensor in sorted(self.dimensions, key=lambda name: rng.random() + (name in self.seen)):
            dimensions = self.dimensions[tensor]
            if dimensions and rng.random() < 0.1:
                return self.guarded(tensor, [self.form(lanes) for _ in dimensions], lanes)
            forms = [self.in_range(dimension, lanes) for dimension in dimensions]
            if len(set(dimensions)) == 1 and rng.random() < 0.25:
                forms = forms[:1] * len(forms)
            known = tuple(form for form in forms if form is not None)
            if len(known) == len(forms):
                self.seen.add(tensor)
                return Read(tensor, known)
        return Literal(0.75)

    def guarded(self, tensor: str, forms: list[Form], lanes: Lanes) -> Node:
        """A read under the guard that it is in range."""
        conditions: list[Relation] = []
        for form, dimension in zip(forms, self.dimensions[tensor], strict=True):
            conditions += [Relation(">=", form, ZERO), Relation("<", form, dimension.extent)]
        return Guard(tuple(conditions), Read(tensor, tuple(forms)), Literal(self.rng.choice((0.0, 1.0))))


class Indexed(Generator):
    """A program with index arrays that grows, expression by expression."""

    def __init__(self, rng: random.Random, small: bool, sizes: Sizes) -> None:
        super().__init__(rng, small)
        self.sizes = sizes
        self.points = 120 if small else 600
        self.arrays = index_arrays(rng, sizes)
        self.indexed = IndexedReads(rng, self.arrays)
        self.reads = self.indexed

    def indexed_program(self) -> SizedProgram:
        """The program."""
        rng = self.rng
        for name in rng.sample("xyzuvw", rng.choice((1, 2, 2, 3))):
            rank = rng.choices((0, 1, 2), (0.5, 6, 4))[0]
            drawn = rng.choices(list(DIMENSIONS), list(DIMENSIONS.values()), k=rank)
            self.indexed.tensor(name, (drawn[0],) * 2 if rank == 2 and rng.random() < 0.3 else tuple(drawn))
        arguments = {name: shape_of(found) for name, found in self.indexed.dimensions.items()}
        names = ("f", "g", "h")[: rng.choices((1, 2, 3), (6, 4, 2))[0]]
        definitions = [self._indexed_definition(name, last=name == names[-1]) for name in names]
        return SizedProgram(tuple(self.sizes), arguments, tuple(definitions), self._used(definitions))

    def _used(self, definitions: list[SizedDefinition]) -> dict[str, IndexArray]:
        """The arrays that definitions speak of."""
        bodies = "".join(f"{text(d.body)} " for d in definitions)
        words = set(re.findall(r"\w+", bodies))
        return {name: array for name, array in self.arrays.items() if name in words}

    def _indexed_definition(self, name: str, last: bool) -> SizedDefinition:
        rng = self.rng
        kinds = rng.choice(("", "N", "N", "E", "E", "K", "NK", "EK", "NN", "EN"))
        indices = tuple(f"{kind.lower()}{n}" for n, kind in enumerate(kinds))
        self.indexed.kinds |= dict(zip(indices, kinds, strict=True))
        dimensions = tuple(Dimension(((kind, 1),)) for kind in kinds)
        shape = shape_of(dimensions)
        body = self.body(lanes_at(indices, shape, [self.sizes]))
        shapes = {name: shape_of(found) for name, found in self.indexed.dimensions.items()}
        shapes |= {name: array.shape for name, array in self.arrays.items()}
        body = with_inferred_sums(body, shapes, rng)
        self.indexed.tensor(name, dimensions)
        is_output = last or rng.random() < 0.4
        return SizedDefinition(name, indices, shape, body, is_output)

    def _sum(self, lanes: Lanes, depth: int) -> tuple[Node, float]:
        node = self.rng.choice((self._whole, self._fibre, self._fibre, self._fibre, self._row))(lanes)
        inner, parents = below(lanes, node)
        innermost, body = inner, node
        if node.style == "joined":
            assert isinstance(node.body, Sum)
            innermost, places = below(inner, node.body)
            parents, body = np.append(parents, lanes.count)[places], node.body
        if innermost.active.sum() > self.points:
            return self.expression(lanes, depth)
        kind = self._kind(lanes, parents)
        inside, x = self.expression(innermost, depth)
        if self.rng.random() < 0.6:
            inside = Apply("mul", (self.reads.read(innermost), inside))
        body = replace(body, body=inside, kind=kind)
        if node.style == "joined":
            body = replace(node, body=body, kind=kind)
        return body, self._reduced(kind, x, lanes, parents)

    def _bound(self, kind: str, style: str = "size") -> Sum:
        """A sum over the indices below a size, the body still to come."""
        name = f"{kind.lower()}{len(self.indexed.kinds)}"
        self.indexed.kinds[name] = kind
        return Sum(name, (ZERO,), (size(kind).shifted(-1),), Literal(0.0), style)

    def _whole(self, lanes: Lanes) -> Sum:
        return self._bound(self.rng.choice("NEEK"))

    def _row(self, lanes: Lanes) -> Sum:
        """A sum between bounds that are looked up."""
        place = self.indexed.place("N", lanes, 1)
        if place is None:
            return self._whole(lanes)
        if "ptr" in self.arrays and self.rng.random() < 0.8:
            node = self._bound("E", "bounds")
            upper = self.indexed.lookup("ptr", (place.shifted(1),)).shifted(-1)
            return replace(node, lower=(self.indexed.lookup("ptr", (place,)),), upper=(upper,))
        if "b" in self.arrays:
            return replace(self._bound("K", "bounds"), upper=(self.indexed.lookup("b", (place,)),))
        return self._whole(lanes)

    def _fibre(self, lanes: Lanes) -> Sum:
        """A sum over what an index array, or two one after the other, maps to a place."""
        rng = self.rng
        names = [name for name in self.arrays if self.arrays[name].shape and name != "ptr"]
        if not names:
            return self._whole(lanes)
        name = rng.choice(names)
        long, of = ARRAYS[name]
        nodes = [self._bound(symbol, "size") for symbol in long]
        free = self._free(nodes, lanes)
        left = self.indexed.lookup(name, tuple(size(n.name) for n in nodes))
        if len(nodes) == 1 and rng.random() < 0.12:
            return self._stride(left, nodes[0], lanes)
        further = [n for n in names if ARRAYS[n][0] == of]
        if further and rng.random() < 0.25:
            then = rng.choice(further)
            left, of = self.indexed.lookup(then, (left,)), ARRAYS[then][1]
        where = [self._condition(left, of, lanes)]
        if rng.random() < 0.25:
            inner = self._inner(lanes, free)
            where.append(self._condition(self.indexed.form(inner), None, inner))
        if rng.random() < 0.12:
            where += self.indexed.before(self._inner(lanes, free))
        return self._with(nodes, free, tuple(where))

    def _stride(self, left: Form, node: Sum, lanes: Lanes) -> Sum:
        """A sum over the places of an element and a window that begins at twice its value."""
        window = self._bound("K")
        where = self._condition(plus(times(left, 2), size(window.name)), None, lanes)
        return self._with([node, window], [node, window], (replace(where, op="="),))

    def _free(self, nodes: list[Sum], lanes: Lanes) -> list[Sum]:
        """The indices of a sum that are not those around it: of two, one may be."""
        if len(nodes) == 2 and self.rng.random() < 0.4:
            kept = self.rng.randrange(2)
            outer = self.indexed.place(self.indexed.kinds[nodes[1 - kept].name], lanes, 0)
            if outer is not None and outer.name:
                nodes[1 - kept] = replace(nodes[1 - kept], name=outer.name)
                return [nodes[kept]]
        return list(nodes)

    def _inner(self, lanes: Lanes, nodes: list[Sum]) -> Lanes:
        for node in nodes:
            lanes, _ = below(lanes, node)
        return lanes

    def _condition(self, left: Form, of: str | None, lanes: Lanes) -> Relation:
        """A relation to a place around the sum, an equality mostly."""
        rng = self.rng
        reads = self.indexed
        right = reads.place(of, lanes, rng.choice((0, 0, 0, 1))) if of else reads.any_place(lanes)
        if right is None:
            right = Form((), rng.randrange(max(1, self.sizes[of])) if of else rng.randint(0, 3))
        op = "=" if of and rng.random() < 0.85 else rng.choice(list(RELATIONS))
        offset = rng.choice((0, 0, 0, 0, 0, 1, -1))
        return Relation(op, times(left, rng.choice((1, 1, 1, 1, 2))), right.shifted(offset))

    def _with(self, nodes: list[Sum], free: list[Sum], where: tuple[Relation, ...]) -> Sum:
        """A sum over one or two indices under conditions; their ranges may be left to be inferred."""
        if len(free) == 2:
            return replace(free[0], style="joined", body=replace(free[1], where=where))
        (node,) = free
        return replace(node, where=where)


def shape_of(dimensions: tuple[Dimension, ...]) -> tuple[Form, ...]:
    """The extents."""
    return tuple(dimension.extent for dimension in dimensions)


def generate(seed: int, *, small: bool = False) -> tuple[SizedProgram, Sizes]:
    """The program of a seed, and the values of its sizes for which its index arrays are."""
    for attempt in range(ATTEMPTS):
        rng = random.Random(seed + attempt / ATTEMPTS)
        sizes = sizes_of(rng, small)
        program = Indexed(rng, small, sizes).indexed_program()
        if program.arrays:
            return program, sizes
    raise AssertionError(f"no program of seed {seed} has an index array")
