"""What each map of a kernel of this machine computes and moves, and in which order the kernel calls them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import prod
from typing import Any

from tadc.analysis.statistics import fused_form
from tadc.compiler.all_stages import compile_until
from tadc.compiler.compile_options import Options
from tadc.compiler.stages import Compilation, scheduled_loops
from tadc.dialect.mlir import LOCK
from tadc.frontend.extents import shape_at
from tadc.frontend.program import Program
from tadc.frontend.specialise import specialised
from tadc.lattice.late_dataclasses import dataclass
from tadc.passes.nest.nest import Call, For, If, Nest
from tadc.passes.terms.costs import ELEMENT
from tadc.passes.terms.operation_counts import count_maps
from tadc.passes.terms.work_regions import NOTHING, Work


@dataclass(frozen=True)
class CalledMaps:
    """What an entry calls once: the tensors that it computes, and those that it reads."""

    computes: tuple[str, ...]
    reads: tuple[str, ...]


@dataclass(frozen=True)
class CostOfMaps:
    """The work of maps, and the bytes that they have to read and write at least, each element once."""

    work: Work
    bytes: int
    dtype: str


class MapCosts:
    """The costs of the maps of a program, as it is compiled by options, for values of its size symbols.

    Of a program with symbols each tensor of a map is counted by itself: what they share counts for each.
    """

    def __init__(self, program: Program, options: Options, sizes: Mapping[str, int]) -> None:
        fused, together = fused_form(program, "value", (), options)
        if fused.sizes:
            fused, together = specialised(fused, {name: sizes[name] for name in fused.sizes}), None
        called = _names_in_kernel(fused, called_maps(program, options))
        self._works = {
            tuple(called[name] for name in names): work for names, work in count_maps(fused, together).items()
        }
        self._types = {called.get(name, name): type for name, type in fused.types().items()}
        shapes = {called.get(name, name): shape_at(shape, {}) for name, shape in fused.shapes().items()}
        self._bytes = {name: ELEMENT[self._types[name]] * prod(shape) for name, shape in shapes.items()}
        self.arguments = tuple(a.name for a in fused.arguments)
        self.results = tuple(d.name for d in fused.outputs)

    def of(self, maps: CalledMaps) -> CostOfMaps | None:
        """The cost of what an entry calls; None where that has other tensors, of another division of sums."""
        if not maps.computes or not {*maps.computes, *maps.reads} <= self._bytes.keys():
            return None
        works = [work for names, work in self._works.items() if {*names} & {*maps.computes}]
        return self._cost(sum(works, NOTHING), {*maps.computes, *maps.reads}, maps.computes)

    def whole(self) -> CostOfMaps:
        """The cost of a call: what it computes, and its arguments and results."""
        return self._cost(sum(self._works.values(), NOTHING), {*self.arguments, *self.results}, self.results)

    def _cost(self, work: Work, tensors: Iterable[str], computes: Sequence[str]) -> CostOfMaps:
        touched = sum(self._bytes[name] for name in tensors)
        # Of a tensor of which few elements are read, the others stay where they are.
        least = min(touched, work.loaded + work.stored) or touched
        return CostOfMaps(work, least, self._types[computes[0]])


def _names_in_kernel(fused: Program, called: Sequence[CalledMaps]) -> dict[str, str]:
    """What kernels call the tensors of a fused program, which has new names for those without one."""
    own = [d.name for d in fused.definitions]
    names = [name for maps in called for name in maps.computes]
    is_same = len(own) == len(names) and all(
        a == b or a not in names for a, b in zip(own, names, strict=True)
    )
    return dict(zip(own, names if is_same else own, strict=True))


def called_maps(program: Program, options: Options) -> list[CalledMaps]:
    """What the entry of a kernel of a CPU calls, in order. Raises CompileError as the stages do."""
    state = Compilation(options.of_derived, program.source, program=program)
    compile_until(state, "hoist", first="tad")
    with LOCK:
        (scheduled,) = scheduled_loops(state)
    nests = {made.nest.name: made.nest for made in scheduled}
    entry = scheduled[-1].nest
    calls = list(_calls(entry.body))
    if not calls:
        return [_called(entry, [t.name for t in entry.tensors])]
    return [_called(nests[call.nest], call.tensors) for call in calls]


def _called(nest: Nest, tensors: Sequence[str]) -> CalledMaps:
    own = dict(zip((t.name for t in nest.tensors), tensors, strict=True))
    computes = tuple(own[name] for name in nest.computed)
    return CalledMaps(computes, tuple(name for name in own.values() if name not in computes))


def _calls(body: Sequence[Any]) -> Iterator[Call]:
    """The calls of statements, in the order of the text."""
    for statement in body:
        match statement:
            case Call():
                yield statement
            case For():
                yield from _calls(statement.body)
            case If():
                yield from _calls(statement.then)
                yield from _calls(statement.otherwise)
            case _:
                pass
