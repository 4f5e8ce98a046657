"""Calls of nests as calls of the functions that code of these is in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tadc.dialect.mlir import ir
from tadc.frontend.terms import Domain
from tadc.lattice.affine import Affine
from tadc.passes.maps.lower_body import BodyLowering
from tadc.passes.maps.map import Tensor
from tadc.passes.nest.emit import Scope, Target
from tadc.passes.nest.nest import Body, Call, Nest


@dataclass(frozen=True)
class Callee:
    """A nest, and the tensors in the place of its own."""

    nest: Nest
    tensors: tuple[str, ...]

    @property
    def computed(self) -> list[str]:
        """The tensors that it computes."""
        own = (tensor.name for tensor in self.nest.tensors)
        return [name for name, other in zip(self.tensors, own, strict=True) if other in self.nest.computed]


def calling(
    name: str,
    parts: Sequence[Callee],
    tensors: Mapping[str, Tensor],
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
class Function:
    """The code of a nest: a function over the buffers at some places, sizes, and values of the ranges."""

    symbol: str
    nest: Nest
    places: Sequence[int]


class Calling(Target):
    """One thread of a CPU, which calls functions, by the names of their nests; tensors have buffers at some
    `places`, one that is returned twice at two."""

    def __init__(self, functions: Mapping[str, Function], places: Mapping[str, Sequence[int]]) -> None:
        self.functions, self.places = functions, places

    def call(self, call: Call, low: BodyLowering, scope: Scope) -> None:
        """A call of a function."""
        function = self.functions[call.nest]
        nest, buffers = function.nest, dict[int, ir.Value]()
        for own, name in zip(nest.tensors, call.tensors, strict=True):
            buffers |= zip(self.places[own.name], scope.buffers[name], strict=False)
        forms = (*(call.sizes or map(Affine.var, nest.sizes)), *call.ranges)
        values = [low.affine([scope.form(form)], scope.point) for form in forms]
        operands = [*(buffers[place] for place in function.places), *values]
        callee = {"callee": ir.FlatSymbolRefAttr.get(function.symbol)}
        low.create("func.call", [], operands, scope.point, callee)
