"""Calls of the nest of a range, of which several threads may each take a part."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from tadc.dialect.mlir import ir
from tadc.lattice.affine import Affine
from tadc.lattice.amounts import Counted
from tadc.passes.cpu.calls import NestFunction, Operands, Sizes
from tadc.passes.cpu.work import counted_value
from tadc.passes.maps.lower_body import BodyLowering
from tadc.passes.nest.emit import EmitScope
from tadc.passes.nest.joins import Point
from tadc.passes.nest.nest import Call


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
