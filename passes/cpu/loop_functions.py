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

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from tadc.dialect.locations import unnamed
from tadc.dialect.mlir import ir
from tadc.lattice.affine import Affine
from tadc.passes.cpu.calls import Callee, Calling, Function
from tadc.passes.cpu.kept_memory import KeptMemory
from tadc.passes.cpu.passing_on import AS_IT_IS, MANY
from tadc.passes.cpu.row_nests import SHIFT, at_once, divided, near_tensors, row_nest
from tadc.passes.cpu.step_nests import PHASES, STEPS, Follower, StepNest, Steps
from tadc.passes.cpu.tape_loops import Saved, TapeLoops, stack_of
from tadc.passes.cpu.thread_ranges import Ranges, grain_in_steps, range_names, starts_of
from tadc.passes.cpu.work import counted_value
from tadc.passes.maps.blocks import Names, index_arrays, indices_bound
from tadc.passes.maps.buffers import (
    BufferViews,
    buffers_of,
    in_shape,
    location_of,
    maps_of,
    symbol_of,
)
from tadc.passes.maps.equal_maps import Key, Renamed, renamed
from tadc.passes.maps.lower_body import BodyLowering, IndexArray
from tadc.passes.maps.map import Map
from tadc.passes.maps.memory_of_tensors import memory_of
from tadc.passes.maps.read_maps import read_maps_and_names
from tadc.passes.nest.emit import Scope, emit_body
from tadc.passes.nest.nest import Nest
from tadc.passes.nest.primitives.apply import apply_steps
from tadc.passes.nest.primitives.divided_ranges import BEGIN
from tadc.passes.nest.shifted import shifted
from tadc.passes.nest.sum_points import nest_of
from tadc.passes.nest.windowed import in_memory, windowed
from tadc.passes.schedule.choose import plan_alone, runs_together
from tadc.passes.schedule.cpu_machine import CpuMachine
from tadc.passes.schedule.given import Given
from tadc.passes.schedule.joined_maps import as_joined
from tadc.passes.schedule.plans import Plan, is_small, is_worth
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
) -> list[Scheduled]:
    """Replace a `tad` function by one over buffers, without results, and one for each of its maps.

    Maps whose steps are `given` get these. Gives what code was made of, map by map, then what calls these; of
    equal maps, which have it in common, where that `is_shown`.
    """
    context = module.context
    with context, ir.Location.unknown(context):
        loops = _Loops(function, machine, given or {}, is_shown)
        loops.lower()
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


#: Which of a map's tensors are near in its chain; None for a map that runs by itself.
Shifts = tuple[bool, ...] | None


RangesOf = Callable[
    [Sequence[ir.Value], Mapping[str, Affine], BodyLowering, ir.InsertionPoint], dict[str, Affine]
]
"""What the ranges of a nest stand for, by the further arguments of its function and the forms of sizes."""


@dataclass(frozen=True)
class Made:
    """The loops of a map, as these see it: a function over the tensors at some places, then all sizes."""

    name: str
    places: list[int]
    plan: Plan
    map: Renamed
    seen: Map
    nest: Nest


@dataclass(frozen=True)
class Calls:
    """The entry, where it calls the loops of maps: its buffers and sizes, and the forms of sizes by name."""

    entry: BodyLowering
    point: ir.InsertionPoint
    given: Sequence[ir.Value]
    sizes: Mapping[str, ir.Value]
    forms: Mapping[str, Affine]

    def operands(self, places: Sequence[int], sizes: Iterable[str]) -> list[ir.Value]:
        """The buffers at some places, and sizes."""
        return [*(self.given[n] for n in places), *(self.sizes[name] for name in sizes)]

    def call(self, name: str, operands: Sequence[ir.Value]) -> None:
        """Call a function."""
        callee = {"callee": ir.FlatSymbolRefAttr.get(name)}
        self.entry.create("func.call", [], operands, self.point, callee)


class _Loops:
    """A function on its way to loops."""

    def __init__(self, function: ir.Operation, machine: CpuMachine, given: Given, is_shown: bool) -> None:
        self.function, self.machine, self.given, self.is_shown = function, machine, given, is_shown
        self.maps, self.names = read_maps_and_names(function)
        self.memory, self.buffers = memory_of(self.maps), buffers_of(self.maps, self.names)
        self.locations = [op.location for op in maps_of(function)]
        self.name = symbol_of(function)
        self.places: dict[str, list[int]] = {}
        for n, tensor in enumerate(self.memory.tensors):
            self.places.setdefault(tensor.name, []).append(n)
        self.places |= {tensor: self.places[whole] for tensor, whole in self.memory.replaced.items()}
        self.made: dict[tuple[Key, Shifts, str | None], Made] = {}
        self.functions: dict[str, Function] = {}
        self.callers: list[Scheduled] = []
        self.splits: set[str] = set()
        self.tapes: dict[int, tuple[TapeLoops, ir.Value]] = {}
        self.scheduled: dict[int, Scheduled] = {}

    def lower(self) -> None:
        """Define the entry, and what it calls after it."""
        count, passed = len(self.buffers.tensors), len(self.buffers.given)
        block = self.define(
            self.name, range(passed), (), shared=len(self.buffers.temporaries), is_caller=True
        )
        entry, point = BodyLowering(self.function.context), ir.InsertionPoint(block)
        memory = KeptMemory(self.function, self.name)
        given = list(block.arguments)
        given[passed:passed] = memory.buffers(self.buffers.kept, entry, point)
        forms = BufferViews(self.buffers, given[count:], entry).by_name(self.maps.sizes)
        sizes = dict(zip(self.maps.sizes, given[count:], strict=True))
        calls = Calls(entry, point, given[:count], sizes, forms)
        kept = self.kept()
        if kept:
            memory.fill(entry, point, lambda inside: self.call_kept(kept, replace(calls, point=inside)))
        for together in runs_together(self.maps, self.machine, self.given):
            if together[0][0] in kept:
                continue
            entry.location = unnamed(self.locations[together[0][0]])
            chain = [(number, plan) for number, plan in together if plan is not None]
            first = self.maps.maps[together[0][0]].marks
            if first.at_sum:
                self.call_with(*chain[0], calls)
            elif chain and (first.sweep is not None or first.chain is None):
                self.call_sweep(chain, calls)
            elif chain:
                self.call_chain(chain, calls)
            else:
                self.call_map(together[0][0], calls)
        entry.create("func.return", [], [], point)

    def kept(self) -> list[int]:
        """The numbers of the maps whose tensors are kept."""
        names = {tensor.name for tensor in self.memory.kept}
        return [n for n, item in enumerate(self.maps.maps) if item.tensors[0].name in names]

    def call_kept(self, numbers: Sequence[int], calls: Calls) -> None:
        """Call the loops of these maps."""
        for number in numbers:
            calls.entry.location = unnamed(self.locations[number])
            self.call_map(number, calls)

    def call_map(self, number: int, calls: Calls) -> None:
        """Call the loops of a map in the entry."""
        item = self.maps.maps[number]
        made, this = self.made_of(number, lambda: plan_alone(item, self.maps, self.machine, self.given))
        sizes = made.map.sizes_of(this)
        operands = calls.operands(
            self.places_of(made, this), (sizes.get(name, name) for name in self.maps.sizes)
        )
        name, plan = made.name, made.plan
        if plan.axes:
            work = plan.work
            if work is None:
                work = counted_value(operations_of(item), calls.forms, calls.entry, calls.point)
            forms = {name: calls.forms[sizes.get(name, name)] for name in self.maps.sizes}
            extents = [extent.substitute(forms) for extent in made.seen.extents]
            operands += Ranges(plan, made.seen.indices, extents).arguments(calls.entry, calls.point)
            starts = None if plan.axes[1:] or plan.joins else self.starts(item, made)
            if starts is not None:
                operands.append(calls.given[self.places[starts][0]])
            kind = "split" if starts is None else "spread"
            name = self.split(f"{name}.{kind}", operands, work, calls)
        calls.call(name, operands)

    def starts(self, item: Map, made: Made) -> str | None:
        """The array that says how long the rows of a map are, whose loops were made for an equal one."""
        axes = [own for own, n in zip(item.indices, made.seen.indices, strict=True) if n in made.plan.axes]
        return starts_of(item, axes[0], self.maps.tensors()) if axes else None

    def call_with(self, number: int, plan: Plan, calls: Calls) -> None:
        """Call the loops of a map over rows with one over entries in them."""
        item, name = self.maps.maps[number], f"{self.name}.{number}"
        places, plan = self.map(number, name, plan)
        operands = calls.operands(places, self.maps.sizes)
        if plan.axes:
            operands += Ranges(plan, item.indices, item.extents).arguments(calls.entry, calls.point)
            name = self.split(f"{name}.split", operands, plan.work or 0, calls)
        calls.call(name, operands)

    def made_of(
        self, number: int, plan: Callable[[], Plan], near: Mapping[str, int] | None = None
    ) -> tuple[Made, Renamed]:
        """The loops of a map, defined here if there are none of an equal one; and the map, renamed.

        In a chain, of tensors that are `near` the rows of a step alone are kept.
        """
        item, this = self.maps.maps[number], renamed(self.maps.maps[number], self.maps, self.memory)
        # If none is near, the loops of a chain do not take the place of a step.
        shifts = None if near is None else tuple(tensor in near for tensor in this.tensors if near)
        given = self.given.get(item.tensors[0].name)
        # The same steps of equal maps have other names.
        names = (*item.indices, *indices_bound(item.body), *this.tensors, *this.sizes)
        key = this.key, shifts, None if given is None else text_by_place(given, names)
        made = self.made.get(key)
        if made is None:
            name = f"{self.name}.{number}"
            places, planned = self.map(number, name, plan(), near)
            seen, _ = as_joined(item, self.maps, planned.joins)
            nest = self.scheduled[number].nest
            made = self.made[key] = Made(name, places, planned, this, seen, nest)
        elif self.is_shown:
            self.nest(number, made.plan.of_equal(plan()), near)
        return made, this

    def callee(self, made: Made, item: Renamed) -> Callee:
        """The nest of a map, which may be that of an equal one, and the tensors of the map for it."""
        own = made.map.tensors_of(item)
        names = tuple(own[tensor.name] for tensor in made.nest.tensors)
        self.functions[made.nest.name] = Function(made.name, made.nest, made.places)
        return Callee(made.nest, names)

    def calling(
        self, function: Function, more: Sequence[str] | None = None, ranges: RangesOf | None = None
    ) -> None:
        """Define the function of a nest that calls others; one of further arguments than its ranges has these
        of them."""
        nest, places, more = function.nest, function.places, more or function.nest.ranges
        block = self.define(function.symbol, places, more, is_caller=True)
        low, point = BodyLowering(self.function.context), ir.InsertionPoint(block)
        values = list(block.arguments)
        buffers = dict(zip(places, values, strict=False))
        sizes = values[len(places) : len(values) - len(more)]
        views = BufferViews(self.buffers, sizes, low)
        forms = views.by_name(self.maps.sizes)
        given = values[len(places) + len(sizes) :]
        if ranges is not None:
            forms |= ranges(given, forms, low, point)
        else:
            forms |= zip(nest.ranges, map(low.variable, given), strict=True)
        by_name = {t.name: tuple(buffers[n] for n in self.places[t.name]) for t in nest.tensors}
        known = (*low.known, *(row.substitute(forms) for row in nest.known))
        target = Calling(self.functions, self.places)
        emit_body(nest.body, low, Scope(point, forms, known, by_name, target=target))
        low.create("func.return", [], [], point)
        self.functions[nest.name] = function
        self.callers.append(Scheduled(None, nest))

    def places_of(self, made: Made, item: Renamed) -> list[int]:
        """The places of a map's tensors, as those of the equal one that loops were made of."""
        # A tensor that is returned twice has several; one that another is computed in has those of that.
        moved: dict[int, int] = {}
        for tensor, other in made.map.tensors_of(item).items():
            moved |= dict(zip(self.places[tensor], self.places[other], strict=False))
        return [moved[place] for place in made.places]

    def split(self, name: str, operands: list[ir.Value], work: int | ir.Value, calls: Calls) -> str:
        """The name of a function that calls another by several threads; its last operand, about how many
        operations that takes."""
        entry = calls.entry
        operands.append(entry.index(work, calls.point) if isinstance(work, int) else work)
        if name not in self.splits:
            self.splits.add(self.declare(name, [v.type for v in operands]))
        return name

    def call_chain(self, chain: Sequence[tuple[int, Plan]], calls: Calls) -> None:
        """Call the loops of maps that run one after the other over rows."""
        name, items = f"{self.name}.{chain[0][0]}.rows", [self.maps.maps[n] for n, _ in chain]
        near = near_tensors(items, self.maps, self.memory)
        made = [self.made_of(number, lambda plan=plan: plan, near) for number, plan in chain]
        places = sorted({place for each in made for place in self.places_of(*each)})
        rows, count = items[0].marks.rows, items[0].extents[items[0].marks.row].constant
        parts = [self.callee(*each) for each in made]
        scales = (item.marks.rows // at_once(item) for item in items)
        called = f"{parts[0].nest.name}_rows"
        nest = row_nest(called, list(zip(parts, scales, strict=True)), self.maps.tensors(), count, rows)
        self.calling(Function(name, nest, places))
        operands = calls.operands(places, self.maps.sizes)
        operands += [calls.entry.index(n, calls.point) for n in divided(count, rows)]
        work = sum(each.plan.work for each, _ in made if each.plan.work is not None)
        calls.call(self.split(f"{name}.split", operands, work, calls), operands)

    def call_sweep(self, chain: Sequence[tuple[int, Plan]], calls: Calls) -> None:
        """Call the loops of maps that run along with a recurrence, or of one, some steps at a time."""
        name, items = f"{self.name}.{chain[0][0]}.steps", [self.maps.maps[n] for n, _ in chain]
        places, parts = set[int](), list[Follower]()
        for (number, plan), item in zip(chain, items, strict=True):
            symbol = f"{self.name}.{number}"
            used, plan = self.map(number, symbol, plan)
            nest = self.scheduled[number].nest
            self.functions[nest.name] = Function(symbol, nest, used)
            callee = Callee(nest, tuple(tensor.name for tensor in nest.tensors))
            parts.append(Follower(callee, item, plan.divided, grain_in_steps(item, plan), plan.work))
            places |= set(used)
        places = sorted(places)
        steps = Steps(parts)
        again = [part for part in parts if part.item.marks.tape is not None]
        if again:
            self.range_of_steps(name, places, replace(steps, in_range=True))
            self.range_of_steps(f"{name}.again", places, Steps(again, in_range=True, leads=steps.leader))
            self.call_tape(name, places, [part.item for part in again], steps.leader.item, calls)
        elif items[0].marks.chain in self.tapes:
            self.range_of_steps(name, places, replace(steps, in_range=True))
            tape, stack = self.tapes[items[0].marks.chain]
            self.add(tape.back(name, [self.buffer_type(n) for n in places]))
            calls.call(f"{tape.name}.back", [*calls.operands([*tape.places, *places], ()), stack])
        else:
            self.steps(name, places, steps)
            operands, entry, point = calls.operands(places, self.maps.sizes), calls.entry, calls.point
            phases = entry.index(1, point)
            if not steps.is_free:
                rounds = [form.substitute(calls.forms) for form in steps.rounds.forms]
                rounds = entry.extreme("affine.max", rounds, point)
                phases = entry.affine([rounds * len(steps.stages)], point)
            self.call_steps(name, operands, steps, phases, lambda: self.work_of(steps, calls), calls)

    def steps(self, name: str, places: Sequence[int], steps: Steps) -> None:
        """Define a function over buffers and sizes, and over phases of steps, that calls the parts for these;
        where they are in a range, over the step that it begins with too."""
        more = (*STEPS[:1], *PHASES) if steps.in_range else PHASES
        windows, sizes = self.maps.windows, self.maps.sizes
        tensors = {tensor.name: tensor for tensor in in_memory(self.maps.tensors().values(), windows)}
        making = StepNest(steps, Names({*tensors, *sizes}))
        called = "_".join([steps.parts[0].callee.nest.name, *name.removeprefix(self.name).split(".")[2:]])
        nest = making.nest(called, tensors, sizes, self.maps.known)
        self.calling(Function(name, nest, places), more, making.forms)

    def call_steps(
        self,
        name: str,
        operands: list[ir.Value],
        steps: Steps,
        phases: ir.Value,
        work: Callable[[], ir.Value],
        calls: Calls,
    ) -> None:
        """Call a function over phases for so many, by several threads if they divide something; `work` says
        about how many operations that takes."""
        entry, point = calls.entry, calls.point
        if not steps.is_divided:
            ends = entry.index(0, point), phases, entry.index(0, point), entry.index(1, point)
            calls.call(name, [*operands, *ends])
            return
        most = [extent.floordiv(grain).substitute(calls.forms) for extent, grain in steps.divided.items()]
        operands += [phases, entry.affine(most, point, "affine.max")]
        calls.call(self.split(f"{name}.turns", operands, work(), calls), operands)

    def work_of(self, steps: Steps, calls: Calls) -> ir.Value:
        """About how many operations all steps take."""
        entry, point = calls.entry, calls.point
        counted = [operations_of(part.item) if part.work is None else part.work for part in steps.parts]
        known = sum(work for work in counted if isinstance(work, int))
        work = entry.index(known, point)
        for each in counted:
            if not isinstance(each, int):
                value = counted_value(each, calls.forms, entry, point)
                work = entry.create("arith.addi", [work.type], [work, value], point).results[0]
        return work

    def range_of_steps(self, name: str, places: Sequence[int], steps: Steps) -> None:
        """Define a function over buffers of known sizes and a range of steps."""
        self.steps(f"{name}.phases", places, steps)
        block, low = self.define(name, places, STEPS, is_caller=True), BodyLowering(self.function.context)
        point, (*buffers, begin, end) = ir.InsertionPoint(block), block.arguments
        calls = Calls(low, point, buffers, {}, {})
        taken = low.variable(end) - low.variable(begin)
        phases = low.affine([taken * len(steps.stages)], point)
        each = sum(part.work or 0 for part in steps.parts) // max(steps.count.constant, 1)

        def work() -> ir.Value:
            return low.affine([taken * each], point)

        self.call_steps(f"{name}.phases", [*buffers, begin], steps, phases, work, calls)
        low.create("func.return", [], [], point)

    def call_tape(
        self, name: str, places: Sequence[int], items: Sequence[Map], leader: Map, calls: Calls
    ) -> None:
        """Call the loops of a chain, of which these maps run again, with room for the steps that it saves."""
        tape, sweep = items[0].marks.tape, leader.marks.sweep
        assert tape is not None
        assert sweep is not None
        stack = stack_of(tape, calls.entry, calls.point)
        count, types = leader.extents[sweep.index].constant, [self.buffer_type(n) for n in places]
        saved = [
            Saved(places.index(self.places[tensor.name][0]), window, item.marks.tape.depth)
            for item in items
            for tensor in item.tensors
            if item.marks.tape is not None and (window := self.maps.windows.get(tensor.name)) is not None
        ]
        loops = TapeLoops(name, places, types, tape, sweep.down, count, saved)
        self.add(loops.first())
        self.tapes[tape.back] = loops, stack
        calls.call(f"{name}.first", [*calls.operands(places, ()), stack])

    def buffer_type(self, place: int) -> ir.Type:
        """The type of the buffer at a place."""
        return self.buffers.type_of(self.buffers.tensors[place])

    def add(self, text: str) -> None:
        """Take the functions that a module defines, as text, before the one that is lowered."""
        module = ir.Module.parse(text, self.function.context)
        for made in [op.operation for op in module.body.operations]:
            if made.regions[0].blocks:
                made.detach_from_parent()
                ir.InsertionPoint(self.function).insert(made)

    def map(
        self, number: int, name: str, plan: Plan, near: Mapping[str, int] | None = None
    ) -> tuple[list[int], Plan]:
        """Define the loops of a map: the places of the tensors that it uses, and its plan in the end.

        Of tensors that are near the rows of a step alone are kept.
        """
        item = self.maps.maps[number]
        items = [each for each in self.maps.maps if item.marks.at_sum and each.marks == item.marks] or [item]
        names = {name for each in items for name in index_arrays(each.body)}
        names |= {load.tensor for each in items for load in each.loads()}
        read = {self.places[name][0] for name in names}
        places = sorted(read.union(*(self.places[t.name] for each in items for t in each.tensors)))
        body = self.outline(number, name, places, plan, near)
        if self.machine.least_work:
            while (
                plan.given is None
                and not plan.is_plain
                and not is_worth(code := operations_in(body), plan.work)
            ):
                body.erase()
                plan = plan.smaller(code)
                body = self.outline(number, name, places, plan, near)
        if is_small(operations_in(body), plan, self.machine):
            body.attributes["llvm.optsize"] = ir.UnitAttr.get()
        return places, plan

    def outline(
        self, number: int, name: str, places: Sequence[int], plan: Plan, near: Mapping[str, int] | None
    ) -> ir.Operation:
        """Define a function over the tensors at these places that computes a map, or a range of an index."""
        item = self.maps.maps[number]
        more = (*range_names(plan), *((SHIFT,) if near else ()))
        block = self.define(name, places, more)
        given, tensors = list(block.arguments), [self.buffers.tensors[n] for n in places]
        low, point = BodyLowering(self.function.context), ir.InsertionPoint(block)
        last = len(tensors) + len(self.maps.sizes)
        shapes = BufferViews(self.buffers, given[len(tensors) : last], low)
        views = [shapes.view(t, buffer, point) for t, buffer in zip(tensors, given, strict=False)]
        low.memrefs, low.copies = self.buffers.by_tensor(tensors, views)
        low.location = unnamed(self.locations[number])
        forms = shapes.by_name(self.maps.sizes)
        seen, _ = as_joined(item, self.maps, plan.joins)
        ranges = Ranges(plan, seen.indices, [extent.substitute(forms) for extent in seen.extents])
        if near:
            forms[SHIFT] = low.variable(given.pop())
        forms |= ranges.forms(given[last:], low, point)
        buffers = {self.names[v]: (buffer, *low.copies.get(v, ())) for v, buffer in low.memrefs.items()}
        known = (*low.known, *ranges.facts(forms))
        nest, shapes_of = self.nest(number, plan, near), self.maps.tensors()
        for tensor in nest.tensors if plan.joins else ():
            if tensor.shape != shapes_of[tensor.name].shape:
                shape = [extent.substitute(forms) for extent in tensor.shape]
                first, *more = [in_shape(b, shape, low, point) for b in buffers[tensor.name]]
                buffers[tensor.name] = first, *more
        low.arrays = {
            t.name: IndexArray(buffers[t.name][0], tuple(extent.substitute(forms) for extent in t.shape))
            for t in nest.tensors
            if t.type == "i32"
        }
        emit_body(nest.body, low, Scope(point, forms, known, buffers, indices=seen.indices))
        low.create("func.return", [], [], point)
        return block.owner

    def nest(self, number: int, plan: Plan, near: Mapping[str, int] | None) -> Nest:
        """The nest of a map with a plan; tensors that are near have the rows of a step alone."""
        item = self.maps.maps[number]
        steps = steps_of_plan(item, self.maps, plan, self.machine)
        nest = windowed(apply_steps(nest_of(self.maps, item), steps), self.maps.windows)
        if near:
            first = BEGIN * (item.marks.rows // at_once(item))
            nest = shifted(nest, near, SHIFT, first)
        tensors = tuple(tensor.name for tensor in item.tensors)
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
        tensors, sizes = [self.buffers.tensors[n] for n in places], self.buffers.sizes
        index = ir.IndexType.get()
        types = [*(self.buffers.type_of(v) for v in tensors), *(v.type for v in sizes), *[index] * len(more)]
        unique, plain = ir.DictAttr.get({"llvm.noalias": ir.UnitAttr.get()}), ir.DictAttr.get({})
        attributes = {
            "sym_name": ir.StringAttr.get(name),
            "function_type": ir.TypeAttr.get(ir.FunctionType.get(types, [])),
            "arg_attrs": ir.ArrayAttr.get(
                [unique] * (len(tensors) - shared) + [plain] * (shared + len(sizes) + len(more))
            ),
        }
        if is_caller and len(tensors) > MANY:
            attributes |= {f"llvm.{name}": ir.UnitAttr.get() for name in AS_IT_IS}
        made = self.create(name)
        for key, value in attributes.items():
            made.attributes[key] = value
        places = [location_of(v) for v in (*tensors, *sizes)] + [ir.Location.name(n) for n in more]
        return ir.Block.create_at_start(made.regions[0], types, places)

    def create(self, name: str) -> ir.Operation:
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
