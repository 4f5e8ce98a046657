"""Values that would be computed again become tensors, if no derivative follows.

    f[i, k] = (x[i, k] - m[i])**2,  g[i] = sum{k} (w[k] * (x[i, k] - m[i])**2)
    is  let h[i, k] = (x[i, k] - m[i])**2,  f[i, k] = h[i, k],  g[i] = sum{k} (w[k] * h[i, k])

Each iteration counts how often the program evaluates every value, and stores those for which `times * cost >
elements * (cost + store) + times * load`, outermost first; the next iteration considers new values. An
iteration treats expensive values (reductions, divisions and transcendental functions) or all arithmetic.
Cheap values are stored only if the tensor fits in the nearest cache, since a load from further away is slower
than computing the element, and if it saves a certain share of all operations, since each tensor adds code.
Values that tensors of one shape compute at their own indices count once, because these tensors are fused. The
tensor of a value with indirect reads may be as large as the tensors it reads.

Two kinds are always stored: expensive values that are the same in all calls, if the target keeps such
tensors, and values over the fibres of an index array, since one fibre may contain nearly all positions.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from tadc.frontend.dtypes import DEFAULT
from tadc.frontend.extents import Shape
from tadc.frontend.functions import TRANSCENDENTAL
from tadc.frontend.program import Definition, Program
from tadc.frontend.terms import (
    Apply,
    Const,
    Read,
    Reduce,
    Select,
    Term,
    holds,
    index_forms,
    operands,
    reachable,
    tensors_read,
)
from tadc.passes.rewrites.known_values import KnownValues
from tadc.passes.rewrites.loop_costs import Evaluated, evaluated, evaluations
from tadc.passes.rewrites.move_walks import MoveWalk
from tadc.passes.rewrites.moves import MANY, Key, Mover, in_order
from tadc.passes.rewrites.places import Places, TermPlace
from tadc.passes.terms.algebra import is_const
from tadc.passes.terms.alike import Outlines
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
    elements,
    is_candidate,
    points,
    weight,
    width,
)
from tadc.passes.terms.element_terms import has_fibres, leaves_out_several
from tadc.passes.terms.fallbacks import is_fallback
from tadc.passes.terms.inspected_arrays import Arrays
from tadc.passes.terms.liveness import of_values
from tadc.passes.terms.names import Names

#: Bytes of a tensor that stays in the nearest cache.
NEAR = FIRST // 2


def store_values(
    program: Program,
    limit: int | None,
    *,
    cheap: bool = False,
    always: bool = False,
    keeps: bool = False,
    only: Callable[[Term], bool] | None = None,
) -> Program:
    """The program with tensors for values, expensive or `cheap` ones; it itself where none is worth one.

    `limit` bounds the bytes of each. With `always`, what is evaluated more than once is worth one. `keeps`
    says that tensors of no argument are kept from call to call. With `only`, terms move for which it holds.
    """
    if cheap and sum(1 for _ in reachable([d.body for d in program.definitions])) > NODES // 8:
        return program
    for read_later in (True, False):
        look = Look(program, limit, cheap, always, keeps and not program.sizes, only)
        look.survey()
        made = look.moved(read_later)
        # Callers know outputs by their order.
        if [d.name for d in made.outputs] == [d.name for d in program.outputs]:
            return made
    return program


@dataclass
class StoredValue:
    """How often a value is evaluated and at which indices of tensors of which shapes, what one and all
    evaluations take, and what reads of a tensor in their place do."""

    cost: int
    operations: int
    elements: int
    #: What it costs to store an element, or to load one in the order of the tensor.
    access: int = ACCESS
    stored: bool = False
    times: int = 0
    spent: int = 0
    loads: int = 0
    together: set[Evaluated] = field(default_factory=set[Evaluated])

    def pays(self) -> bool:
        """Whether a tensor for it does."""
        return self.spent > self.elements * (self.cost + self.access) + self.loads

    @property
    def uses(self) -> int:
        """How often each element is used."""
        uses = self.times // max(self.elements, 1)
        return max(uses, MANY) if self.stored else uses


@dataclass
class Look:
    """One look at a program."""

    program: Program
    limit: int | None
    cheap: bool
    always: bool
    keeps: bool
    only: Callable[[Term], bool] | None
    values: dict[Key, StoredValue] = field(default_factory=dict[Key, StoredValue])
    all: int = 0

    def __post_init__(self) -> None:
        program = self.program
        self.terms, self.sizes = program.terms, frozenset(program.sizes)
        self.costs, self.has_arrays = Costs(self.sizes), bool(program.index_arrays())
        self.arrays = Arrays(program)
        self.mover = Mover(program, Names(program), self.limit, strict=False, inspected=self.arrays)
        self.places = [Places(program, d) for d in program.definitions]
        self.tensors = {d.name: d for d in (*program.arguments, *program.definitions)}
        self.keys: dict[tuple[int, int, int, bool], Key | None] = {}
        self.held: dict[int, bool] = {}
        self.given: dict[int, bool] = {}
        self.outlines = Outlines()
        self.known = KnownValues(self.terms, self.mover.size_facts, self.outlines)
        self.needed = of_values(program)
        self.alike = Counter[int]() if not self.cheap else self.repeated()

    def repeated(self) -> Counter[int]:
        """How many terms there are that may be the same but for their indices."""
        definitions, form = self.program.definitions, self.outlines.of
        terms = {(t.number, form(t)) for d in definitions for t in reachable([d.body])}
        forms = [{form(t) for t in reachable([d.body])} for d in definitions]
        return Counter(form for _, form in terms) | Counter(form for d in forms for form in d)

    def holds(self, term: Term) -> bool:
        """Whether what may become a tensor stands at or below a term: nothing else changes."""
        return self.cheap or holds(term, self.held, is_candidate)

    def may_move(self, number: int, at: int, term: Term) -> bool:
        """Whether a term is of a kind that moves, and may stand, or be evaluated, more than once.

        A tensor that reads itself is computed step by step.
        """
        place, definition = self.places[number].places[at], self.program.definitions[number]
        if definition.order is not None and definition.name in tensors_read([term]):
            return False
        if not self.cheap:
            wanted = self.only is None or self.only(term) or self.scattered(place, term) > 0
            return is_candidate(term) and not leaves_out_several(term) and wanted
        is_arithmetic = isinstance(term, Apply | Select) and weight(term)
        if not is_arithmetic or all(t.type is None for t in operands(term)):
            return False
        if self.alike[self.outlines.of(term)] > 1 or not term.free.issuperset(place.indices):
            return True
        return self.mover.coordinates.of(term) is not None

    def key(self, number: int, at: int, term: Term, of_elements: bool = False) -> Key | None:
        """Equal for terms that one tensor holds; None where there is none for a term."""
        known = (number, at, term.number, of_elements)
        if known not in self.keys:
            place, found = self.places[number].places[at], None
            if self.may_move(number, at, term):
                self.mover.enter(self.program.definitions[number])
                found = self.mover.key(term, place, of_elements)
            has_room = found is None or not self.cheap or self.has_room(found, term, place)
            self.keys[known] = found if has_room or self.has_arrays else None
        return self.keys[known]

    def has_room(self, key: Key, term: Term, place: TermPlace) -> bool:
        """Whether a tensor stays in the nearest cache, or spares reads of elements that are anywhere."""
        is_gathered = self.gathered(term) and len(place.indices) > len(key[1])
        return bool(is_gathered) or about(key[1]) * ELEMENT[term.type or DEFAULT] <= NEAR

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

    def scattered(self, place: TermPlace, term: Term) -> int:
        """Of a reduction in a sum over the places of an index array that hold a value, how many elements it
        reads that move with the place: they are anywhere in memory, as an element of a tensor for it is.

        What else it reads is a factor of the whole sum.
        """
        told = {index: told for index, told in place.told.items() if told.form is not None}
        if not isinstance(term, Reduce) or not told or not term.free.isdisjoint(told):
            return 0
        own = frozenset[str]().union(*(known.by for known in told.values()))
        reads = (node for node in reachable([term]) if isinstance(node, Read) and node.indices)
        if any(node.free.isdisjoint(own) for node in reads):
            return 0
        return self.costs.evaluations(
            term, place.ranges, lambda node: isinstance(node, Read) and not node.free.isdisjoint(own)
        )

    def survey(self) -> None:
        """Find out how often each value is evaluated.

        In the order of an index array's values it is one of its own, unless other places have it in another.
        What has no room is worth a tensor where others gather it, which have room for it.
        """
        ordered: list[tuple[Key, Key, Term, Definition, TermPlace]] = []
        large: list[tuple[Key, Term, Definition, TermPlace]] = []
        for number, at, term in self.evaluated():
            place, definition = self.places[number].places[at], self.program.definitions[number]
            self.all += 0 if isinstance(term, Read) else weight(term) * points(place.ranges)
            key = self.key(number, at, term)
            if key is None:
                continue
            same = self.key(number, at, term, of_elements=True) if self.cheap and self.gathered(term) else key
            if self.cheap and not self.has_room(key, term, place):
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
        """The terms of each definition, by number, once a place, but for those that are seldom needed."""
        for number, definition in enumerate(self.program.definitions):
            places, seen, stack = self.places[number], set[tuple[int, int]](), [(0, definition.body)]
            while stack:
                at, term = stack.pop()
                if (at, term.number) in seen or isinstance(term, Const) or not self.holds(term):
                    continue
                seen.add((at, term.number))
                below = list(places.below(at, term))
                stack += below[:-1] if is_fallback(term) else below
                yield number, at, term
                if inverse := self.inverse(number, at, term):
                    yield number, at, inverse

    def inverse(self, number: int, at: int, term: Term) -> Term | None:
        """The reciprocal of a divisor of fewer indices, in derivatives alone.

        A product with a reciprocal rounds twice, as no quotient that a user writes may.
        """
        definition = self.program.definitions[number]
        if self.cheap or self.only is not None or definition.name in self.needed:
            return None
        if not isinstance(term, Apply) or term.function != "div" or is_const(term.operands[0], 1):
            return None
        divisor = term.operands[1]
        if divisor.type is None or divisor.free.issuperset(self.places[number].places[at].indices):
            return None
        return self.terms.apply("div", (self.mover.algebra.one, divisor))

    def note(
        self, key: Key, term: Term, definition: Definition, place: TermPlace, anywhere: bool = False
    ) -> None:
        """Count the evaluations of a term at a place, which a tensor has in order or `anywhere`."""
        cost = self.cost(term, place)
        if key not in self.values:
            below = (t for t in reachable([term] if self.cheap else ()) if not isinstance(t, Read | Const))
            access = SCATTERED if self.is_large(key) else ACCESS
            self.values[key] = StoredValue(cost, sum(map(weight, below)), about(key[1]), access)
        value = self.values[key]
        value.stored = value.stored or self.is_stored(key, term, place)
        scattered = 0 if self.cheap else self.scattered(place, term)
        load = self.anywhere(key[1], term.type) if anywhere else SCATTERED if scattered else value.access
        if (self.cheap or self.is_large(key)) and not self.is_new(value, term, definition, place):
            return
        ranges = place.ranges if self.cheap else place.ranges_of(place.indices)
        # Whatever the average says: a fibre may have nearly all of the elements.
        if not self.cheap and self.has_arrays and has_fibres(term):
            count = math.prod(map(width, ranges.values()))
        elif self.is_large(key):
            count = evaluations(place, term.free)
        else:
            count = points(ranges)
        value.times += count
        value.spent += count * (cost + SCATTERED * scattered)
        value.loads += count * load

    def is_large(self, key: Key) -> bool:
        """Whether a tensor is larger than all that there are, and would come from the second cache."""
        return not self.cheap and self.mover.is_plain and about(key[1]) > self.mover.largest

    def is_new(self, value: StoredValue, term: Term, definition: Definition, place: TermPlace) -> bool:
        """Whether a value is not evaluated there yet, of all tensors of a shape: of one iteration it is
        evaluated once, whatever choices it stands under."""
        box = self.mover.box(term, place)
        assert box is not None
        at = evaluated(definition, place, box.at)
        is_new = at not in value.together
        value.together.add(at)
        return is_new

    def cost(self, term: Term, place: TermPlace) -> int:
        """What one evaluation at a place costs."""
        gathered = self.gathered(term) if self.cheap else []
        return self.costs.term(term, place.ranges) + sum(each - ACCESS for each in gathered)

    def is_stored(self, key: Key, term: Term, place: TermPlace) -> bool:
        """Whether a value is stored whatever that costs: one of fibres, and one that is kept from call to
        call and stays in the caches."""

        def is_given(node: Term) -> bool:
            return isinstance(node, Read) or any(form.has_lookups for form in index_forms(node))

        if self.cheap or self.mover.of_fibre(term):
            return not self.cheap
        if not self.keeps or self.costs.term(term, place.ranges) < TRANSCENDENTAL:
            return False
        has_room = elements(key[1]) * ELEMENT[key[2]] <= CACHED_BYTES
        return has_room and not holds(term, self.given, is_given)

    def is_worth(self, value: StoredValue) -> bool:
        """Whether a value is worth a tensor."""
        if self.cheap:
            saved = (value.times - value.elements) * value.operations
            return value.pays() and saved * WORTH_CODE >= self.all
        # What is evaluated once is worth one where that reads less that is anywhere.
        again = value.uses > 1 or value.loads > value.times
        return value.stored or (again and (self.always or value.pays()))

    def moved(self, read_later: bool) -> Program:
        """The program with a tensor for each value that is worth one.

        With `read_later`, an output may be read by definitions before it, which then move behind it.
        """
        worth = {key for key, value in self.values.items() if self.is_worth(value)}
        if self.cheap and not worth:
            return self.program
        first = next(iter(self.program.outputs), None)
        for number, d in enumerate(self.program.definitions):
            if d.order is not None or not (read_later or not d.is_output or d is first):
                continue
            if not self.cheap or self.key(number, 0, d.body) in worth:
                self.mover.holds(d, cheap=self.cheap)
        made: list[Definition] = []
        for number, definition in enumerate(self.program.definitions):
            walk = _StoredWalk(self.places[number], self.mover, definition, self, number, worth)
            last = walk.run()
            made += [*walk.new, last]
            for found in () if self.cheap else (*walk.new, last):
                self.known.add(found)
        found = self.program.with_definitions(in_order(made))
        return found if found is self.program else self.arrays.in_program(found)


@dataclass
class _StoredWalk(MoveWalk):
    """One walk over a definition, which reads what is worth a tensor."""

    look: Look
    number: int
    worth: set[Key]

    def visit(self, at: int, term: Term) -> Term:
        """What a term becomes at a place."""
        return super().visit(at, term) if self.look.holds(term) else term

    def rebuilt(self, at: int, term: Term) -> Term:
        """The term over operands that have been visited."""
        inverse = self.look.inverse(self.number, at, term)
        found = inverse and self.moved(at, inverse)
        if not found:
            return super().rebuilt(at, term)
        (place, over), _ = self.places.below(at, term)
        return self.mover.algebra.mul(self.visit(place, over), found)

    def moved(self, at: int, term: Term) -> Term | None:
        """A read in the place of a term that is worth a tensor."""
        look, place, own = self.look, self.places.places[at], self.definition
        is_whole = at == 0 and term is own.body and term.free.issuperset(own.indices)
        if is_whole and not (look.cheap or own.is_output or has_fibres(term)):
            return None
        if (
            not look.cheap
            and look.may_move(self.number, at, term)
            and (found := look.known.find(term, place))
        ):
            return found
        ways = (True, False) if look.cheap else (False,)
        found = ((way, look.key(self.number, at, term, way)) for way in ways)
        of_elements, key = next(((way, key) for way, key in found if key in self.worth), (False, None))
        if key is None:
            return None
        uses = look.values[key].uses
        return self.mover.move(term, place, own.name, self.new, uses, anywhere=True, of_elements=of_elements)
