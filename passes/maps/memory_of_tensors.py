"""The memory of a function's tensors: what a caller gives, what it gets, what is in between, and how long."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property

from tadc.lattice.late_dataclasses import dataclass, replace
from tadc.passes.maps.kept import kept_tensors
from tadc.passes.maps.map import Block, Choice, Load, Map, MapFunction, TensorDecl, Window


@dataclass(frozen=True)
class Memory:
    """The tensors of a function by role, in the order of the lowered function's arguments.

    A tensor that is returned twice is two results. The shape of a temporary is that of its memory. For each
    `spans` has the number of the map that computes it, and of the last that reads it: the first and the last
    of a chain, whose maps run by turns.
    Tensors that are `replaced` are in the memory of another, which is computed from them in place. Those that
    are `kept` from call to call have memory of their own, and are no arguments.
    """

    arguments: tuple[TensorDecl, ...]
    results: tuple[TensorDecl, ...]
    temporaries: tuple[TensorDecl, ...]
    spans: tuple[tuple[int, int], ...]
    replaced: Mapping[str, str]
    kept: tuple[TensorDecl, ...]

    @property
    def given(self) -> tuple[TensorDecl, ...]:
        """Those of the lowered function's arguments, in order."""
        return (*self.arguments, *self.results, *self.temporaries)

    @property
    def tensors(self) -> tuple[TensorDecl, ...]:
        """All, in order; those that are kept come last."""
        return (*self.given, *self.kept)

    @cached_property
    def places(self) -> Counter[str]:
        """How often each tensor is among all."""
        return Counter(tensor.name for tensor in self.tensors)


def memory_of(function: MapFunction) -> Memory:
    """The memory that a function needs."""
    tensors = function.tensors()
    replaced: dict[str, str] = {}
    for item in reversed(function.maps):
        if name := completed(item):
            last = item.name
            replaced[name] = replaced.get(last, last)
    kept = kept_tensors(function)
    own = {*function.results, *replaced, *(tensor.name for tensor in kept)}
    temporaries = [tensor for item in function.maps for tensor in item.tensors if tensor.name not in own]
    windows = function.windows
    return Memory(
        function.arguments,
        tuple(tensors[name] for name in function.results),
        in_memory(temporaries, windows),
        tuple(_spans(function, temporaries, replaced)),
        replaced,
        kept,
    )


def in_memory(tensors: Iterable[TensorDecl], windows: Mapping[str, Window]) -> tuple[TensorDecl, ...]:
    """Tensors in the shapes that they have in memory."""
    return tuple(
        replace(tensor, shape=windows[tensor.name].shape(tensor.shape)) if tensor.name in windows else tensor
        for tensor in tensors
    )


def completed(item: Map) -> str | None:
    """The tensor in whose memory a map that is marked `in_place` stores its elements; None of another map."""
    if not item.marks.in_place:
        return None
    choice = _given(item.body)
    assert isinstance(choice, Choice)
    load = _given(choice.otherwise)
    assert isinstance(load, Load)
    return load.tensor


def _given(block: Block) -> object:
    (name,) = block.gives
    return next(let.value for let in block.lets if name in let.names)


def _spans(
    function: MapFunction, temporaries: Sequence[TensorDecl], replaced: Mapping[str, str]
) -> Iterator[tuple[int, int]]:
    """For each tensor the number of the map that computes it, or those that it replaces, and of the last that
    reads it."""
    maps = function.maps
    first = {tensor.name: number for number, item in enumerate(maps) for tensor in item.tensors}
    last = dict(first)
    for before, after in replaced.items():
        first[after] = min(first[after], first[before])
    for number, item in enumerate(maps):
        last.update((load.tensor, number) for load in item.loads())
    ends: dict[int, tuple[int, int]] = {}
    for chain in chains_in(maps):
        ends |= dict.fromkeys(chain, (chain[0], chain[-1]))
    for chain in chains_in(maps):
        for name, end in _again(maps, chain, ends):
            last[name] = max(last.get(name, end), end)
    for tensor in temporaries:
        yield ends[first[tensor.name]][0], ends[last[tensor.name]][1]


def _again(
    maps: Sequence[Map], chain: Sequence[int], ends: Mapping[int, tuple[int, int]]
) -> Iterator[tuple[str, int]]:
    """The tensors that maps of a chain use again when it runs again, and the last map of the chain that it
    runs again for."""
    items = [maps[n] for n in chain]
    for item in items:
        if item.marks.tape is None:
            continue
        back = next(n for n, other in enumerate(maps) if other.marks.chain == item.marks.tape.back)
        for name in (*item.names, *item.read):
            yield name, ends[back][1]


def chains_in(maps: Sequence[Map]) -> list[list[int]]:
    """The numbers of maps that run together, those of a chain or one."""
    found: list[list[int]] = []
    for number, item in enumerate(maps):
        chain = item.marks.chain
        if number and chain is not None and chain == maps[number - 1].marks.chain:
            found[-1].append(number)
        else:
            found.append([number])
    return found
