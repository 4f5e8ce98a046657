"""`tad` functions to loops over memrefs, for the CPU.

Every tensor becomes a buffer that the caller owns: the arguments, then the results, then the
tensors in between, in the order of the text, then the sizes. No buffers overlap, but for those of tensors in
between that are in use at different times.

The loops of each map are a function of their own, `tad_f.0`, `tad_f.1`, …, over the buffers that it uses;
the entry `tad_f` calls them one after the other. A map that may be worth several threads is lowered over a
range of an index, and called through `tad_f.0.split`, which `backend/splitting.py` defines.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tadc.dialect.locations import unnamed
from tadc.dialect.mlir import ir
from tadc.lattice.affine import ZERO, Affine
from tadc.passes.buffers import BufferViews, buffers_of, location_of, maps_of, memref_of, symbol_of
from tadc.passes.divide import ends_of, range_arguments, range_names
from tadc.passes.element_loops import element_loops
from tadc.passes.lower_body import BodyLowering
from tadc.passes.machine import Machine
from tadc.passes.marks import Turn, turn_of
from tadc.passes.plans import Plan, is_worth, operations_in, plan_of
from tadc.passes.steps import Steps, as_map, steps_of
from tadc.passes.wavefronts import wavefronts
from tadc.passes.work import operations_of


def lower_to_loops(module: Any, function: Any, machine: Machine) -> None:
    """Replace a `tad` function by one over buffers, without results, and one for each of its maps."""
    context = module.context
    with context, ir.Location.unknown(context):
        _Loops(function, machine).lower()
    function.erase()


def scalars_above(function: Any, lowering: BodyLowering, point: Any) -> None:
    """Constants that canonicalisation moved out of bodies."""
    for op in function.regions[0].blocks[0].operations:
        if op.operation.name == "arith.constant":
            lowering.location = unnamed(op.operation.location)
            lowering.copy(op.operation, point)


@dataclass(frozen=True)
class Outlined:
    """A function over a map, the places of its buffers among all, and its first extent."""

    name: str
    places: Sequence[int]
    plan: Plan
    turn: Turn | None
    extent: Affine


class _Loops:
    """A function on its way to loops."""

    def __init__(self, function: Any, machine: Machine) -> None:
        self.function, self.machine = function, machine
        self.buffers = buffers_of(function)
        self.name = symbol_of(function)
        self.places: dict[Any, list[int]] = {}
        for n, tensor in enumerate(self.buffers.tensors):
            self.places.setdefault(tensor, []).append(n)

    def lower(self) -> None:
        """Define the entry, and what it calls after it."""
        tensors = self.buffers.tensors
        block = self.define(self.name, tensors, (), shared=len(self.buffers.temporaries))
        entry, point = BodyLowering(self.function.context), ir.InsertionPoint(block)
        given = list(block.arguments)
        shapes = BufferViews(self.buffers, given[len(tensors) :], entry)
        turns: list[Outlined] = []
        for number, op in enumerate(maps_of(self.function)):
            entry.location = unnamed(op.location)
            shape, name = shapes.of(op.results[0]), f"{self.name}.{number}"
            made = self.outlined(op, shape, name, entry)
            turn = turn_of(op)
            if turns and turn != turns[0].turn:
                self.in_turns(turns, given, entry, point)
                turns = []
            if turn is not None:
                turns.append(made)
                continue
            operands = [*(given[n] for n in made.places), *given[len(tensors) :]]
            plan = made.plan
            if plan.axes:
                work = operations_of(op, shape, entry, point) if plan.work is None else plan.work
                operands += range_arguments(plan.axes, shape, plan.schedule, entry, point)
                known = isinstance(work, int)
                operands.append(entry.constant(entry.index_type, work, point) if known else work)
                name = self.declare(f"{name}.split", [v.type for v in operands])
            self.call(name, operands, entry, point)
        if turns:
            self.in_turns(turns, given, entry, point)
        entry.create("func.return", [], [], point)

    def outlined(self, op: Any, shape: Sequence[Affine], name: str, entry: BodyLowering) -> Outlined:
        """The function of a map, defined."""
        tensors = self.buffers.tensors
        plan = plan_of(op, shape, entry.forms, self.machine, self.steps(op))
        used = _values_used(op)
        found = {self.places[v][0] for v in used if v in self.places}
        places = sorted(found.union(*(self.places[result] for result in op.results)))
        made = [tensors[n] for n in places]
        body = self.outline(op, name, made, used, plan)
        if self.machine.least_work and not plan.is_plain and not is_worth(operations_in(body), plan.work):
            body.erase()
            plan = plan.plain
            self.outline(op, name, made, used, plan)
        return Outlined(name, places, plan, turn_of(op), shape[0] if shape else ZERO)

    def call(self, name: str, operands: Sequence[Any], lowering: BodyLowering, point: Any) -> None:
        """A call of a function without results."""
        lowering.create("func.call", [], operands, point, {"callee": ir.FlatSymbolRefAttr.get(name)})

    def in_turns(
        self, maps: Sequence[Outlined], given: Sequence[Any], entry: BodyLowering, point: Any
    ) -> None:
        """Define what calls functions of maps for a few values of their first index by turns, and call it."""
        turn, extent = maps[0].turn, maps[0].extent
        assert turn is not None
        places = sorted({n for made in maps for n in made.places})
        name = f"{maps[0].name}.turns"
        block = self.define(name, [self.buffers.tensors[n] for n in places], ("begin", "end"))
        low = BodyLowering(self.function.context)
        low.location = entry.location
        within = dict(zip(places, block.arguments, strict=False))
        *_, begin, end = block.arguments
        outside = ir.InsertionPoint(block)
        step = low.constant(low.index_type, turn.values, outside)
        loop = low.create("scf.for", [], [begin, end, step], outside, regions=1)
        body = ir.Block.create_at_start(loop.regions[0], [low.index_type], [low.location])
        inside = ir.InsertionPoint(body)
        first = body.arguments[0]
        last = low.affine([low.variable(first) + turn.values], inside)
        for made in maps:
            self.call(made.name, [*(within[n] for n in made.places), first, last], low, inside)
        low.create("scf.yield", [], [], inside)
        low.create("func.return", [], [], outside)
        work = sum(made.plan.work or 0 for made in maps)
        numbers = [extent.constant, turn.values, work]
        operands = [given[n] for n in places]
        operands += [entry.constant(entry.index_type, number, point) for number in numbers]
        self.call(self.declare(f"{name}.split", [v.type for v in operands]), operands, entry, point)

    def steps(self, op: Any) -> Steps | None:
        """The steps of a recurrence, which is a map from now on; None of a map."""
        if op.name != "tad.scan":
            return None
        steps = steps_of(op)
        as_map(op, steps)
        return steps

    def outline(
        self,
        op: Any,
        name: str,
        tensors: Sequence[Any],
        used: Sequence[Any],
        plan: Plan,
    ) -> Any:
        """Define a function over these tensors that computes a map, or a range of an index of it."""
        block = self.define(name, tensors, range_names(plan.axes), is_small=plan.is_small)
        given, sizes = list(block.arguments), self.buffers.sizes
        lowering, point = BodyLowering(self.function.context), ir.InsertionPoint(block)
        last = len(tensors) + len(sizes)
        shapes = BufferViews(self.buffers, given[len(tensors) : last], lowering)
        views = [shapes.view(t, buffer, point) for t, buffer in zip(tensors, given, strict=False)]
        lowering.memrefs, lowering.copies = self.buffers.by_tensor(tensors, views)
        for value in used:
            scalar = _constant_above(value)
            if scalar is not None:
                lowering.location = unnamed(scalar.location)
                lowering.copy(scalar, point)
        lowering.location = unnamed(op.location)
        shape = shapes.of(op.results[0])
        ends = ends_of(plan.axes, shape, plan.schedule, given[last:], lowering, point)
        if plan.steps is not None and plan.steps.order is not None:
            wavefronts(op, shape, lowering, point, plan.steps.order)
        else:
            element_loops(op, shape, lowering, point, plan.parts, ends, plan.schedule, plan.steps)
        lowering.create("func.return", [], [], point)
        return block.owner

    def define(
        self,
        name: str,
        tensors: Sequence[Any],
        more: Sequence[str],
        *,
        shared: int = 0,
        is_small: bool = False,
    ) -> Any:
        """A function over buffers of tensors, the sizes, and further index values; its block.

        It is the entry, or one that nothing else calls. The last `shared` tensors may share memory; a small
        one is to have little code.
        """
        sizes = self.buffers.sizes
        index = ir.IndexType.get()
        types = [*(memref_of(v.type) for v in tensors), *(v.type for v in sizes), *[index] * len(more)]
        unique, plain = ir.DictAttr.get({"llvm.noalias": ir.UnitAttr.get()}), ir.DictAttr.get({})
        attributes = {
            "sym_name": ir.StringAttr.get(name),
            "function_type": ir.TypeAttr.get(ir.FunctionType.get(types, [])),
            "arg_attrs": ir.ArrayAttr.get(
                [unique] * (len(tensors) - shared) + [plain] * (shared + len(sizes) + len(more))
            ),
        }
        if name != self.name:
            attributes |= {
                "sym_visibility": ir.StringAttr.get("private"),
                "llvm.linkage": ir.Attribute.parse("#llvm.linkage<internal>"),
                # LLVM would make of all maps one function, whose buffers it can tell apart less well.
                "llvm.no_inline": ir.UnitAttr.get(),
            }
        if is_small:
            attributes["passthrough"] = ir.ArrayAttr.get([ir.StringAttr.get("optsize")])
        made = ir.Operation.create(
            "func.func", attributes=attributes, regions=1, loc=self.function.location,
            ip=ir.InsertionPoint(self.function),
        )  # fmt: skip
        places = [location_of(v) for v in (*tensors, *sizes)] + [ir.Location.name(n) for n in more]
        return ir.Block.create_at_start(made.regions[0], types, places)

    def declare(self, name: str, types: Sequence[Any]) -> str:
        """Declare a function over values of these types."""
        attributes = {
            "sym_name": ir.StringAttr.get(name),
            "function_type": ir.TypeAttr.get(ir.FunctionType.get(list(types), [])),
            "sym_visibility": ir.StringAttr.get("private"),
        }
        ir.Operation.create(
            "func.func", attributes=attributes, regions=1, loc=self.function.location,
            ip=ir.InsertionPoint(self.function),
        )  # fmt: skip
        return name


def _values_used(op: Any) -> list[Any]:
    """The operands of all operations in a map, each once."""
    found: dict[Any, None] = {}

    def visit(inner: Any) -> Any:
        found.update(dict.fromkeys(inner.operands))
        return ir.WalkResult.ADVANCE

    op.walk(visit)
    return list(found)


def _constant_above(value: Any) -> Any:
    """The constant of the function that a value is; None where it is another value."""
    owner = value.owner
    if isinstance(owner, ir.Block) or owner.name != "arith.constant" or owner.parent.name != "func.func":
        return None
    return owner
