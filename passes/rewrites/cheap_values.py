"""Tensors for cheap values that several others compute, or one for several of its elements.

    f[i, k] = (x[i, k] - m[i])**2,  g[i] = sum{k} (w[k] * (x[i, k] - m[i])**2)
    is  let h[i, k] = (x[i, k] - m[i])**2,  f[i, k] = h[i, k],  g[i] = sum{k} (w[k] * h[i, k])

where no derivative follows. `uses * cost > cost + store + uses * load` says whether it pays, as for expensive
values, and besides: the tensor has room in the nearest cache, for from further away an element comes later
than it is computed; and it saves a part of all operations, for more tensors are more code. What tensors of
one shape compute at their own indices is computed once anyway, where they are fused. What reads elements that
are anywhere may have a tensor of any size, if that is no more to read from than these.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from tadc.frontend.extents import Shape
from tadc.frontend.program import Definition, Program
from tadc.frontend.terms import (
    Apply,
    Const,
    Read,
    Select,
    Term,
    bottom_up,
    operands,
    reachable,
    tensors_read,
)
from tadc.lattice.affine import Affine
from tadc.passes.rewrites.moves import Key, Mover, in_order
from tadc.passes.rewrites.places import Place, Places, PlaceWalk
from tadc.passes.terms.costs import (
    ACCESS,
    CACHED_BYTES,
    ELEMENT,
    FIRST,
    NODES,
    SCATTERED,
    WORTH_CODE,
    Costs,
    about,
    bytes_of,
    points,
    weight,
)
from tadc.passes.terms.inspected_arrays import Arrays
from tadc.passes.terms.names import Names

#: Bytes of a tensor that stays in the nearest cache.
NEAR = FIRST // 2


def share_cheap_values(program: Program, limit: int | None) -> Program:
    """The program with tensors for cheap values; it itself where none is worth one."""
    if sum(1 for _ in reachable([d.body for d in program.definitions])) > NODES // 8:
        return program
    sharing = Sharing(program, limit)
    sharing.survey()
    return sharing.moved()


_Place = tuple[tuple[object, ...], tuple[Affine, ...]]
"""A shape, or a definition with indices of its sums, and an element over these or over `?0`, `?1`, …"""


@dataclass
class Value:
    """How often a value is evaluated and at which indices of tensors of which shapes, what one and all
    evaluations take, and what reads of a tensor in their place do."""

    cost: int
    operations: int
    elements: int
    times: int = 0
    spent: int = 0
    loads: int = 0
    together: set[_Place] = field(default_factory=set["_Place"])

    def pays(self) -> bool:
        """Whether a tensor for it does."""
        return self.spent > self.elements * (self.cost + ACCESS) + self.loads


@dataclass
class Sharing:
    """One look at a program."""

    program: Program
    limit: int | None
    values: dict[Key, Value] = field(default_factory=dict[Key, Value])
    all: int = 0

    def __post_init__(self) -> None:
        program = self.program
        self.terms, self.sizes = program.terms, frozenset(program.sizes)
        self.costs, self.has_arrays = Costs(self.sizes), bool(program.index_arrays())
        self.arrays = Arrays(program)
        self.mover = Mover(program, Names(program), self.limit, strict=False, inspected=self.arrays)
        self.places = [Places(program, d) for d in program.definitions]
        self.tensors = {d.name: d for d in (*program.arguments, *program.definitions)}
        self.shapes: dict[int, int] = {}
        self.numbers: dict[tuple[object, ...], int] = {}
        # How many terms there are that may be the same but for their indices.
        terms = {(t.number, self.form(t)) for d in program.definitions for t in reachable([d.body])}
        definitions = [{self.form(t) for t in reachable([d.body])} for d in program.definitions]
        self.alike = Counter(form for _, form in terms) | Counter(form for d in definitions for form in d)

    def form(self, root: Term) -> int:
        """A number that is equal for terms that differ in their indices alone."""

        def number(node: Term, below: Sequence[int]) -> int:
            said = (getattr(node, each, None) for each in ("function", "tensor", "relation", "value"))
            return self.numbers.setdefault((type(node), *said, *below), len(self.numbers))

        return bottom_up(root, self.shapes, number)

    def may_move(self, term: Term, place: Place) -> bool:
        """Whether a term is arithmetic that may stand, or be evaluated, more than once."""
        if not isinstance(term, Apply | Select) or not weight(term):
            return False
        if all(t.type is None for t in operands(term)):
            return False
        if self.alike[self.form(term)] > 1 or not term.free.issuperset(place.indices):
            return True
        return self.mover.coordinates.of(term) is not None

    def key(self, number: int, at: int, term: Term, of_elements: bool = False) -> Key | None:
        """Equal for terms that one tensor holds; None where it has no room and is not gathered."""
        if not self.may_move(term, self.places[number].places[at]):
            return None
        key = self.of_any_size(number, at, term, of_elements)
        has_room = key is not None and self.has_room(key, term, self.places[number].places[at])
        return key if has_room or self.has_arrays else None

    def has_room(self, key: Key, term: Term, place: Place) -> bool:
        """Whether a tensor stays in the nearest cache, or spares reads of elements that are anywhere."""
        is_gathered = self.gathered(term) and len(place.indices) > len(key[1])
        return bool(is_gathered) or about(key[1]) * ELEMENT[term.type or "f64"] <= NEAR

    def of_any_size(self, number: int, at: int, term: Term, of_elements: bool = False) -> Key | None:
        """The key of a term that may move, whether its tensor has room or not."""
        place, definition = self.places[number].places[at], self.program.definitions[number]
        if definition.order is not None and definition.name in tensors_read([term]):
            return None
        self.mover.enter(definition)
        return self.mover.key(term, place, of_elements)

    def gathered(self, term: Term) -> list[int]:
        """What each element costs that a term reads where index arrays say."""
        if not self.has_arrays:
            return []
        return [
            self.anywhere(self.tensors[t.tensor].shape, self.tensors[t.tensor].type)
            for t in reachable([term])
            if isinstance(t, Read) and any(True for form in t.indices for _ in form.lookups())
        ]

    def anywhere(self, shape: Shape, type: str | None) -> int:
        """What it costs to read an element anywhere in a tensor, by the cache that has room for it."""
        size = bytes_of(shape, type)
        if size > CACHED_BYTES or not all(isinstance(n, int) for n in shape):
            return SCATTERED
        return ACCESS if size <= NEAR else SCATTERED // 2

    def survey(self) -> None:
        """Find out how often each value is evaluated.

        In the order of an index array's values it is one of its own, unless other places have it in another.
        What has no room is worth a tensor where others gather it, which have room for it.
        """
        ordered: list[tuple[Key, Key, Term, Definition, Place]] = []
        large: list[tuple[Key, Term, Definition, Place]] = []
        for number, at, term in self.evaluated():
            place, definition = self.places[number].places[at], self.program.definitions[number]
            self.all += 0 if isinstance(term, Read) else weight(term) * points(place.ranges)
            key = self.key(number, at, term)
            if key is None:
                continue
            same = self.key(number, at, term, of_elements=True) if self.gathered(term) else key
            if not self.has_room(key, term, place):
                large.append((key, term, definition, place))
            elif same is None or same == key:
                self.note(key, term, definition, place)
            else:
                ordered.append((key, same, term, definition, place))
        known = self.values.keys() | {key for key, *_ in large}
        for key, same, term, definition, place in ordered:
            self.note(same if same in known else key, term, definition, place, anywhere=same in known)
        for key, term, definition, place in large:
            if key in self.values:
                self.note(key, term, definition, place)

    def evaluated(self) -> Iterator[tuple[int, int, Term]]:
        """The terms of each definition, by number, once a place."""
        for number, definition in enumerate(self.program.definitions):
            places, seen = self.places[number], set[tuple[int, int]]()
            stack = [(0, definition.body)]
            while stack:
                at, term = stack.pop()
                if (at, term.number) not in seen and not isinstance(term, Const):
                    seen.add((at, term.number))
                    stack += places.below(at, term)
                    yield number, at, term

    def note(
        self, key: Key, term: Term, definition: Definition, place: Place, anywhere: bool = False
    ) -> None:
        """Count the evaluations of a term at a place, which a tensor has in order or `anywhere`."""
        if key not in self.values:
            self.values[key] = self.value(key, term, place)
        load = self.anywhere(key[1], term.type) if anywhere else ACCESS
        self.count(self.values[key], term, definition, place, load)

    def value(self, key: Key, term: Term, place: Place) -> Value:
        """What is known of a value before its evaluations are counted."""
        below = (t for t in reachable([term]) if not isinstance(t, Read | Const))
        return Value(self.cost(term, place), sum(map(weight, below)), about(key[1]))

    def cost(self, term: Term, place: Place) -> int:
        """What one evaluation at a place costs."""
        return self.costs.term(term, place.ranges) + sum(each - ACCESS for each in self.gathered(term))

    def count(
        self, value: Value, term: Term, definition: Definition, place: Place, load: int = ACCESS
    ) -> None:
        """Add the evaluations of a term at a place."""
        box, numbered = self.mover.box(term, place), dict[str, Affine]()
        assert box is not None
        within: tuple[object, ...] = (definition.name, place.indices)
        if len(place.indices) == len(definition.indices):
            numbered = {i: Affine.var(f"?{n}") for n, i in enumerate(definition.indices)}
            within = definition.shape
        # Of one iteration a value is evaluated once, whatever choices it stands under.
        at = (within, tuple(form.substitute(numbered) for form in box.at))
        if at not in value.together:
            value.together.add(at)
            count = points(place.ranges)
            value.times += count
            value.spent += count * self.cost(term, place)
            value.loads += count * load

    def moved(self) -> Program:
        """The program with a tensor for each value that is worth one."""
        worth = {
            key
            for key, value in self.values.items()
            if value.pays() and (value.times - value.elements) * value.operations * WORTH_CODE >= self.all
        }
        if not worth:
            return self.program
        names = [d.name for d in self.program.outputs]
        for number, definition in enumerate(self.program.definitions):
            first = not definition.is_output or definition.name == names[0]
            if first and definition.order is None and self.key(number, 0, definition.body) in worth:
                self.mover.holds(definition, cheap=True)
        made: list[Definition] = []
        for number, definition in enumerate(self.program.definitions):
            new: list[Definition] = []
            body = _Walk(self.places[number], self, number, definition, worth, new).visit(0, definition.body)
            made += [*new, definition if body is definition.body else replace(definition, body=body)]
        return self.arrays.in_program(replace(self.program, definitions=tuple(in_order(made))))


@dataclass
class _Walk(PlaceWalk):
    """One walk over a definition."""

    sharing: Sharing
    number: int
    definition: Definition
    worth: set[Key]
    new: list[Definition]

    def moved(self, at: int, term: Term) -> Term | None:
        """A read in the place of a term that is worth a tensor."""
        sharing, name = self.sharing, self.definition.name
        ways = (way for way in (True, False) if sharing.key(self.number, at, term, way) in self.worth)
        of_elements = next(ways, None)
        if of_elements is None:
            return None
        return sharing.mover.move(term, self.places.places[at], name, self.new, 0, of_elements=of_elements)
