"""`tad` functions to loops over memrefs, for the CPU.

Every tensor becomes a buffer that the caller owns: the arguments, then the results, then the
tensors in between, in the order of the text, then the sizes. No buffers overlap, but for those of tensors in
between that are in use at different times.

The loops of each map are a function of their own, `tad_f.0`, `tad_f.1`, …, over the buffers that it uses;
the entry `tad_f` is the nest of the function, which calls them one after the other, for a map that is equal
to another those of the other. A map that may be worth several threads is a nest over a range, and called
through `tad_f.0.split`, which `backend/splitting.py` defines.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from tadc.dialect.locations import ProgramLocations, labelled, unnamed
from tadc.dialect.mlir import ir
from tadc.frontend.dtypes import INDEX_TYPE
from tadc.lattice.affine import ZERO, Affine
from tadc.lattice.late_dataclasses import dataclass, replace
from tadc.passes.cpu.calls import Callee, Calling, DividedFunction, NestFunction, Operands, Sizes
from tadc.passes.cpu.kept_memory import KeptMemory
from tadc.passes.cpu.passing_on import AS_IT_IS, MANY
from tadc.passes.cpu.row_nests import SHIFT, at_once, divided, near_tensors, row_nest
from tadc.passes.cpu.step_functions import StepFunction
from tadc.passes.cpu.step_nests import Follower, StepNest, StepPhases
from tadc.passes.cpu.tape_nests import Saved, Taped, tape_nest
from tadc.passes.cpu.tensor_wrappers import run_alone, wrap_buffers
from tadc.passes.cpu.thread_ranges import Ranges, starts_of
from tadc.passes.maps.blocks import BlockNames, index_arrays, indices_bound
from tadc.passes.maps.buffers import buffer_type, in_shape, location_of, rooms_of, sizes_in, views_of
from tadc.passes.maps.checkpoints import Checkpoints, Leg
from tadc.passes.maps.lower_body import BodyLowering, IndexArrayBuffer
from tadc.passes.maps.map import Map
from tadc.passes.maps.memory_of_tensors import in_memory, memory_of
from tadc.passes.maps.read_maps import read_maps
from tadc.passes.maps.same_maps import Alike, renamed
from tadc.passes.nest.emit import EmitScope, emit_body
from tadc.passes.nest.joins import Point
from tadc.passes.nest.nest import At, Body, Call, Nest, Stage, Statement
from tadc.passes.nest.primitives.apply import apply_steps
from tadc.passes.nest.primitives.divided_ranges import BEGIN
from tadc.passes.nest.sum_points import nest_of
from tadc.passes.nest.windowed import shifted, windowed
from tadc.passes.schedule.choose import plan_alone, runs_together
from tadc.passes.schedule.cpu_machine import CpuMachine
from tadc.passes.schedule.given import Given
from tadc.passes.schedule.joined_maps import as_joined
from tadc.passes.schedule.plans import NestPlan
from tadc.passes.schedule.steps_of_plan import steps_of_plan
from tadc.passes.schedule.text import MapSchedule, text_by_place
from tadc.passes.schedule.work_counts import operations_of


@dataclass(frozen=True)
class Scheduled:
    """The nest that code is made of, and the steps for its map; none where it calls others."""

    schedule: MapSchedule | None
    nest: Nest


def lower_to_loops(
    module: ir.Module,
    function: ir.Operation,
    machine: CpuMachine,
    given: Given | None = None,
    *,
    is_shown: bool = False,
    is_called: bool = False,
) -> list[Scheduled]:
    """Replace a `tad` function by one over buffers, without results, and one for each of its maps.

    One that others of the module call stays as a wrapper, and runs in the thread that calls it.
    Maps whose steps are `given` get these. Gives what code was made of, map by map, then what calls these; of
    equal maps, which have it in common, where that `is_shown`.
    """
    context = module.context
    with context, ir.Location.unknown(context):
        loops = _LoopFunction(function, machine, given or {}, is_shown, is_called)
        loops.lower()
        if is_called:
            wrap_buffers(function, loops.maps, loops.memory)
        else:
            function.erase()
    return [*(loops.scheduled[number] for number in sorted(loops.scheduled)), *loops.callers]


def operations_in(op: ir.Operation) -> int:
    """The number of operations of an operation, itself among them."""
    count = 0

    def visit(_: ir.Operation) -> ir.WalkResult:
        nonlocal count
        count += 1
        return ir.WalkResult.ADVANCE

    op.walk(visit, ir.WalkOrder.PRE_ORDER)
    return count


#: Inlined, all maps would be one function, whose buffers LLVM can tell apart less well. It is text because
#: parsing the attribute `#llvm.linkage<internal>` imports the Python module of LLVM's operations, 20 ms.
_OF_A_MAP = (
    '"func.func"() <{function_type = () -> (), sym_name = "f", sym_visibility = "private"}> ({}) '
    "{llvm.linkage = #llvm.linkage<internal>, llvm.no_inline} : () -> ()"
)


@dataclass(frozen=True)
class Made:
    """The loops of a map, as these see it."""

    plan: NestPlan
    map: Alike
    nest: Nest


class _LoopFunction:
    """A function on its way to loops."""

    def __init__(
        self, function: ir.Operation, machine: CpuMachine, given: Given, is_shown: bool, is_alone: bool
    ) -> None:
        self.function, self.machine, self.given, self.is_shown = function, machine, given, is_shown
        self.is_alone = is_alone
        self.maps = read_maps(function)
        self.memory, self.located = memory_of(self.maps), ProgramLocations(function.context)
        self.locations = [location_of(item, self.located) for item in self.maps.maps]
        self.name = self.maps.name
        self.places: dict[str, list[int]] = {}
        for n, tensor in enumerate(self.memory.tensors):
            self.places.setdefault(tensor.name, []).append(n)
        self.places |= {tensor: self.places[whole] for tensor, whole in self.memory.replaced.items()}
        self.made: dict[tuple[object, ...], Made] = {}
        self.functions: dict[str, NestFunction] = {}
        self.called, self.callers = BlockNames(), list[Scheduled]()
        self.splits: set[str] = set()
        self.place = function.location
        self.tensors = {t.name: t for t in in_memory(self.maps.tensors().values(), self.maps.windows)}
        self.tapes: dict[int, tuple[str, StepFunction, list[Leg], Taped]] = {}
        self.scheduled: dict[int, Scheduled] = {}

    def lower(self) -> None:
        """Define the entry, and what it calls after it."""
        memory, passed = self.memory, len(self.memory.given)
        block = self.define(self.name, range(passed), (), shared=len(memory.temporaries), is_caller=True)
        low, point = BodyLowering(self.function.context), ir.InsertionPoint(block)
        values, once = list(block.arguments), KeptMemory(self.function, self.name)
        values[passed:passed] = once.buffers(memory.kept, low, point)
        body = list[Statement]()
        for together in runs_together(self.maps, self.machine, self.given):
            self.place = self.locations[together[0][0]]
            chain = [(number, plan) for number, plan in together if plan is not None]
            first = self.maps.maps[together[0][0]].marks
            if first.at_sum:
                body.append(self.call_with(*chain[0]))
            elif chain and (first.sweep is not None or first.chain is None):
                body += self.call_sweep(chain)
            elif chain:
                body.append(self.call_chain(chain))
            else:
                body.append(self.call_map(together[0][0]))
        results = dict.fromkeys(tensor.name for tensor in memory.results)
        stages = [Stage(tensor, "global") for tensor in (*memory.temporaries, *memory.kept)]
        nest = Nest(
            self.called.new(f"{self.name.removeprefix('tad_')}_function"),
            tuple({tensor.name: tensor for tensor in (*memory.arguments, *memory.results)}.values()),
            self.maps.sizes, (), self.maps.known, tuple(results), (*stages, *body),
        )  # fmt: skip
        function = NestFunction(self.name, nest, range(len(memory.tensors)), self.place)
        self.emit(function, values, low, point, once)
        if len(nest.body) > 1 or any(isinstance(each, Call) and each.threads for each in nest.body):
            self.callers.append(Scheduled(None, nest))

    def call_map(self, number: int) -> Call:
        """A call of the loops of a map."""
        item = self.maps.maps[number]
        made, this = self.made_of(number, lambda: plan_alone(item, self.maps, self.machine, self.given))
        tensors, own = self.in_memory(self.callee(made, this).tensors), made.map.sizes_of(this)
        call = self.functions[made.nest.name].called(tensors, own)
        return replace(call, once=item.tensors[0] in self.memory.kept)

    def call_with(self, number: int, plan: NestPlan) -> Call:
        """A call of the loops of a map over rows with one over entries in them."""
        self.map(number, f"{self.name}.{number}", plan)
        return self.call(self.functions[self.scheduled[number].nest.name])

    def call(self, function: NestFunction) -> Call:
        return function.called(self.in_memory(tensor.name for tensor in function.nest.tensors))

    def in_memory(self, tensors: Iterable[str]) -> tuple[str, ...]:
        return tuple(self.memory.replaced.get(name, name) for name in tensors)

    def ranges(self, number: int, sizes: Sizes | None = None) -> Ranges:
        """The ranges of a map that has its nest, over sizes or values for them."""
        schedule = self.scheduled[number].schedule
        steps = schedule.steps if schedule else ()
        seen, _ = as_joined(self.maps.maps[number], self.maps, steps)
        shape = (extent.substitute(sizes or {}) for extent in seen.extents)
        return Ranges(steps, dict(zip(seen.indices, shape, strict=True)))

    def function_of(self, number: int, name: str, places: Sequence[int], plan: NestPlan) -> NestFunction:
        """The function of a map's nest, of which threads may each compute a part."""
        item, nest, ranges = self.maps.maps[number], self.scheduled[number].nest, self.ranges(number)
        if not ranges.axes:
            return NestFunction(name, nest, places, self.place)
        axis, *second = ranges.axes
        is_even = second or plan.joins or item.marks.at_sum
        starts = None if is_even else starts_of(item, axis, self.maps.tensors())
        return DividedFunction(
            name, nest, places, self.place, (*[ZERO] * len(ranges.axes), ranges.extents[axis]),
            lambda sizes, low, point: self.ranges(number, sizes).arguments(low, point),
            operations_of(item) if plan.work is None else plan.work, self.split,
            None if starts is None else self.places[starts][0],
        )  # fmt: skip

    def made_of(
        self, number: int, plan: Callable[[], NestPlan], near: Mapping[str, int] | None = None
    ) -> tuple[Made, Alike]:
        """The loops of a map, defined here if there are none of an equal one; and the map, renamed.

        In a chain, of tensors that are `near` the rows of a step alone are kept.
        """
        item, this = self.maps.maps[number], renamed(self.maps.maps[number], self.maps, self.memory)
        # If none is near, the loops of a chain do not take the place of a step.
        shifts = None if near is None else tuple(tensor in near for tensor in this.tensors if near)
        given = self.given.get(item.name)
        # The same steps of equal maps have other names.
        names = (*item.indices, *indices_bound(item.body), *this.tensors, *this.sizes)
        key = this.key, shifts, None if given is None else text_by_place(given, names)
        made = self.made.get(key)
        if made is None:
            planned = self.map(number, f"{self.name}.{number}", plan(), near)
            made = self.made[key] = Made(planned, this, self.scheduled[number].nest)
        elif self.is_shown:
            self.nest(number, made.plan.of_equal(plan()), near)
        return made, this

    def callee(self, made: Made, item: Alike) -> Callee:
        """The nest of a map, which may be that of an equal one, and the tensors of the map for it."""
        own = made.map.tensors_of(item)
        names = tuple(own[tensor.name] for tensor in made.nest.tensors)
        return Callee(made.nest, names)

    def calling(self, function: NestFunction) -> None:
        """Define the function of a nest that calls others."""
        block = self.define(function.symbol, function.places, function.further, is_caller=True)
        low, point = BodyLowering(self.function.context), ir.InsertionPoint(block)
        self.emit(function, list(block.arguments), low, point, None)
        self.functions[function.nest.name] = function
        self.callers.append(Scheduled(None, function.nest))

    def emit(
        self,
        function: NestFunction,
        values: Operands,
        low: BodyLowering,
        point: Point,
        once: KeptMemory | None,
    ) -> None:
        """Make the code of a function of calls; its arguments are buffers, sizes, further values."""
        nest, count, low.location = function.nest, len(function.places), unnamed(function.location)
        buffers, last = dict(zip(function.places, values, strict=False)), count + len(self.maps.sizes)
        forms = sizes_in(low, self.maps, values[count:last])
        forms |= function.forms(values[last:], forms, low, point)
        there = [name for name, own in self.places.items() if buffers.keys() >= set(own)]
        rooms = {name: tuple(buffers[n] for n in self.places[name]) for name in there}
        known = (*low.known, *(row.substitute(forms) for row in nest.known))
        target = Calling(self.functions, self.places, rooms, once)
        emit_body(nest.body, low, EmitScope(point, forms, known, rooms, target=target))
        low.create("func.return", [], [], point)

    def places_in(self, nest: Nest) -> list[int]:
        return sorted({place for tensor in nest.tensors for place in self.places[tensor.name]})

    def split(self, name: str, operands: list[ir.Value], work: ir.Value) -> str:
        """The name of a function that calls another by several threads; its last operand, about how many
        operations that takes."""
        operands.append(work)
        if name not in self.splits:
            self.splits.add(name)
            private = {"sym_visibility": ir.StringAttr.get("private")}
            made = self.create(name, [value.type for value in operands], private)
            if self.is_alone:
                run_alone(made)
        return name

    def call_chain(self, chain: Sequence[tuple[int, NestPlan]]) -> Call:
        """A call of the loops of maps that run one after the other over rows."""
        name, items = f"{self.name}.{chain[0][0]}.rows", [self.maps.maps[n] for n, _ in chain]
        near = near_tensors(items, self.maps, self.memory)
        made = [self.made_of(number, lambda plan=plan: plan, near) for number, plan in chain]
        rows, count = items[0].marks.rows, items[0].extents[items[0].marks.row].constant
        parts = [self.callee(*each) for each in made]
        scales = (item.marks.rows // at_once(item) for item in items)
        called = self.called.new(f"{parts[0].nest.name}_rows")
        nest = row_nest(called, list(zip(parts, scales, strict=True)), self.maps.tensors(), count, rows)
        ends = divided(count, rows)
        function = DividedFunction(
            name, nest, self.places_in(nest), self.place, (ZERO, Affine.const(ends[0])),
            lambda _, low, point: [low.index(n, point) for n in ends],
            sum(each.plan.work for each, _ in made if each.plan.work is not None), self.split,
        )  # fmt: skip
        self.calling(function)
        return self.call(function)

    def call_sweep(self, chain: Sequence[tuple[int, NestPlan]]) -> Body:
        """Calls of the loops of maps that run along with a recurrence, or of one, some steps at a time."""
        name, items = f"{self.name}.{chain[0][0]}.steps", [self.maps.maps[n] for n, _ in chain]
        parts = list[Follower]()
        for (n, plan), item in zip(chain, items, strict=True):
            plan = self.map(n, f"{self.name}.{n}", plan)
            callee = Callee.of(self.scheduled[n].nest)
            ranges = self.ranges(n)
            parts.append(Follower(callee, item, ranges.inside, ranges.grain(ranges.inside), plan.work))
        steps = StepPhases(parts)
        again = [part for part in parts if part.item.marks.tape is not None]
        number = items[0].marks.chain
        if again:
            tape, leader = again[0].item.marks.tape, steps.leader
            assert tape is not None
            there = self.steps(name, replace(steps, in_range=True))
            taken = there
            if len(again) < len(parts):
                leads = StepPhases(again, in_range=True, leads=leader)
                taken = self.steps(f"{name}.again", leads)
            checkpoints = Checkpoints(steps.count.constant, tape)
            taped = Taped(steps.count.constant, leader.sweep.down, self.saved([each.item for each in again]))
            for each in taped.saved:
                places = self.places_in(each.copy)
                self.calling(NestFunction(f"{name}.copy.{places[0]}", each.copy, places, self.place))
            self.tapes[tape.back] = name, taken, checkpoints.back, taped
            return self.call_tape(f"{name}.first", checkpoints.there, (there, None), taped)
        if number is not None and number in self.tapes:
            back = self.steps(name, replace(steps, in_range=True))
            first, taken, legs, taped = self.tapes[number]
            return self.call_tape(f"{first}.back", legs, (taken, back), taped)
        function = self.steps(name, steps)
        rounds = BlockNames({*self.tensors, *self.maps.sizes}).new(f"rounds_of_{function.nest.name}")
        return At(rounds, steps.rounds), function.call(Affine.var(rounds))

    def steps(self, name: str, steps: StepPhases) -> StepFunction:
        """Define a function over buffers and sizes, and over phases of steps, that calls the parts for these;
        where they are in a range, over the step that it begins with too."""
        making = StepNest(steps, BlockNames({*self.tensors, *self.maps.sizes}))
        parts = [steps.parts[0].callee.nest.name, *name.removeprefix(self.name).split(".")[2:]]
        called = self.called.new("_".join(parts))
        nest = making.nest(called, self.tensors, self.maps.sizes, self.maps.known)
        function = StepFunction(name, nest, self.places_in(nest), self.place, making, self.split)
        self.calling(function)
        return function

    def saved(self, items: Sequence[Map]) -> list[Saved]:
        """The tensors of maps of which states are saved."""
        windows = self.maps.windows
        return [
            Saved(self.called.new(f"{t.name}_copy"), self.tensors[t.name], window, item.marks.tape.depth)
            for item in items
            for t in item.tensors
            if item.marks.tape is not None and (window := windows.get(t.name)) is not None
        ]

    def call_tape(
        self, name: str, legs: Sequence[Leg], chains: tuple[StepFunction, StepFunction | None], taped: Taped
    ) -> Body:
        """A call of the loops of a chain that goes through legs."""
        called = self.called.new(f"{chains[0].nest.name}_{name.rpartition('.')[2]}")
        nest = tape_nest(called, legs, chains, taped, self.tensors)
        self.calling(NestFunction(name, nest, self.places_in(nest), self.place))
        names = self.in_memory(tensor.name for tensor in nest.tensors)
        return (Call(nest.name, names, (ZERO, Affine.const(len(legs)))),)

    def map(self, number: int, name: str, plan: NestPlan, near: Mapping[str, int] | None = None) -> NestPlan:
        """Define the loops of a map; its plan in the end.

        Of tensors that are near the rows of a step alone are kept.
        """
        item = self.maps.maps[number]
        items = [each for each in self.maps.maps if item.marks.at_sum and each.marks == item.marks] or [item]
        names = {name for each in items for name in index_arrays(each.body)}
        names |= {name for each in items for name in each.read}
        read = {self.places[name][0] for name in names}
        places = sorted(read.union(*(self.places[t.name] for each in items for t in each.tensors)))
        body = self.outline(number, name, places, plan, near)
        if self.machine.least_work:
            is_chosen = plan.given is None
            while is_chosen and not plan.is_plain and not plan.is_worth(code := operations_in(body)):
                body.erase()
                plan = plan.smaller(code)
                body = self.outline(number, name, places, plan, near)
        self.functions[self.scheduled[number].nest.name] = self.function_of(number, name, places, plan)
        return plan

    def outline(
        self, number: int, name: str, places: Sequence[int], plan: NestPlan, near: Mapping[str, int] | None
    ) -> ir.Operation:
        """Define a function over the tensors at these places that computes a map, or a range of an index."""
        nest = self.nest(number, plan, near)
        block = self.define(name, places, (*self.ranges(number).names, *((SHIFT,) if near else ())))
        given, tensors = list(block.arguments), [self.memory.tensors[n] for n in places]
        low, point = BodyLowering(self.function.context), ir.InsertionPoint(block)
        last = len(tensors) + len(self.maps.sizes)
        forms = sizes_in(low, self.maps, given[len(tensors) : last])
        buffers = rooms_of(self.memory, tensors, views_of(tensors, given, forms, low, point))
        low.location = unnamed(self.locations[number])
        ranges = self.ranges(number, forms)
        if near:
            forms[SHIFT] = low.variable(given.pop())
        forms |= ranges.forms(given[last:], low, point)
        shapes_of = self.maps.tensors()
        known = (*low.known, *(row.substitute(forms) for row in nest.known))
        for tensor in nest.tensors if plan.joins else ():
            if tensor.shape != shapes_of[tensor.name].shape:
                shape = [extent.substitute(forms) for extent in tensor.shape]
                first, *more = [in_shape(b, shape, low, point) for b in buffers[tensor.name]]
                buffers[tensor.name] = first, *more
        low.arrays = {
            t.name: IndexArrayBuffer(
                buffers[t.name][0], tuple(extent.substitute(forms) for extent in t.shape)
            )
            for t in nest.tensors
            if t.type == INDEX_TYPE
        }
        emit_body(nest.body, low, EmitScope(point, forms, known, buffers, indices=tuple(ranges.extents)))
        low.create("func.return", [], [], point)
        return block.owner

    def nest(self, number: int, plan: NestPlan, near: Mapping[str, int] | None) -> Nest:
        """The nest of a map with a plan; tensors that are near have the rows of a step alone."""
        item = self.maps.maps[number]
        steps = steps_of_plan(item, self.maps, plan, self.machine)
        nest = windowed(apply_steps(nest_of(self.maps, item), steps), self.maps.windows)
        if near:
            first = BEGIN * (item.marks.rows // at_once(item))
            nest = shifted(nest, near, SHIFT, first)
        before = self.scheduled.get(number)
        nest = replace(nest, name=before.nest.name if before else self.called.new(nest.name))
        tensors = item.names
        self.scheduled[number] = Scheduled(MapSchedule(tensors, steps), nest)
        return nest

    def define(
        self,
        name: str,
        places: Sequence[int],
        more: Sequence[str],
        *,
        shared: int = 0,
        is_caller: bool = False,
    ) -> ir.Block:
        """A function over the buffers at these places, the sizes, and further index values; its block.

        It is the entry, or one that nothing else calls. The last `shared` tensors may share memory; a
        caller has calls of others alone.
        """
        tensors, names = [self.memory.tensors[n] for n in places], (*self.maps.sizes, *more)
        types = [*map(buffer_type, tensors), *[ir.IndexType.get()] * len(names)]
        unique, plain = ir.DictAttr.get({"llvm.noalias": ir.UnitAttr.get()}), ir.DictAttr.get({})
        attributes = {
            "sym_name": ir.StringAttr.get(name),
            "function_type": ir.TypeAttr.get(ir.FunctionType.get(types, [])),
            "arg_attrs": ir.ArrayAttr.get(
                [unique] * (len(tensors) - shared) + [plain] * (shared + len(names))
            ),
        }
        if is_caller and len(tensors) > MANY:
            attributes |= {f"llvm.{name}": ir.UnitAttr.get() for name in AS_IT_IS}
        made = self.create(name)
        for key, value in attributes.items():
            made.attributes[key] = value
        locations = [labelled(tensor.label, self.located[tensor.place]) for tensor in tensors]
        locations += map(ir.Location.name, names)
        return ir.Block.create_at_start(made.regions[0], types, locations)

    def create(
        self, name: str, types: Sequence[ir.Type] = (), more: Mapping[str, ir.Attribute] | None = None
    ) -> ir.Operation:
        """A function before the one that is lowered: the entry, one of a map, or one that is declared."""
        if name != self.name and more is None:
            made = ir.Operation.parse(f"{_OF_A_MAP} {self.function.location}").operation
            ir.InsertionPoint(self.function).insert(made)
            return made
        attributes = {
            "sym_name": ir.StringAttr.get(name),
            "function_type": ir.TypeAttr.get(ir.FunctionType.get(list(types), [])),
            **(more or {}),
        }
        return ir.Operation.create(
            "func.func", attributes=attributes, regions=1, loc=self.function.location,
            ip=ir.InsertionPoint(self.function),
        )  # fmt: skip
