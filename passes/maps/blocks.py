"""Tools on the blocks of maps: renaming, equal values computed once, unused ones dropped, a normal form."""

from __future__ import annotations

import itertools
import re
from collections import ChainMap, Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from tadc.frontend.terms import Domain
from tadc.lattice.affine import Affine, Constraint, Floor, Lookup
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
    Value,
    addends,
    blocks_of,
    factors,
)

Placing = Callable[[str, tuple[Affine, ...]], tuple[str, tuple[Affine, ...]]]
"""Where an element is, of a tensor at subscripts: of which tensor, and at which."""


@dataclass
class BlockNames:
    """Names that are taken."""

    taken: set[str] = field(default_factory=set[str])

    def new(self, wanted: str) -> str:
        """A name that nothing else has: the one that is wanted, or one like it."""
        found = wanted
        for number in itertools.count(2):
            if found not in self.taken:
                break
            found = f"{wanted}_{number}"
        self.taken.add(found)
        return found

    def part(self, index: str) -> str:
        """A name for a loop that an index becomes."""
        found = next(name for n in itertools.count() if (name := f"{index}{n}") not in self.taken)
        self.taken.add(found)
        return found

    def like(self, name: str) -> str:
        """A name for something new that is alike."""
        return self.new(base(name) if base(name) in self.taken else name)

    def label(self, name: str) -> str:
        """What `new` made a name of, which is taken now."""
        wanted = base(name)
        if wanted != name and wanted in self.taken:
            before = set(self.taken)
            if self.new(wanted) == name:
                return wanted
            self.taken = before
        self.taken.add(name)
        return name


def base(name: str) -> str:
    """A name without the number that tells it from others."""
    return re.sub(r"_\d+\Z", "", name)


@dataclass
class Renaming:
    """Other names for values and tensors, and forms in the place of indices and sizes.

    What binds a name is renamed too; the form of an index that a fold binds has to be another index.
    """

    values: dict[str, str] = field(default_factory=dict[str, str])
    forms: dict[str, Affine] = field(default_factory=dict[str, Affine])
    tensors: Mapping[str, str] = field(default_factory=dict[str, str])
    found: dict[Affine, Affine] = field(default_factory=dict[Affine, Affine], compare=False)
    """What forms become: a map has the same few again and again."""

    def form(self, form: Affine) -> Affine:
        """An index form."""
        if not self.forms and not self.tensors:
            return form
        made = self.found.get(form)
        if made is None:
            made = self.found[form] = with_arrays(form.substitute(self.forms), self.tensors)
        return made

    def rows(self, rows: Domain) -> Domain:
        """The rows of a set."""
        if not self.forms and not self.tensors:
            return rows
        return tuple(Constraint(self.form(row.form), row.equality) for row in rows)

    def name(self, name: str) -> str:
        """A value's name."""
        return self.values.get(name, name)

    def index(self, name: str) -> str:
        """The name of an index that is bound."""
        return _variable(self.forms[name]) if name in self.forms else name

    def block(self, block: Block) -> Block:
        """A block."""
        lets = tuple(self.let(let) for let in block.lets)
        return Block(lets, tuple(map(self.name, block.gives)))

    def let(self, let: Let) -> Let:
        """A value with its names."""
        return Let(tuple(map(self.name, let.names)), self.value(let.value), let.place)

    def value(self, value: Value) -> Value:
        """What is computed."""
        match value:
            case Constant():
                return value
            case IndexNumber(form, type):
                return IndexNumber(self.form(form), type)
            case Load(tensor, at) | Ask(tensor, at):
                return replace(value, tensor=self.tensors.get(tensor, tensor), at=tuple(map(self.form, at)))
            case Applied(function, operands, type, exponent):
                return Applied(function, tuple(map(self.name, operands)), type, exponent)
            case Choice(rows, then, otherwise, type):
                return Choice(self.rows(rows), self.block(then), self.block(otherwise), type)
            case Fold(indices=indices, rows=rows, body=body):
                names = tuple(map(self.index, indices))
                made = replace(value, indices=names, rows=self.rows(rows), body=self.block(body))
                made = replace(made, parts=tuple(map(self.rows, value.parts)))
                return replace(made, first=tuple(map(self.name, value.first)), when=self.name(value.when))


def with_arrays(form: Affine, names: Mapping[str, str]) -> Affine:
    """A form whose lookups are in arrays of other names."""

    def renamed(atom: str | Floor | Lookup) -> Affine | None:
        if not isinstance(atom, Lookup) or atom.array not in names:
            return None
        at = tuple(with_arrays(part, names) for part in atom.at)
        return Affine.atom(Lookup(names[atom.array], at, atom.below))

    return form.replace(renamed) if form.has_lookups else form


def _variable(form: Affine) -> str:
    (name,) = form.variables
    return name


def used_by(value: Value) -> Iterator[str]:
    """The names that a value uses, those that its own blocks make included."""
    if isinstance(value, Applied | Fold):
        yield from value.operands if isinstance(value, Applied) else value.first
        if isinstance(value, Fold) and value.when:
            yield value.when
    for block in blocks_of(value):
        yield from uses(block)


def joined_by_factors(block: Block) -> frozenset[str]:
    """Values of the block of a sum that only join it as products: each is added in one rounding, and so are
    those that what joins it adds up."""
    lets, used = {let.names[0]: let.value for let in block.lets if let.names}, Counter(uses(block))
    found = set[str]()

    def visit(name: str) -> bool:
        value = lets.get(name)
        if value is None or used[name] > 1:
            return False
        if factors(value) or any([visit(each) for each in addends(value)]):
            found.add(name)
        return name in found

    for name in block.gives:
        visit(name)
    return frozenset(found)


def uses(block: Block) -> Iterator[str]:
    """The name of each use in a block, of what the block gives too."""
    for let in block.lets:
        yield from used_by(let.value)
    yield from block.gives


def indices_bound(block: Block) -> Iterator[str]:
    """The indices that folds of a block bind."""
    return (index for fold in block.folds() for index in fold.indices)


def names_in(item: Map, sizes: Iterable[str]) -> BlockNames:
    """The names that are taken in a map: of its indices, those of its reductions, and sizes."""
    return BlockNames({*item.indices, *sizes, *indices_bound(item.body)})


def values_of(block: Block) -> Iterator[str]:
    """The names of all values of a block."""
    for let in block.all_lets():
        yield from let.names


def forms_of(block: Block) -> Iterator[Affine]:
    """All index forms of a block."""
    for let in block.all_lets():
        match let.value:
            case IndexNumber(form):
                yield form
            case Load(at=at) | Ask(at=at):
                yield from at
            case Choice(rows=rows) | Fold(rows=rows):
                yield from (row.form for row in rows)
            case _:
                pass


def elements_read(load: Load) -> Iterator[tuple[str, tuple[Affine, ...]]]:
    """The tensors that a load reads an element of, with subscripts: its own, and index arrays in it."""
    yield load.tensor, load.at
    for form in load.at:
        for lookup in form.lookups():
            yield lookup.array, lookup.at


def index_arrays(block: Block) -> tuple[str, ...]:
    """The index arrays that forms of a block have elements of, in the order of use."""
    return tuple(dict.fromkeys(lookup.array for form in forms_of(block) for lookup in form.lookups()))


def with_blocks(value: Value, blocks: Sequence[Block]) -> Value:
    """A value with other blocks than its own, in order."""
    match value:
        case Choice():
            return replace(value, then=blocks[0], otherwise=blocks[1])
        case Fold():
            return replace(value, body=blocks[0])
        case _:
            return value


def rewrite_lets(block: Block, rule: Callable[[Let], Let]) -> Block:
    """The block with every value replaced, those inside of others first."""
    return expand_lets(block, lambda let: (rule(let),))


def expand_lets(block: Block, rule: Callable[[Let], Iterable[Let]]) -> Block:
    """The block with some values in the place of each, those inside of others first."""

    def inside(let: Let) -> Let:
        if not (blocks := blocks_of(let.value)):
            return let
        return replace(let, value=with_blocks(let.value, [expand_lets(each, rule) for each in blocks]))

    return replace(block, lets=tuple(made for let in block.lets for made in rule(inside(let))))


def with_reads(block: Block, place: Placing) -> Block:
    """The block that reads, or asks for, elements in other places."""

    def moved(let: Let) -> Let:
        read = let.value
        if not isinstance(read, Load | Ask):
            return let
        tensor, at = place(read.tensor, read.at)
        return replace(let, value=replace(read, tensor=tensor, at=at))

    return rewrite_lets(block, moved)


def shared(block: Block) -> Block:
    """Each value once that a block, or what is around it, computes already."""
    return _shared(block, ChainMap(), {})


def _shared(block: Block, known: ChainMap[Value, tuple[str, ...]], names: dict[str, str]) -> Block:
    lets: list[Let] = []
    for let in block.lets:
        value = let.value
        if inner := blocks_of(value):
            value = with_blocks(value, [_shared(each, known.new_child(), names) for each in inner])
            key = normal(value)
        else:
            key = value = Renaming(names).value(value) if names else value
        first = known.get(key)
        if first is None:
            known[key] = let.names
            lets.append(Let(let.names, value, let.place))
        else:
            names.update(zip(let.names, first, strict=True))
    return Block(tuple(lets), tuple(names.get(name, name) for name in block.gives))


def normal(value: Value, renaming: Renaming | None = None) -> Value:
    """A value where all that its blocks bind has numbers for names: equal for equal values.

    `renaming` is for what is used of what is around.
    """
    return _Normal(renaming or Renaming()).value(value)


def normal_block(block: Block, renaming: Renaming) -> Block:
    """A block in normal form."""
    return _Normal(renaming).block(block)


class _Normal(Renaming):
    """A renaming that finds names for what is bound: numbers, in order."""

    def __init__(self, given: Renaming) -> None:
        super().__init__(dict(given.values), dict(given.forms), given.tensors)
        self.numbers = itertools.count()

    def let(self, let: Let) -> Let:
        value = self.value(let.value)
        self.values.update((name, f"${next(self.numbers)}") for name in let.names)
        return Let(tuple(self.values[name] for name in let.names), value)

    def value(self, value: Value) -> Value:
        if isinstance(value, Fold):
            self.forms.update((name, Affine.var(f"?{next(self.numbers)}")) for name in value.indices)
        return super().value(value)


def without_unused(block: Block) -> Block:
    """Without the values that nothing uses; blocks of values stay as they are."""
    used = set(block.gives)
    lets: list[Let] = []
    for let in reversed(block.lets):
        if not used.isdisjoint(let.names):
            used.update(used_by(let.value))
            lets.append(let)
    return Block(tuple(reversed(lets)), block.gives)


def with_values(block: Block, loads: Mapping[str, str]) -> Block:
    """Values, by tensor, in the place of what is loaded of it."""
    names: dict[str, str] = {}

    def rule(let: Let) -> tuple[Let, ...]:
        if not isinstance(let.value, Load) or let.value.tensor not in loads:
            return (let,)
        names[let.names[0]] = loads[let.value.tensor]
        return ()

    found = expand_lets(block, rule)
    return Renaming(names).block(found) if names else block


def apart(block: Block, values: Container[str], names: BlockNames) -> Renaming:
    """Other names for what a block binds: values that are not among these, and new names for indices."""
    numbers = (name for n in itertools.count() if (name := f"%{n}") not in values)
    forms = {index: Affine.var(names.like(index)) for index in indices_bound(block)}
    return Renaming(dict(zip(values_of(block), numbers)), forms)


def numbered(item: Map) -> Map:
    """A map with the names that a reader of the dialect gives: values have numbers, inner ones first, and
    indices the name that a person gave them, where nothing else has it."""
    values: dict[str, str] = {}
    forms: dict[str, Affine] = {}
    numbers = itertools.count()
    bound = set(indices_bound(item.body))
    used = frozenset[str]().union(*(form.variables for form in (*forms_of(item.body), *item.extents)))
    names = BlockNames({*item.indices, *(used - bound)})

    def number(block: Block) -> None:
        for let in block.lets:
            if isinstance(let.value, Fold):
                forms.update((index, Affine.var(names.like(index))) for index in let.value.indices)
            for inner in blocks_of(let.value):
                number(inner)
            values.update((name, f"%{next(numbers)}") for name in let.names)

    number(item.body)
    return replace(item, body=Renaming(values, forms).block(item.body))
