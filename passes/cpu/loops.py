"""`tad` functions to loops over memrefs, for the CPU.

Every tensor becomes a buffer that the caller owns: the arguments, then the results, then the
tensors in between, in the order of the text, then the sizes. No buffers overlap, but for those of tensors in
between that are in use at different times.

The loops of each map are a function of their own, `tad_f.0`, `tad_f.1`, …, over the buffers that it uses;
the entry `tad_f` calls them one after the other, for a map that is equal to another those of the other. A
map that may be worth several threads is lowered over a range of an index, and called through
`tad_f.0.split`, which `backend/splitting.py` defines.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tadc.dialect.locations import unnamed
from tadc.dialect.mlir import ir
from tadc.passes.cpu.ranges import Ranges, range_names
from tadc.passes.cpu.row_loops import (
    ROW_RANGE,
    SHIFT,
    Part,
    at_once,
    divided,
    near_tensors,
    row_loop,
    rows_of,
)
from tadc.passes.cpu.work import counted_value
from tadc.passes.maps.buffers import (
    BufferViews,
    buffers_of,
    chains_in,
    location_of,
    maps_of,
    memref_of,
    symbol_of,
)
from tadc.passes.maps.equal_maps import Key, Renamed, renamed, values_used
from tadc.passes.maps.lower_body import BodyLowering
from tadc.passes.maps.machine import Machine
from tadc.passes.maps.read_maps import read_maps_and_names
from tadc.passes.maps.regions import region_operations
from tadc.passes.nest.emit import Scope, emit_body
from tadc.passes.nest.nest import Nest
from tadc.passes.nest.plain import plain_nest
from tadc.passes.nest.primitives.apply import apply_steps
from tadc.passes.nest.shifted import shifted
from tadc.passes.nest.steps import Rows, Steps
from tadc.passes.schedule.cpu_machine import cpu_machine
from tadc.passes.schedule.given import Given
from tadc.passes.schedule.operations import operations_of
from tadc.passes.schedule.plans import Plan, is_worth, plan_in_chain, plan_of
from tadc.passes.schedule.steps_of_plan import steps_of_plan


def lower_to_loops(
    module: ir.Module, function: ir.Operation, machine: Machine, given: Given | None = None
) -> None:
    """Replace a `tad` function by one over buffers, without results, and one for each of its maps.

    Maps whose steps are `given` get these.
    """
    context = module.context
    with context, ir.Location.unknown(context):
        _Loops(function, machine, given or {}).lower()
    function.erase()


def operations_in(op: ir.Operation) -> int:
    """The number of operations of an operation of one region, itself among them."""
    return 1 + sum(1 for _ in region_operations(op.regions[0].blocks[0]))


#: Inlined, all maps would be one function, whose buffers LLVM can tell apart less well. It is text because
#: parsing the attribute `#llvm.linkage<internal>` imports the Python module of LLVM's operations, 20 ms.
_OF_A_MAP = (
    '"func.func"() <{function_type = () -> (), sym_name = "f", sym_visibility = "private"}> ({}) '
    "{llvm.linkage = #llvm.linkage<internal>, llvm.no_inline} : () -> ()"
)

Planned = tuple[int, ir.Operation, Plan]
"""A map with its number and its plan."""


@dataclass(frozen=True)
class Made:
    """The loops of a map: a function over the tensors at some places, then all sizes."""

    name: str
    places: list[int]
    plan: Plan
    map: Renamed
    number: int


@dataclass(frozen=True)
class Calls:
    """The entry, where it calls the loops of maps: its buffers and sizes, and the shapes these make."""

    entry: BodyLowering
    point: ir.InsertionPoint
    given: Sequence[ir.Value]
    sizes: Sequence[ir.Value]
    shapes: BufferViews

    def operands(self, places: Sequence[int], sizes: Sequence[ir.Value]) -> list[ir.Value]:
        """The buffers at some places, and sizes."""
        return [*(self.given[n] for n in places), *sizes]


class _Loops:
    """A function on its way to loops."""

    def __init__(self, function: ir.Operation, machine: Machine, given: Given) -> None:
        self.function, self.machine, self.given = function, cpu_machine(machine), given
        self.buffers = buffers_of(function)
        self.name = symbol_of(function)
        self.places: dict[ir.Value, list[int]] = {}
        for n, tensor in enumerate(self.buffers.tensors):
            self.places.setdefault(tensor, []).append(n)
        self.places |= {tensor: self.places[last] for tensor, last in self.buffers.replaced.items()}
        self.made: dict[tuple[Key, Steps | None], Made] = {}
        self.maps, self.names = read_maps_and_names(function)
        self.numbers = {op: n for n, op in enumerate(maps_of(function))}
        self.splits: set[str] = set()

    def lower(self) -> None:
        """Define the entry, and what it calls after it."""
        tensors = self.buffers.tensors
        block = self.define(self.name, tensors, (), shared=len(self.buffers.temporaries))
        entry, point = BodyLowering(self.function.context), ir.InsertionPoint(block)
        given = list(block.arguments)
        shapes = BufferViews(self.buffers, given[len(tensors) :], entry)
        maps = maps_of(self.function)
        calls = Calls(entry, point, given[: len(tensors)], given[len(tensors) :], shapes)
        for together in chains_in(maps):
            for chain in self.chains({n: maps[n] for n in together}, calls):
                if isinstance(chain, int):
                    self.call_map(chain, maps[chain], calls)
                else:
                    self.call_chain(chain, calls)
        entry.create("func.return", [], [], point)

    def chains(self, maps: Mapping[int, ir.Operation], calls: Calls) -> Iterator[list[Planned] | int]:
        """Those maps together that run as a chain, with their plans; the numbers of the others.

        A map that cannot run in a chain comes after those that do not wait for it.
        """
        waiting, plans = list(maps), dict[int, Plan | None].fromkeys(maps)
        if len(maps) > 1:
            for n in maps:
                plans[n] = self.plan_in_chain(n)
        while waiting:
            chain: list[Planned] = []
            left: dict[ir.Value, None] = {}
            for n in waiting:
                op, plan = maps[n], plans[n]
                if plan is None or not left.keys().isdisjoint(values_used(op)):
                    left |= dict.fromkeys(op.results)
                else:
                    chain.append((n, op, plan))
            if len(chain) == 1 or all(self.maps.maps[n].marks.steps for n, _, _ in chain):
                yield waiting.pop(0)
            else:
                yield chain
                together = {n for n, _, _ in chain}
                waiting = [n for n in waiting if n not in together]

    def steps_given(self, number: int) -> Steps | None:
        """The steps that are given for a map."""
        return self.given.get(self.maps.maps[number].tensors[0].name)

    def plan(self, number: int) -> Plan:
        """The plan of a map."""
        plan, steps = plan_of(self.maps.maps[number], self.maps, self.machine), self.steps_given(number)
        return plan if steps is None else plan.with_steps(steps)

    def plan_in_chain(self, number: int) -> Plan | None:
        """The plan of a map in a chain; None where it is computed by itself."""
        item, steps = self.maps.maps[number], self.steps_given(number)
        if steps is None:
            return plan_in_chain(item, self.maps, self.machine)
        in_rows = any(isinstance(step, Rows) for step in steps)
        return plan_of(item, self.maps, self.machine).with_steps(steps) if in_rows else None

    def call_map(self, number: int, op: ir.Operation, calls: Calls) -> None:
        """Call the loops of a map in the entry, defined here if there are none of an equal one."""
        entry, point = calls.entry, calls.point
        entry.location = unnamed(op.location)
        shape = calls.shapes.of(op.results[0])
        this = renamed(op, self.buffers)
        key = this.key, self.steps_given(number)
        made = self.made.get(key)
        if made is None:
            name, plan = f"{self.name}.{number}", self.plan(number)
            made = self.made[key] = Made(name, *self.map(op, name, plan), this, number)
        name, plan, operands = made.name, made.plan, self.operands(made, this, calls)
        if plan.axes:
            item = self.maps.maps[number]
            sizes = {self.names[size]: entry.forms[size] for size in self.buffers.sizes}
            work = plan.work
            if work is None:
                work = counted_value(operations_of(item), sizes, entry, point)
            operands += Ranges(plan, self.maps.maps[made.number].indices, shape).arguments(entry, point)
            name = self.split(name, operands, work, entry, point)
        entry.create("func.call", [], operands, point, {"callee": ir.FlatSymbolRefAttr.get(name)})

    def operands(self, made: Made, op: Renamed, calls: Calls) -> list[ir.Value]:
        """The buffers and sizes of a map as those of the equal one that loops were made of."""
        tensors, sizes = made.map.tensors_of(op), made.map.sizes_of(op)
        # A tensor that is returned twice has several; one that another is computed in has those of that.
        moved: dict[int, int] = {}
        for tensor, other in tensors.items():
            moved |= dict(zip(self.places[tensor], self.places[other], strict=False))
        places = [moved[place] for place in made.places]
        given = [calls.sizes[sizes.get(n, n)] for n in range(len(calls.sizes))]
        return calls.operands(places, given)

    def split(
        self, name: str, operands: list[ir.Value], work: Any, entry: BodyLowering, point: ir.InsertionPoint
    ) -> str:
        """The function that calls another on ranges; its last operand, about how many operations it takes."""
        operands.append(entry.constant(entry.index_type, work, point) if isinstance(work, int) else work)
        name = f"{name}.split"
        if name not in self.splits:
            self.splits.add(self.declare(name, [v.type for v in operands]))
        return name

    def call_chain(self, chain: Sequence[Planned], calls: Calls) -> None:
        """The same for maps that run one after the other over rows."""
        entry, point, name = calls.entry, calls.point, f"{self.name}.{chain[0][0]}.rows"
        entry.location = unnamed(chain[0][1].location)
        near = near_tensors([op for _, op, _ in chain], self.buffers.temporaries)
        made = [(f"{self.name}.{n}", *self.map(op, f"{self.name}.{n}", plan, near)) for n, op, plan in chain]
        places = sorted({place for _, used, _ in made for place in used})
        block = self.define(name, [self.buffers.tensors[n] for n in places], ROW_RANGE)
        parts = [
            Part(part, [places.index(n) for n in used], rows_of(op) // at_once(op))
            for (part, used, _), (_, op, _) in zip(made, chain, strict=True)
        ]
        op = chain[0][1]
        count = op.results[0].type.shape[0]
        row_loop(block, parts, count, rows_of(op), shifts=bool(near))
        operands = calls.operands(places, calls.sizes)
        operands += [entry.constant(entry.index_type, n, point) for n in divided(count, rows_of(op))]
        work = sum(plan.work for _, _, plan in made if plan.work is not None)
        name = self.split(name, operands, work, entry, point)
        entry.create("func.call", [], operands, point, {"callee": ir.FlatSymbolRefAttr.get(name)})

    def map(
        self, op: ir.Operation, name: str, plan: Plan, near: Sequence[ir.Value] = ()
    ) -> tuple[list[int], Plan]:
        """Define the loops of a map: the places of the tensors that it uses, and its plan in the end.

        Of tensors that are near the rows of a step alone are kept.
        """
        used = values_used(op)
        found = {self.places[v][0] for v in used if v in self.places}
        places = sorted(found.union(*(self.places[result] for result in op.results)))
        tensors = [self.buffers.tensors[n] for n in places]
        body = self.outline(op, name, tensors, used, plan, near)
        if self.machine.least_work:
            while (
                plan.given is None
                and not plan.is_plain
                and not is_worth(code := operations_in(body), plan.work)
            ):
                body.erase()
                plan = plan.smaller(code)
                body = self.outline(op, name, tensors, used, plan, near)
        return places, plan

    def outline(
        self,
        op: ir.Operation,
        name: str,
        tensors: Sequence[ir.Value],
        used: Sequence[ir.Value],
        plan: Plan,
        near: Sequence[ir.Value],
    ) -> Any:
        """Define a function over these tensors that computes a map, or a range of an index of it."""
        more = (*range_names(plan.axes), *(SHIFT if near else ()))
        block = self.define(name, tensors, more, is_small=plan.is_small)
        given, sizes = list(block.arguments), self.buffers.sizes
        lowering, point = BodyLowering(self.function.context), ir.InsertionPoint(block)
        last = len(tensors) + len(sizes)
        shapes = BufferViews(self.buffers, given[len(tensors) : last], lowering)
        views = [shapes.view(t, buffer, point) for t, buffer in zip(tensors, given, strict=False)]
        lowering.memrefs, lowering.copies = self.buffers.by_tensor(tensors, views)
        lowering.location = unnamed(op.location)
        number = self.numbers[op]
        forms = {self.names[size]: lowering.forms[size] for size in sizes}
        if near:
            forms[SHIFT[0]] = lowering.variable(given.pop())
        ranges = Ranges(plan, self.maps.maps[number].indices, shapes.of(op.results[0]))
        forms |= ranges.forms(given[last:], lowering, point)
        buffers = {
            self.names[v]: (buffer, *lowering.copies.get(v, ())) for v, buffer in lowering.memrefs.items()
        }
        nest = self.nest(number, plan, [self.names[tensor] for tensor in near])
        known = (*lowering.known, *ranges.facts(forms))
        emit_body(
            nest.body, lowering, Scope(point, forms, known, buffers, indices=self.maps.maps[number].indices)
        )
        lowering.create("func.return", [], [], point)
        return block.owner

    def nest(self, number: int, plan: Plan, near: Sequence[str]) -> Nest:
        """The nest of a map with a plan; tensors that are near have the rows of a step alone."""
        item = self.maps.maps[number]
        steps = steps_of_plan(item, self.maps, plan, self.machine)
        nest = apply_steps(plain_nest(self.maps, item), steps)
        return shifted(nest, near, SHIFT[0]) if near else nest

    def define(
        self,
        name: str,
        tensors: Sequence[ir.Value],
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
        if is_small:
            attributes["llvm.optsize"] = ir.UnitAttr.get()
        made = self.create(name)
        for key, value in attributes.items():
            made.attributes[key] = value
        places = [location_of(v) for v in (*tensors, *sizes)] + [ir.Location.name(n) for n in more]
        return ir.Block.create_at_start(made.regions[0], types, places)

    def create(self, name: str) -> Any:
        """A function before the one that is lowered, without arguments: the entry, or one of a map."""
        if name != self.name:
            made = ir.Operation.parse(f"{_OF_A_MAP} {self.function.location}").operation
            ir.InsertionPoint(self.function).insert(made)
            return made
        attributes = {
            "sym_name": ir.StringAttr.get(name),
            "function_type": ir.TypeAttr.get(ir.FunctionType.get([], [])),
        }
        return ir.Operation.create(
            "func.func", attributes=attributes, regions=1, loc=self.function.location,
            ip=ir.InsertionPoint(self.function),
        )  # fmt: skip

    def declare(self, name: str, types: Sequence[ir.Type]) -> str:
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
