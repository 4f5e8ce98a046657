"""Maps as `linalg.generic` over tensors, for hosts whose own passes fuse, tile and bufferize these.

    %0 = linalg.generic {indexing_maps = [(d0, d1) -> (d0 + d1), (d0, d1) -> (d1), (d0, d1) -> (d0)],
                         iterator_types = ["parallel", "reduction"]} ins(%x, %w) outs(%zero) { … }

A map is an operation, and each reduction in it one before that. Loops are boxes: what is not one is the box
around it, where `arith.select` takes what the reduction has over no point. A read is an operand where its
subscripts are linear and in range all over the box, else a `tensor.extract`, clamped where it may be beyond.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

from tadc.dialect.element_types import conversion
from tadc.dialect.mlir import ir
from tadc.dialect.program_reader import UnsupportedIR
from tadc.dialect.scalar_ops import PREDICATES, UPSTREAM
from tadc.frontend.functions import REDUCTIONS
from tadc.frontend.terms import Domain
from tadc.lattice.affine import ZERO, Affine, Constraint
from tadc.lattice.bounds import open_bounds
from tadc.lattice.late_dataclasses import dataclass, replace
from tadc.lattice.polyhedron import implied
from tadc.passes.maps.blocks import without_unused
from tadc.passes.maps.lower_body import box_rows
from tadc.passes.maps.map import (
    Applied,
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
    Value,
)
from tadc.passes.maps.read_maps import read_maps
from tadc.passes.maps.scalar_lowering import EXPANSIONS, InOperations, Scalars
from tadc.passes.wrappers import Wrapper


def write_linalg(function: ir.Operation) -> None:
    """Put operations of linalg in the place of the maps of a function.

    Raises UnsupportedIR, before anything is changed, where there is no such form.
    """
    maps = read_maps(function)
    check_linalg(maps, function.location)
    with function.context, ir.Location.unknown(function.context):
        writer = _LinalgFunction(function, maps)
        for item in maps.maps:
            writer.map(item)
        writer.finish([writer.values[name] for name in maps.results])


def check_linalg(maps: MapFunction, location: ir.Location) -> None:
    """Raise UnsupportedIR for recurrences, index arrays, and reductions that are no loops."""
    if any(item.order is not None for item in maps.maps):
        raise UnsupportedIR("a recurrence is no operation of linalg", location)
    if any(tensor.below is not None for tensor in maps.arguments):
        raise UnsupportedIR("reads through index arrays are no operations of linalg", location)
    for fold in (fold for item in maps.maps for fold in item.body.folds()):
        if not REDUCTIONS[fold.kind].in_loops:
            raise UnsupportedIR(f"`{fold.kind}` is no reduction of linalg", location)


@dataclass(frozen=True)
class _LoopBox:
    """A box of loops: indices, how many values each has, its first, and what holds of all points."""

    parallel: tuple[str, ...]
    reduced: tuple[str, ...]
    first: Mapping[str, Affine]
    counts: Mapping[str, Affine]
    known: Domain

    @property
    def indices(self) -> tuple[str, ...]:
        return self.parallel + self.reduced


class _LinalgFunction(Wrapper):
    """A function on its way to linalg; `values` are its tensors by name."""

    def __init__(self, function: ir.Operation, maps: MapFunction) -> None:
        super().__init__(function)
        self.tensors_of = dict(maps.tensors())
        self.values = {t.name: v for t, v in zip(maps.arguments, self.tensors, strict=True)}
        self.of_sizes = dict(zip(maps.sizes, self.forms, strict=True))
        self.known = tuple(row.substitute(self.of_sizes) for row in maps.known)
        self.sizes_known, self.made_folds = maps.known, 0
        for decl, tensor in zip(maps.arguments, self.tensors, strict=True):
            for n, extent in enumerate(decl.shape):
                if tensor.type.is_dynamic_dim(n):
                    self.expect(tensor, n, extent.substitute(self.of_sizes))

    def map(self, item: Map) -> None:
        """The tensors of a map."""
        loops = self._loops(item.indices, item.extents)
        for tensor, value in zip(item.tensors, self._block(item.body, loops), strict=True):
            self.values[tensor.name] = value

    def _loops(self, indices: Sequence[str], extents: Sequence[Affine]) -> _LoopBox:
        rows = box_rows([Affine.var(index) for index in indices], extents)
        first, counts = dict.fromkeys(indices, ZERO), dict(zip(indices, extents, strict=True))
        return _LoopBox(tuple(indices), (), first, counts, (*self.sizes_known, *rows))

    def _block(self, block: Block, loops: _LoopBox) -> list[ir.Value]:
        """Tensors of the values that a block gives for each point of parallel loops."""
        block = self._without_folds(block, loops)
        if len(block.lets) == 1 and isinstance(load := block.lets[0].value, Load):
            whole = tuple(map(Affine.var, loops.parallel))
            if load.at == whole and load.tensor.startswith("fold.") and block.gives == block.lets[0].names:
                return [self.values[load.tensor]]
        outs = [self._empty(type, loops) for type in _types_of(block)]
        return _GenericWriter(self, loops, block, outs).made()

    def _without_folds(self, block: Block, loops: _LoopBox, above: tuple[Let, ...] = ()) -> Block:
        """A block in which reductions are reads of tensors that have been made of them."""
        lets: list[Let] = []
        for let in block.lets:
            match let.value:
                case Fold() as fold:
                    names = self._fold(fold, loops, (*above, *lets))
                    at = tuple(map(Affine.var, loops.indices))
                    lets += [
                        Let((name,), Load(tensor, at, fold.type))
                        for name, tensor in zip(let.names, names, strict=True)
                    ]
                case Choice() as choice:
                    sides = [
                        self._without_folds(side, loops, (*above, *lets))
                        for side in (choice.then, choice.otherwise)
                    ]
                    lets.append(replace(let, value=replace(choice, then=sides[0], otherwise=sides[1])))
                case _:
                    lets.append(let)
        return replace(block, lets=tuple(lets))

    def _fold(self, fold: Fold, outer: _LoopBox, above: tuple[Let, ...]) -> list[str]:
        """Tensors over all loops around of what a reduction gives; the names by which they are read."""
        around = replace(outer, parallel=outer.indices, reduced=())
        inner = self._box(fold, around)
        body = without_unused(Block((*above, *fold.body.lets), fold.body.gives))
        body = self._without_folds(body, inner)
        rows = tuple(row for row in fold.rows if not _holds(row, inner.known))
        starts = [self._filled(fold, around) for _ in fold.body.gives]
        names: list[str] = []
        for value in _GenericWriter(self, inner, body, starts, (fold, rows)).made():
            self.made_folds += 1
            names.append(f"fold.{self.made_folds}")
            self.values[names[-1]] = value
            extents = tuple(around.counts[index] for index in around.parallel)
            self.tensors_of[names[-1]] = TensorDecl(names[-1], fold.type, extents)
        return names

    def _box(self, fold: Fold, around: _LoopBox) -> _LoopBox:
        """The loops of the box around the points of a reduction, over those around it."""
        first, counts, known = dict(around.first), dict(around.counts), list(around.known)
        for index in fold.indices:
            others = [name for name in (*around.parallel, *fold.indices) if name != index]
            rows = [*fold.rows, *around.known]
            (level, *_) = open_bounds([index, *others], rows, self.sizes_known)
            if not level.lower or not level.upper:
                raise UnsupportedIR(f"`{index}` has no bound that is a form of sizes", self.location)
            least = self._extreme("affine.max", [bound.ceil() for bound in level.lower])
            last = self._extreme("affine.min", [bound.floor() for bound in level.upper])
            first[index], counts[index] = least, last - least + 1
            known += [Constraint(Affine.var(index) - least), Constraint(last - Affine.var(index))]
        return _LoopBox(around.parallel, fold.indices, first, counts, tuple(known))

    def _extreme(self, operation: str, forms: Sequence[Affine]) -> Affine:
        """One form of sizes; where there are several, a value that has a name from here on."""
        if len(forms) == 1:
            return forms[0]
        made = self.extreme(operation, [form.substitute(self.of_sizes) for form in forms], self.point)
        if made.is_constant:
            return made
        name = f"bound.{len(self.of_sizes)}"
        self.of_sizes[name] = made
        return Affine.var(name)

    def room(self, type: str, loops: _LoopBox, indices: Sequence[str]) -> ir.Value:
        """A new tensor with as many elements as indices have values."""
        sizes, values = self.extents([loops.counts[index].substitute(self.of_sizes) for index in indices])
        return self.made("tensor.empty", [ir.RankedTensorType.get(sizes, self.types[type])], values)[0]

    def _empty(self, type: str, loops: _LoopBox) -> ir.Value:
        return self.room(type, loops, loops.parallel)

    def _filled(self, fold: Fold, loops: _LoopBox) -> ir.Value:
        """A tensor of what a reduction has over no point."""
        nothing = Let(("nothing",), Constant(REDUCTIONS[fold.kind].nothing, fold.type))
        return _GenericWriter(
            self, loops, Block((nothing,), nothing.names), [self._empty(fold.type, loops)]
        ).made()[0]


class _GenericWriter:
    """A `linalg.generic` over loops: a value of a block for each point, or joined, where rows hold, to those
    of a `fold` that are in its tensors `outs`."""

    def __init__(
        self,
        owner: _LinalgFunction,
        loops: _LoopBox,
        block: Block,
        outs: Sequence[ir.Value],
        fold: tuple[Fold, Domain] | None = None,
    ) -> None:
        self.owner, self.loops, self.block, self.outs, self.fold = owner, loops, block, outs, fold
        self.operands = dict.fromkeys(
            (load.tensor, load.at) for load in block.loads() if self.is_operand(load)
        )

    def is_operand(self, load: Load) -> bool:
        """Whether subscripts are a map of the loops, in range all over these."""
        if load.tensor not in self.owner.values:
            raise UnsupportedIR(f"`{load.tensor}` is not made yet", self.owner.location)
        own = set(self.loops.indices)
        shape = self.owner.tensors_of[load.tensor].shape
        return all(
            form.is_linear
            and form.variables <= own
            and all(k > 0 for _, k in form.terms)
            and form.constant >= 0
            for form in map(self.shifted, load.at)
        ) and all(_holds(row, self.loops.known) for row in box_rows(load.at, shape))

    def shifted(self, form: Affine) -> Affine:
        """A form over how far indices are from their first values."""
        return form.substitute({name: Affine.var(name) + at for name, at in self.loops.first.items()})

    def made(self) -> list[ir.Value]:
        """The operation; its results."""
        owner, loops = self.owner, self.loops
        maps = [[*map(self.shifted, at)] for _, at in self.operands]
        given = [owner.values[tensor] for tensor, _ in self.operands]
        plain = {
            form.terms[0][0]
            for at in maps
            for form in at
            if form.terms and form == Affine.var(str(form.terms[0][0]))
        }
        if not plain.issuperset(loops.reduced):
            # Upstream reads off operands how many values each loop has.
            maps.append([Affine.var(index) for index in loops.reduced])
            type = str(self.outs[0].type.element_type)
            given.append(owner.room(type, loops, loops.reduced))
        maps += [[Affine.var(index) for index in loops.parallel]] * len(self.outs)
        operation = owner.generic(given, self.outs, maps, loops.parallel, loops.reduced)
        self.fill(operation)
        return list(operation.results)

    def fill(self, operation: ir.Operation) -> None:
        """What is computed for a point."""
        owner = self.owner
        arguments, end = owner.body(operation)
        point = _PointWriter(self, end, dict(zip(self.operands, arguments, strict=False)))
        values = point.block(self.block, {})
        if self.fold is not None:
            fold, rows = self.fold
            before = arguments[len(arguments) - len(self.outs) :]
            values = [point.joined(fold, rows, *pair) for pair in zip(before, values, strict=True)]
        owner.create("linalg.yield", [], values, point.point)


class _PointWriter:
    """The scalar code of an operation, at a point; `given` are its operands."""

    def __init__(
        self,
        generic: _GenericWriter,
        point: ir.InsertionPoint,
        given: Mapping[tuple[str, tuple[Affine, ...]], ir.Value],
    ) -> None:
        self.owner, self.generic, self.point, self.given = generic.owner, generic, point, given

    @cached_property
    def forms(self) -> Mapping[str, Affine]:
        """What indices stand for: numbers of loops, from their first values on."""
        owner, loops = self.owner, self.generic.loops
        found = dict(owner.of_sizes)
        whole = ir.IntegerType.get_signless(64, owner.context)
        for number, index in enumerate(loops.indices):
            attributes = {"dim": ir.IntegerAttr.get(whole, number)}
            made = owner.create("linalg.index", [owner.index_type], [], self.point, attributes).results[0]
            found[index] = owner.variable(made) + loops.first[index].substitute(owner.of_sizes)
        return found

    def block(self, block: Block, values: dict[str, ir.Value]) -> list[ir.Value]:
        """The values that a block gives."""
        for let in block.lets:
            values[let.names[0]] = self.value(let.value, values)
        return [values[name] for name in block.gives]

    def value(self, value: Value, values: dict[str, ir.Value]) -> ir.Value:
        """One value, of others by name."""
        owner = self.owner
        match value:
            case Constant():
                return owner.constant(owner.types[value.type], value.value, self.point)
            case IndexNumber():
                form = owner.affine([value.form.substitute(self.forms)], self.point)
                wide = ir.IntegerType.get_signless(64, owner.context)
                number = owner.create("arith.index_cast", [wide], [form], self.point).results[0]
                return owner.create("arith.sitofp", [owner.types[value.type]], [number], self.point).results[
                    0
                ]
            case Load():
                return self.load(value)
            case Applied():
                return self.applied(value, [values[name] for name in value.operands])
            case Choice():  # both sides are computed, so no read relies on what holds
                then = self.block(value.then, values)[0]
                otherwise = self.block(value.otherwise, values)[0]
                return owner.select(self.test(value.rows), then, otherwise, self.point)
            case _:
                raise UnsupportedIR(f"{type(value).__name__} is no value of linalg", owner.location)

    def test(self, rows: Domain) -> ir.Value:
        """Whether rows hold."""
        return self.owner.holds(tuple(row.substitute(self.forms) for row in rows), self.point)

    def load(self, load: Load) -> ir.Value:
        """An element: an operand, or one that is read where it is, or near where it would be beyond."""
        if (load.tensor, load.at) in self.given:
            return self.given[load.tensor, load.at]
        owner, known = self.owner, self.generic.loops.known
        places: list[ir.Value] = []
        for form, extent in zip(load.at, owner.tensors_of[load.tensor].shape, strict=True):
            here, last = form.substitute(self.forms), (extent - 1).substitute(self.forms)
            if not _holds(Constraint(extent - 1 - form), known):
                here = owner.extreme("affine.min", [here, last], self.point)
            if not _holds(Constraint(form), known):
                here = owner.extreme("affine.max", [here, ZERO], self.point)
            places.append(owner.affine([here], self.point))
        tensor = owner.values[load.tensor]
        made = owner.create("tensor.extract", [tensor.type.element_type], [tensor, *places], self.point)
        return made.results[0]

    def applied(self, value: Applied, operands: list[ir.Value]) -> ir.Value:
        """A function of values."""
        owner, name, type = self.owner, value.function, self.owner.types[value.type]
        scalars = Scalars(owner, self.point, operands[0].type)
        if name == "powi":
            return InOperations(scalars).power(operands[0], value.exponent)
        if name in PREDICATES:
            return scalars.compare(name, *operands)
        if name == "choose":
            return owner.select(operands[0], operands[1], operands[2], self.point)
        if name == "convert":
            return owner.create(conversion(operands[0].type, type), [type], operands, self.point).results[0]
        if name in EXPANSIONS:
            return EXPANSIONS[name](scalars, *operands)
        return owner.create(UPSTREAM.get(name, name), [type], operands, self.point).results[0]

    def joined(self, fold: Fold, rows: Domain, before: ir.Value, value: ir.Value) -> ir.Value:
        """The result of points before and of this one, if it is in the set."""
        join = REDUCTIONS[fold.kind].join
        operation = UPSTREAM.get(join, join)
        made = self.owner.create(operation, [value.type], [before, value], self.point).results[0]
        return made if not rows else self.owner.select(self.test(rows), made, before, self.point)


def _holds(row: Constraint, facts: Domain) -> bool:
    return all(implied(form, facts) for form in row.inequalities)


def _types_of(block: Block) -> Iterator[str]:
    values: dict[str, Value] = {name: let.value for let in block.lets for name in let.names}
    for name in block.gives:
        value = values[name]
        assert not isinstance(value, Fold)
        yield getattr(value, "type")
