"""Calls of nests as calls of the functions that code of these is in."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Mapping, Sequence

from tadc.dialect.locations import unnamed
from tadc.dialect.mlir import ir
from tadc.frontend.terms import Domain
from tadc.lattice.affine import Affine
from tadc.lattice.amounts import Counted
from tadc.lattice.late_dataclasses import dataclass, replace
from tadc.passes.cpu.kept_memory import KeptMemory
from tadc.passes.cpu.work import counted_value
from tadc.passes.maps.lower_body import BodyLowering, IndexArrayBuffer
from tadc.passes.maps.map import TensorDecl
from tadc.passes.nest.emit import EmitScope, EmitTarget, function_start
from tadc.passes.nest.joins import Point
from tadc.passes.nest.nest import Body, Call, Nest, Stage

Sizes = Mapping[str, Affine]
"""Forms of sizes, or of ranges, by name."""

Operands = list[ir.Value]


@dataclass(frozen=True)
class Callee:
    """A nest, and the tensors in the place of its own."""

    nest: Nest
    tensors: tuple[str, ...]

    @classmethod
    def of(cls, nest: Nest) -> Callee:
        """A nest and its own tensors."""
        return cls(nest, tuple(tensor.name for tensor in nest.tensors))

    @property
    def computed(self) -> list[str]:
        """The tensors that it computes."""
        own = (tensor.name for tensor in self.nest.tensors)
        return [name for name, other in zip(self.tensors, own, strict=True) if other in self.nest.computed]


def calling(
    name: str,
    parts: Sequence[Callee],
    tensors: Mapping[str, TensorDecl],
    ranges: tuple[str, ...],
    known: Domain,
    body: Body,
    sizes: tuple[str, ...] = (),
) -> Nest:
    """A nest that calls others, over those of some tensors that these take."""
    used = {tensor for part in parts for tensor in part.tensors}
    made = dict.fromkeys(tensor for part in parts for tensor in part.computed)
    given = tuple(tensor for tensor in tensors.values() if tensor.name in used)
    computed = tuple(tensor.name for tensor in given if tensor.name in made)
    return Nest(name, given, sizes, ranges, known, computed, body)


@dataclass(frozen=True)
class NestFunction:
    """The code of a nest: a function over the buffers at some places, sizes, and values of the ranges."""

    symbol: str
    nest: Nest
    places: Sequence[int]
    location: ir.Location

    @property
    def further(self) -> tuple[str, ...]:
        """The names of its further arguments."""
        return self.nest.ranges

    def forms(self, given: Sequence[ir.Value], sizes: Sizes, low: BodyLowering, point: Point) -> Sizes:
        """What the ranges stand for, by its further arguments."""
        return dict(zip(self.nest.ranges, map(low.variable, given), strict=True))

    def called(self, tensors: Sequence[str], sizes: Mapping[str, str] | None = None) -> Call:
        """A call over tensors, where some sizes of the nest have other names."""
        own = [(sizes or {}).get(name, name) for name in self.nest.sizes]
        forms = () if own == [*self.nest.sizes] else tuple(map(Affine.var, own))
        return Call(self.nest.name, tuple(tensors), sizes=forms)

    def passed(
        self, operands: Operands, call: Call, sizes: Sizes, low: BodyLowering, scope: EmitScope
    ) -> str:
        """Pass on values of the ranges, behind buffers and sizes; the function that takes all of these."""
        operands += [low.affine([scope.form(form)], scope.point) for form in call.ranges]
        return self.symbol


class Calling(EmitTarget):
    """One thread of a CPU, which calls functions, by the names of their nests; tensors have buffers at some
    `places`, one that is returned twice at two."""

    def __init__(
        self,
        functions: Mapping[str, NestFunction],
        places: Mapping[str, Sequence[int]],
        rooms: Mapping[str, tuple[ir.Value, ...]],
        memory: KeptMemory | None,
    ) -> None:
        self.functions, self.places, self.rooms, self.memory = functions, places, rooms, memory

    def call(self, call: Call, low: BodyLowering, scope: EmitScope) -> None:
        """A call of a function."""
        if call.once and self.memory is not None:
            again, point = replace(call, once=False), scope.point
            self.memory.fill(low, point, lambda here: self.call(again, low, replace(scope, point=here)))
            return
        function = self.functions[call.nest]
        nest, buffers = function.nest, dict[int, ir.Value]()
        for own, name in zip(nest.tensors, call.tensors, strict=True):
            buffers |= zip(self.places[own.name], scope.buffers[name], strict=False)
        sizes = [scope.form(form) for form in call.sizes or map(Affine.var, nest.sizes)]
        operands = [buffers[place] for place in function.places]
        operands += [low.affine([form], scope.point) for form in sizes]
        forms = dict(zip(nest.sizes, sizes, strict=True))
        low.location = unnamed(function.location)
        symbol = function.passed(operands, call, forms, low, scope)
        callee = {"callee": ir.FlatSymbolRefAttr.get(symbol)}
        low.create("func.call", [], operands, scope.point, callee)

    def room(self, stage: Stage, low: BodyLowering, scope: EmitScope) -> ir.Value:
        """A buffer for a tensor, which is given; of an index array whose elements are known, a constant."""
        tensor = stage.tensor
        if tensor.name in self.rooms:
            return self.rooms[tensor.name][0]
        if not tensor.elements:
            return super().room(stage, low, scope)
        place = function_start(scope.point)
        function = place.block.owner.operation
        i32 = ir.IntegerType.get_signless(32, low.context)
        shape = [len(tensor.elements)]
        type = ir.MemRefType.get(shape, i32)
        name = f"{ir.StringAttr(function.attributes['sym_name']).value}.{tensor.name}"
        attributes = {
            "sym_name": ir.StringAttr.get(name),
            "sym_visibility": ir.StringAttr.get("private"),
            "type": ir.TypeAttr.get(type),
            "initial_value": ir.DenseElementsAttr.get(array("i", tensor.elements), type=i32, shape=shape),
            "constant": ir.UnitAttr.get(),
        }
        before = ir.InsertionPoint(function)
        ir.Operation.create("memref.global", attributes=attributes, loc=function.location, ip=before)
        found = {"name": ir.FlatSymbolRefAttr.get(name)}
        room = low.create("memref.get_global", [type], [], scope.point, found).results[0]
        low.arrays[tensor.name] = IndexArrayBuffer(room, tensor.shape)
        return room


@dataclass(frozen=True)
class DividedFunction(NestFunction):
    """The code of the nest of a range, which is `whole` as long as nothing divides it.

    `split` declares a function that calls it by several threads: `arguments` say how it may be divided, by
    the forms of sizes, and its last operand about how many operations it takes. The buffer at the place
    `starts` says how long each row is, where rows are not alike.
    """

    whole: tuple[Affine, ...]
    arguments: Callable[[Sizes, BodyLowering, Point], Operands]
    work: Counted | int
    split: Callable[[str, Operands, ir.Value], str]
    starts: int | None = None

    def called(self, tensors: Sequence[str], sizes: Mapping[str, str] | None = None) -> Call:
        """A call for the whole range."""
        call = super().called(tensors, sizes)
        meanings = dict(zip(self.nest.sizes, call.sizes, strict=False))
        return replace(call, ranges=tuple(form.substitute(meanings) for form in self.whole), threads=True)

    def passed(
        self, operands: Operands, call: Call, sizes: Sizes, low: BodyLowering, scope: EmitScope
    ) -> str:
        """Pass on how the range may be divided."""
        if not call.threads:
            return super().passed(operands, call, sizes, low, scope)
        work, buffers = self.work, dict(zip(self.places, operands, strict=False))
        if not isinstance(work, int):
            work = counted_value(work, sizes, low, scope.point)
        operands += self.arguments(sizes, low, scope.point)
        if self.starts is not None:
            operands.append(buffers[self.starts])
        if isinstance(work, int):
            work = low.index(work, scope.point)
        return self.split(f"{self.symbol}.{'split' if self.starts is None else 'spread'}", operands, work)
