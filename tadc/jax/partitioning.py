"""Calls of kernels on arrays that are divided over devices: each device computes its block.

The partitioning is `jax.custom_partitioning`'s, with a rule for Shardy. What goes along with an axis of
blocks is divided; neighbours lend what a window reads beyond (`ppermute`); parts of sums are joined (`psum`).
"""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false
# JAX leaves much of itself untyped.

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.experimental.custom_partitioning import ArrayMapping, SdyShardingRule, custom_partitioning
from jax.sharding import NamedSharding, PartitionSpec

from tadc.frontend.extents import shape_at
from tadc.jax.derived import Derived, telling
from tadc.jax.division import DividedCall, Lent, count, divided, may_divide

Axes = Mapping[str, tuple[str, ...]]
"""The axes of a mesh along which an axis of blocks is divided."""

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
        self._divisions: dict[tuple[tuple[str, int], ...], DividedCall | None] = {}

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

    def _division(self, pieces: Mapping[str, int]) -> DividedCall | None:
        key = tuple(pieces.items())
        if key not in self._divisions:
            self._divisions[key] = divided(self.function, self.sizes, pieces) if pieces else None
        return self._divisions[key]

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
        division = self._division({name: count(mesh.shape, axes) for name, axes in along.items()})
        specs: dict[str, list[Any]] = {name: [None] * len(self.shapes[name]) for name in self.names}
        lower: Callable[..., Any] = self._whole
        if along and division is not None:
            specs = {
                name: [a and along[a] for a in division.dims[name]] if name in division.used else given[name]
                for name in self.names
            }
            lower = _DeviceCall(self, division, along)
        self._warn(given, division, specs)
        made = [NamedSharding(mesh, PartitionSpec(*specs[name])) for name in self.names]
        inputs = len(self.function.inputs)
        return mesh, lower, made[inputs:], tuple(made[:inputs])

    def _chosen(
        self, mesh: Any, given: Mapping[str, Sequence[tuple[str, ...]]]
    ) -> dict[str, tuple[str, ...]]:
        """The axes of the mesh for axes of blocks: those along which results are divided, else arguments."""
        fewest = min((n for n in mesh.shape.values() if n > 1), default=1)
        chosen: dict[str, tuple[str, ...]] = {}
        for axis in self.axes:
            used = {name for names in chosen.values() for name in names}
            places = sorted(self._along(axis, fewest), key=lambda p: (p[0] in self.function.inputs, p))
            for name, d in places:
                free = tuple(a for a in given[name][d] if a not in used)
                wished = {**chosen, axis: free}
                pieces = {n: count(mesh.shape, names) for n, names in wished.items()}
                if free and self._division(pieces) is not None:
                    chosen = wished
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
                is_lent = division is not None and division.is_lent_whole(name, d)
                if before and (is_lent or before != (after or ())) and (name, d) not in self.derived.gathered:
                    self.derived.gathered.add((name, d))
                    mesh = " and ".join(f"`{axis}`" for axis in before)
                    warnings.warn(
                        f"in a call of `{self.derived}` each device gets all of dimension {d} of `{name}`, "
                        f"which is divided along {mesh}",
                        stacklevel=2,
                    )


def _names(entry: Any) -> tuple[str, ...]:
    if entry is None:
        return ()
    return (entry,) if isinstance(entry, str) else tuple(entry)


class _DeviceCall:
    """What each device computes of a call, by its part of each argument."""

    def __init__(self, of: Partitioning, division: DividedCall, along: Axes) -> None:
        self.of, self.division, self.along = of, division, along

    def __call__(self, *arrays: Any) -> list[Any]:
        """The device's part of each result."""
        have = dict(zip(self.of.function.inputs, arrays, strict=True))
        for function, stage in zip(self.division.blocks.functions, self.division.stages, strict=True):
            have |= self._stage(function, stage, have)
        return [have[name] for name in self.of.function.outputs]

    def _stage(self, function: Any, stage: Any, have: Mapping[str, Any]) -> dict[str, Any]:
        lent = {
            (name, d): self.division.lent(stage, name, d)
            for name in function.inputs
            for d, axis in enumerate(self.division.dims[name])
            if axis is not None
        }
        wide = {name: have[name] for name in function.inputs}
        for (name, d), what in lent.items():
            wide[name] = self._borrowed(wide[name], d, self.division.dims[name][d] or "", what)
        cells = list(self.division.cells(stage))
        made = telling(function)
        blocks = [_Block(self.division, made, stage, lent, at, cell) for at, cell in cells]
        kinds = list(dict.fromkeys(blocks))
        arrays = [wide[name] for name in function.inputs]
        if len(kinds) == 1:
            found = kinds[0](*arrays)
        else:
            table = jnp.asarray(np.array([kinds.index(block) for block in blocks], np.int32))
            found = lax.switch(table[self._position(stage)], kinds, *arrays)
        return dict(zip(function.outputs, self._joined(stage, function.outputs, found), strict=True))

    def _position(self, stage: Any) -> Any:
        """The device's number among the cells."""
        at: Any = 0
        for axis in stage.stage.axes:
            at = at * self.division.pieces[axis.name] + lax.axis_index(self.along[axis.name])
        return at

    def _borrowed(self, array: Any, dimension: int, axis: str, lent: Lent) -> Any:
        """A device's part, with what its neighbours lend."""
        names, devices = self.along[axis], self.division.pieces[axis]
        if lent.everything:
            return lax.all_gather(array, names, axis=dimension, tiled=True)
        own, parts = array.shape[dimension], [array]
        if lent.before:
            end = lax.slice_in_dim(array, own - lent.before, own, axis=dimension)
            parts.insert(0, lax.ppermute(end, names, [(n, n + 1) for n in range(devices - 1)]))
        if lent.behind:
            start = lax.slice_in_dim(array, 0, lent.behind, axis=dimension)
            parts.append(lax.ppermute(start, names, [(n + 1, n) for n in range(devices - 1)]))
        return lax.concatenate(parts, dimension) if len(parts) > 1 else array

    def _joined(self, stage: Any, names: Sequence[str], found: Sequence[Any]) -> list[Any]:
        """Results, where devices have parts of them those of all."""
        joined: list[Any] = []
        for name, array in zip(names, found, strict=True):
            part = stage.part(name)
            if part is not None:
                array = _JOIN[part.kind](array, tuple(m for axis in part.axes for m in self.along[axis]))
            joined.append(array)
        return joined


def _product(array: Any, axes: tuple[str, ...]) -> Any:
    return jnp.prod(lax.all_gather(array, axes), axis=0)


#: How the devices' parts of a reduction are joined, and what a device without a part gives.
_JOIN: Mapping[str, Any] = {"sum": lax.psum, "max": lax.pmax, "min": lax.pmin, "prod": _product}
_NEUTRAL: Mapping[str, float] = {"sum": 0, "max": -np.inf, "min": np.inf, "prod": 1}


class _Block:
    """A block of a stage, as a function of what a device has; equal to others with the same numbers."""

    def __init__(
        self,
        division: DividedCall,
        function: Any,
        stage: Any,
        lent: Mapping[tuple[str, int], Lent],
        at: Sequence[int],
        cell: tuple[int, ...],
    ) -> None:
        task = stage.task(cell)
        self.function = function
        axes = [axis.name for axis in stage.stage.axes]
        boxes: list[tuple[tuple[int, int], ...]] = []
        for name in task.reads:
            box: list[tuple[int, int]] = []
            for d, places in enumerate(task.reads[name]):
                origin, axis = 0, division.dims[name][d]
                if axis is not None and not lent[name, d].everything:
                    chunk = division.chunk(stage.shapes[name][d], axis)
                    origin = at[axes.index(axis)] * chunk - lent[name, d].before
                # Where nothing is read, or by a device behind the last block, it may lie anywhere.
                box.append((places.start - origin if places else 0, len(places)))
            boxes.append(tuple(box))
        self.boxes = tuple(boxes)
        #: What the last input of a function tells that has one more than the stage.
        self.told: tuple[int, ...] = ()
        if len(function.inputs) > len(boxes):
            shape = function.program.arguments[-1].shape
            self.told = shape_at(shape, task.sizes)
        self.shapes = tuple(division.shape(stage, name) for name in function.outputs)
        empty = {axis for axis, n, m in zip(axes, at, cell, strict=True) if n != m and stage.is_divided}
        parts = [stage.part(name) for name in function.outputs]
        #: What a device gives that has no part.
        self.fills = tuple(
            _NEUTRAL[part.kind] if part is not None and empty & set(part.axes) else None for part in parts
        )
        self._key = self.boxes, self.told, self.fills

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Block) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def __call__(self, *arrays: Any) -> list[Any]:
        """The device's part of each result."""
        cut = [_cut(array, box) for array, box in zip(arrays, self.boxes, strict=True)]
        if self.told:
            cut.append(jnp.zeros(self.told, self.function.jax.derived.shapes.outputs[0].dtype))
        found = self.function.jax(*cut)
        several = found if len(self.function.outputs) > 1 else (found,)
        return [
            jnp.full(shape, fill, array.dtype) if fill is not None else _padded(array, shape)
            for array, shape, fill in zip(several, self.shapes, self.fills, strict=True)
        ]


def _cut(array: Any, box: Sequence[tuple[int, int]]) -> Any:
    starts, sizes = [start for start, _ in box], [size for _, size in box]
    ends = [start + size for start, size in box]
    if min(starts, default=0) < 0 or any(end > n for end, n in zip(ends, array.shape, strict=True)):
        return jnp.zeros(sizes, array.dtype)
    return lax.slice(array, starts, ends) if tuple(sizes) != array.shape else array


def _padded(array: Any, shape: tuple[int, ...]) -> Any:
    rest = [(0, n - m, 0) for n, m in zip(shape, array.shape, strict=True)]
    return lax.pad(array, jnp.zeros((), array.dtype), rest) if array.shape != shape else array
