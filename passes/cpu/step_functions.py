"""Calls of the nest of a sweep, whose phases several threads run through together."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tadc.dialect.mlir import ir
from tadc.lattice.affine import Affine
from tadc.lattice.late_dataclasses import dataclass
from tadc.passes.cpu.calls import NestFunction, Operands, Sizes
from tadc.passes.cpu.step_nests import PHASES, StepNest
from tadc.passes.cpu.thread_ranges import part_of
from tadc.passes.cpu.work import counted_value
from tadc.passes.maps.lower_body import BodyLowering
from tadc.passes.nest.emit import EmitScope
from tadc.passes.nest.joins import Point
from tadc.passes.nest.nest import Call
from tadc.passes.schedule.work_counts import operations_of


@dataclass(frozen=True)
class StepFunction(NestFunction):
    """The code of the nest of a sweep: a function over `PHASES`. `split` declares one that calls it by
    several threads, whose last operand is about how many operations that takes."""

    making: StepNest
    split: Callable[[str, list[ir.Value], ir.Value], str]

    @property
    def further(self) -> tuple[str, ...]:
        """The names of its further arguments."""
        return (*(["begin"] if self.making.steps.in_range else []), *PHASES)

    def forms(self, given: Sequence[ir.Value], sizes: Sizes, low: BodyLowering, point: Point) -> Sizes:
        """What the ranges stand for, where these values are those of a function over `PHASES`."""
        *begin, first, last, part, parts = given
        making, values = self.making, [*begin, first, last, part]
        names = [*([making.begin] if begin else []), making.first, making.last, making.part]
        forms = dict(zip(names, map(low.variable, values), strict=True))
        for extent, names in making.ranges.items():
            ends = part_of(extent.substitute(sizes), making.steps.divided[extent], (part, parts), low, point)
            forms |= zip(names, map(low.variable, ends), strict=True)
        return forms

    def call(self, rounds: Affine, *begin: Affine) -> Call:
        """A call for so many rounds of steps, which may begin with one."""
        steps, nest = self.making.steps, self.nest
        whole = self.making.whole(rounds * len(steps.stages), *begin)
        return Call(nest.name, tuple(tensor.name for tensor in nest.tensors), whole, threads=steps.is_divided)

    def passed(
        self, operands: Operands, call: Call, sizes: Sizes, low: BodyLowering, scope: EmitScope
    ) -> str:
        """Pass on all phases, and how many ranges there are at most."""
        steps, point = self.making.steps, scope.point
        rest = [scope.form(form) for form in call.ranges]
        if steps.in_range:
            operands.append(low.affine([rest.pop(0)], point))
        phases = Affine.const(1) if steps.is_free else rest[1]
        if not steps.is_divided:
            ends = (Affine.const(0), phases, Affine.const(0), Affine.const(1))
            operands += [low.affine([form], point) for form in ends]
            return self.symbol
        most = [scope.form(extent.floordiv(grain)) for extent, grain in steps.divided.items()]
        operands += [low.affine([phases], point), low.affine(most, point, "affine.max")]
        work = self._work(phases, scope.forms, low, point)
        return self.split(f"{self.symbol}.turns", operands, work)

    def _work(self, phases: Affine, forms: Sizes, low: BodyLowering, point: Point) -> ir.Value:
        """About how many operations the phases take: all, or those of a range of steps."""
        steps = self.making.steps
        counted = [operations_of(part.item) if part.work is None else part.work for part in steps.parts]
        known = sum(work for work in counted if isinstance(work, int))
        if steps.in_range:
            each = known // max(steps.count.constant, 1)
            return low.affine([phases.floordiv(len(steps.stages)) * each], point)
        work = low.index(known, point)
        for each in counted:
            if not isinstance(each, int):
                value = counted_value(each, forms, low, point)
                work = low.create("arith.addi", [work.type], [work, value], point).results[0]
        return work
