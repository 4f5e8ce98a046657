"""What each device computes of a call that is divided over devices, as operations of JAX.

Devices get what their blocks read of others (`ppermute`, or `all_gather` where that is everything), compute
their blocks, and join parts of sums (`psum`). In a ring parts of tensors go round, and each device computes
the blocks of what it has with each of them.
"""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false
# JAX leaves much of itself untyped.

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from tadc.api.function import Function
from tadc.frontend.extents import shape_at
from tadc.jax.derived import telling
from tadc.jax.division import DividedCall, DividedStage
from tadc.jax.exchange import Exchange

Axes = Mapping[str, tuple[str, ...]]
"""The axes of a mesh along which an axis of blocks is divided."""


class DeviceCall:
    """What each device computes of a call, by its part of each argument.

    In a `fixed_order` parts are joined as those of the same blocks of `f.block`, with the same bits.
    """

    def __init__(self, function: Function, division: DividedCall, along: Axes, fixed_order: bool) -> None:
        self.function, self.copies = function, division.copies
        self.stages = [_StageCall(stage, along, fixed_order) for stage in division.stages]

    def __call__(self, *arrays: Any) -> list[Any]:
        """The device's part of each result."""
        have = dict(zip(self.function.inputs, arrays, strict=True))
        have |= {copy: have[name] for copy, name in self.copies.items()}
        for stage in self.stages:
            have |= stage(have)
        return [have[name] for name in self.function.outputs]


class _StageCall:
    def __init__(self, stage: DividedStage, along: Axes, fixed_order: bool) -> None:
        self.stage, self.along = stage, along
        self.inputs, self.outputs = stage.function.inputs, stage.function.outputs
        self.exchanges = {(name, d): stage.exchange(name, d) for name, d in stage.divided(self.inputs)}
        self.join = _Join(self, fixed_order)
        function = telling(stage.function)
        blocks = [_Block(self, function, at) for at in stage.tasks]
        self.kinds = list(dict.fromkeys(blocks))
        self.table = np.array([self.kinds.index(block) for block in blocks], np.int32)

    def __call__(self, have: Mapping[str, Any]) -> dict[str, Any]:
        """The device's part of each result of the stage."""
        arrays = {name: have[name] for name in self.inputs}
        for (name, d), exchange in self.exchanges.items():
            arrays[name] = _exchanged(arrays[name], d, exchange, self.names(name, d))
        found = self._ring(arrays) if self.stage.travelling else self.block(arrays)
        found = {name: self.join.devices(name, array) for name, array in found.items()}
        for name, d in self.stage.divided(self.outputs):
            found[name] = _exchanged(found[name], d, self.stage.handed_on(name, d), self.names(name, d))
        return found

    def names(self, name: str, dimension: int) -> tuple[str, ...]:
        """The axes of the mesh along which a dimension is divided."""
        return self.along[self.stage.axis(name, dimension)]

    def block(self, arrays: Mapping[str, Any], step: Any = 0) -> dict[str, Any]:
        """The results of the block that a device computes at a step of a ring."""
        given = [arrays[name] for name in self.inputs]
        found = self.kinds[0](*given) if len(self.kinds) == 1 else self._switch(given, step)
        return dict(zip(self.outputs, found, strict=True))

    def _switch(self, given: Sequence[Any], step: Any) -> Any:
        at: Any = 0
        for axis in self.stage.axes:
            at = at * self.stage.call.pieces[axis] + self.place(axis, step)
        return lax.switch(jnp.asarray(self.table)[at], self.kinds, *given)

    def place(self, axis: str, step: Any) -> Any:
        """Where along an axis the block stands that a device computes at a step."""
        place = lax.axis_index(self.along[axis])
        return (place - step) % self.stage.call.pieces[axis] if axis == self.stage.travelling else place

    def _ring(self, arrays: Mapping[str, Any]) -> dict[str, Any]:
        """The results of all steps of a ring: parts go on to the next device, and results that are theirs."""
        axis = self.stage.travelling
        names, count = self.along[axis], self.stage.call.pieces[axis]
        pairs = [(n, (n + 1) % count) for n in range(count)]

        def is_going(name: str) -> bool:
            divided = [d for n, d in self.stage.divided([name]) if self.stage.axis(n, d) == axis]
            return bool(divided) and not self.exchanges[name, divided[0]].everything

        def step(number: Any, state: Any) -> Any:
            going, held = state
            found = self.block({**arrays, **going}, number)
            held = {name: self.join.held(name, held[name], found[name], number) for name in held}
            passed = {name: held[name] for name in held if self.join.is_going(name)}
            moved, passed = jax.tree.map(lambda array: lax.ppermute(array, names, pairs), (going, passed))
            return moved, {**held, **passed}

        going = {name: array for name, array in arrays.items() if is_going(name)}
        held = {name: self.join.start(name) for name in self.outputs}
        return lax.fori_loop(0, count, step, (going, held))[1]


class _Join:
    """How parts of a result are joined: those of steps of a ring, and those of devices."""

    def __init__(self, call: _StageCall, fixed_order: bool) -> None:
        self.call, self.stage, self.fixed_order = call, call.stage, fixed_order
        self.dtypes = {p.name: p.dtype for p in call.stage.function.jax.derived.shapes.outputs}

    def start(self, name: str) -> Any:
        """What is held of a result before the first step."""
        shape = self.stage.block_shape(name)
        axis = self.stage.ring_axis(name)
        if axis and self.fixed_order:
            shape = (self.stage.call.pieces[axis], *shape)
        return jnp.full(shape, _NEUTRAL[self._kind(name)] if axis else 0, self.dtypes[name])

    def held(self, name: str, before: Any, found: Any, step: Any) -> Any:
        """What is held after a step: all parts in a fixed order, or parts joined."""
        if not self.stage.ring_axis(name):
            return jnp.where(step == 0, found, before)
        if not self.fixed_order:
            return _JOIN[self._kind(name)](before, found)
        return lax.dynamic_update_index_in_dim(before, found, self.call.place(self.stage.travelling, step), 0)

    def is_going(self, name: str) -> bool:
        """Whether a result goes along with what is passed on, so that each device adds its part."""
        return not self.fixed_order and self.stage.ring_axis(name) not in ("", self.stage.travelling)

    def devices(self, name: str, array: Any) -> Any:
        """A result, where devices have parts of it that of all."""
        part = self.stage.plan.part(name)
        if part is None:
            return array
        ring = self.stage.ring_axis(name)
        axes = [axis for axis in part.axes if axis != ring]
        if self.fixed_order:
            return self._in_order(array, part.kind, axes, ring)
        names = tuple(name for axis in axes for name in self.call.along[axis])
        return _JOIN_DEVICES[part.kind](array, names) if names else array

    def _in_order(self, array: Any, kind: str, axes: Sequence[str], ring: str) -> Any:
        """Parts joined two by two in the order of blocks, of a ring those that a device holds."""
        if ring and ring != self.stage.travelling:  # each device holds its own part of all results
            array = lax.all_to_all(array, self.call.along[ring], 0, 0)
        order = [ring] if ring else []
        for axis in axes:
            array = lax.all_gather(array, self.call.along[axis])
            order.insert(0, axis)
        kept = [axis for axis in self.stage.axes if axis in order]
        array = jnp.transpose(array, [*map(order.index, kept), *range(len(order), array.ndim)])
        array = array[tuple(slice(self.stage.blocks(axis)) for axis in kept)]
        array = array.reshape(-1, *array.shape[len(kept) :])
        while len(array) > 1:
            pairs = len(array) // 2 * 2
            joined = _JOIN[kind](array[0:pairs:2], array[1:pairs:2])
            array = lax.concatenate([joined, array[pairs:]], 0)
        return array[0]

    def _kind(self, name: str) -> str:
        part = self.stage.plan.part(name)
        assert part is not None
        return part.kind


def _product(array: Any, axes: tuple[str, ...]) -> Any:
    return jnp.prod(lax.all_gather(array, axes), axis=0)


#: How two parts of a reduction are joined, how those of all devices, and what a device without a part gives.
_JOIN: Mapping[str, Any] = {"sum": jnp.add, "max": jnp.maximum, "min": jnp.minimum, "prod": jnp.multiply}
_JOIN_DEVICES: Mapping[str, Any] = {"sum": lax.psum, "max": lax.pmax, "min": lax.pmin, "prod": _product}
_NEUTRAL: Mapping[str, float] = {"sum": 0, "max": -np.inf, "min": np.inf, "prod": 1}


def _exchanged(array: Any, dimension: int, exchange: Exchange, names: tuple[str, ...]) -> Any:
    """What a device needs of what all have, along a dimension."""
    if exchange.everything:
        return lax.all_gather(array, names, axis=dimension, tiled=True)
    if not exchange.is_own:
        shape = list(array.shape)
        shape[dimension] = exchange.length + exchange.spare
        found, place = jnp.zeros(shape, array.dtype), lax.axis_index(names)
        for r in exchange.rounds:
            piece = lax.dynamic_slice_in_dim(array, _entry(r.starts, place), r.length, dimension)
            if r.is_remote:
                piece = lax.ppermute(piece, names, r.pairs)
            found = lax.dynamic_update_slice_in_dim(found, piece, _entry(r.ends, place), dimension)
        array = found
    return lax.slice_in_dim(array, 0, exchange.length, axis=dimension)


def _entry(table: Sequence[int], place: Any) -> Any:
    return table[0] if len(set(table)) == 1 else jnp.asarray(np.array(table, np.int32))[place]


class _Block:
    """A block of a stage, as a function of what a device has.

    Blocks of one function with the same numbers are equal: JAX traces them once.
    """

    def __init__(self, call: _StageCall, function: Function, at: tuple[int, ...]) -> None:
        self.function, stage = function, call.stage
        task = stage.tasks[at]
        boxes: list[tuple[tuple[int, int], ...]] = []
        for name in task.reads:
            box: list[tuple[int, int]] = []
            for d, places in enumerate(task.reads[name]):
                exchange = call.exchanges.get((name, d))
                first = exchange.starts[at[stage.axes.index(stage.axis(name, d))]] if exchange else 0
                # Where nothing is read, or by a device behind the last block, it may lie anywhere.
                box.append((places.start - first if places else 0, len(places)))
            boxes.append(tuple(box))
        self.boxes = tuple(boxes)
        #: What the last input of a function tells that has one more than the stage.
        self.told: tuple[int, ...] = ()
        if len(function.inputs) > len(boxes):
            self.told = shape_at(function.program.arguments[-1].shape, task.sizes)
        self.shapes = tuple(stage.block_shape(name) for name in function.outputs)
        #: What a device gives that has no part.
        parts = (stage.plan.part(name) if stage.is_idle(name, at) else None for name in function.outputs)
        self.fills = tuple(part and _NEUTRAL[part.kind] for part in parts)
        self._key = id(function), self.boxes, self.told, self.shapes, self.fills

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
