"""Calls of kernels on arrays that are divided over devices: each device computes its block.

The partitioning is `jax.custom_partitioning`'s, with a rule for Shardy. What goes along with an axis of
blocks is divided; neighbours lend what a window reads beyond (`ppermute`); parts of sums are joined (`psum`).
"""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false
# JAX leaves much of itself untyped.

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

from jax.experimental.custom_partitioning import ArrayMapping, SdyShardingRule, custom_partitioning
from jax.sharding import NamedSharding, PartitionSpec

from tadc.jax.derived import Derived
from tadc.jax.device_calls import Axes, DeviceCall
from tadc.jax.division import DividedCall, count, divided, may_divide
from tadc.jax.gather_warnings import warn_of_gathered

Call = Callable[[Derived, Sequence[Any]], list[Any]]


class Partitioning:
    """The rules for a call with arrays of these shapes."""

    def __init__(self, derived: Derived, call: Call, shapes: tuple[tuple[int, ...], ...]) -> None:
        self.derived, self.function, self.call = derived, derived.function, call
        self.shapes = dict(zip(self.function.inputs, shapes, strict=True))
        self.shapes |= zip(self.function.outputs, derived.shapes.results(shapes), strict=True)
        sizes = derived.shapes.sizes(shapes)
        self.sizes = {name: sizes[name] for name in self.function.program.sizes}
        self.names = (*self.function.inputs, *self.function.outputs)
        self._divisions: dict[Any, DividedCall | None] = {}

    def __call__(self, *arrays: Any) -> list[Any]:
        """The results, traced for what JAX partitions."""
        made = custom_partitioning(self._whole)
        made.def_partition(self._partition, sharding_rule=self._rule)
        return made(*arrays)

    def _whole(self, *arrays: Any) -> list[Any]:
        return self.call(self.derived, arrays)

    @cached_property
    def axes(self) -> list[str]:
        """The axes of blocks."""
        if not may_divide(self.function):
            return []
        return [axis.name for axis in self.function.block.axes]

    def _division(self, pieces: Mapping[str, int], ring: tuple[str, str] | None = None) -> DividedCall | None:
        key = tuple(pieces.items()), ring
        if key not in self._divisions:
            self._divisions[key] = divided(self.function, self.sizes, pieces, ring) if pieces else None
        return self._divisions[key]

    def _over(self, mesh: Any, along: Axes) -> DividedCall | None:
        """The division along axes of a mesh: of those over the same devices, in a ring."""
        pieces = {axis: count(mesh.shape, names) for axis, names in along.items()}
        axes = list(along)
        shared = [(a, b) for n, b in enumerate(axes) for a in axes[:n] if along[a] == along[b]]
        return self._division(pieces, shared[0] if shared else None) if len(shared) < 2 else None

    def _along(self, axis: str, pieces: int) -> set[tuple[str, int]]:
        """The dimensions that go along with an axis."""
        division = self._division({axis: pieces})
        if division is None:
            return set()
        return {(name, d) for name in self.names for d, a in enumerate(division.dims[name]) if a == axis}

    def _rule(self, mesh: Any, *_types: Any) -> SdyShardingRule:
        """What Shardy hands on: a factor for each axis, one for each dimension that goes along with none."""
        fewest = min((n for n in mesh.shape.values() if n > 1), default=1)
        factors: dict[tuple[str, int], str] = {}
        for n, axis in enumerate(self.axes):
            for place in self._along(axis, fewest):
                factors.setdefault(place, f"axis{n}")
        mappings = [
            ArrayMapping(*(factors.get((name, d), f"own{n}_{d}") for d in range(len(self.shapes[name]))))
            for n, name in enumerate(self.names)
        ]
        inputs = len(self.function.inputs)
        return SdyShardingRule(tuple(mappings[:inputs]), tuple(mappings[inputs:]))

    def _partition(self, mesh: Any, arguments: Any, results: Any) -> tuple[Any, ...]:
        """The mesh, what each device computes, and how results and arguments are divided."""
        found = [*arguments, *(results if isinstance(results, list | tuple) else [results])]
        given = {
            name: [_names(entry) for entry in a.sharding.spec]
            for name, a in zip(self.names, found, strict=True)
        }
        along = self._chosen(mesh, given)
        division = self._over(mesh, along)
        specs: dict[str, list[Any]] = {name: [None] * len(self.shapes[name]) for name in self.names}
        lower: Callable[..., Any] = self._whole
        if along and division is not None:
            specs = {
                name: [a and along[a] for a in division.dims[name]] if name in division.used else given[name]
                for name in self.names
            }
            lower = DeviceCall(self.function, division, along, self.derived.fixed_order)
        self._warn(given, division, specs)
        made = [NamedSharding(mesh, PartitionSpec(*specs[name])) for name in self.names]
        inputs = len(self.function.inputs)
        return mesh, lower, made[inputs:], tuple(made[:inputs])

    def _chosen(self, mesh: Any, given: Mapping[str, Sequence[tuple[str, ...]]]) -> Axes:
        """The axes of the mesh for axes of blocks: those along which results are divided, else arguments.

        Two axes may be divided over the same devices, where that gains something.
        """
        fewest = min((n for n in mesh.shape.values() if n > 1), default=1)
        chosen: dict[str, tuple[str, ...]] = {}
        for axis in self.axes:
            used = {name for names in chosen.values() for name in names}
            places = sorted(self._along(axis, fewest), key=lambda p: (p[0] in self.function.inputs, p))
            for name, d in places:
                free = tuple(a for a in given[name][d] if a not in used)
                wished = free or given[name][d]
                if wished and self._over(mesh, {**chosen, axis: wished}) is not None:
                    chosen[axis] = wished
                    break
        return chosen

    def _warn(
        self,
        given: Mapping[str, Sequence[Any]],
        division: DividedCall | None,
        specs: Mapping[str, Sequence[Any]],
    ) -> None:
        """Say once what all devices get all of."""
        for name in self.function.inputs:
            for d, (before, after) in enumerate(zip(given[name], specs[name], strict=True)):
                is_lent = division is not None and division.is_gathered(name, d)
                if before and (is_lent or before != (after or ())) and (name, d) not in self.derived.gathered:
                    self.derived.gathered.add((name, d))
                    warn_of_gathered(self.function.program, name, d, before)


def _names(entry: Any) -> tuple[str, ...]:
    if entry is None:
        return ()
    return (entry,) if isinstance(entry, str) else tuple(entry)
