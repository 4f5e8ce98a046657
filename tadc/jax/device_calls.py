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
from tadc.jax.kernel_calls import call_told

MOST_NUMBER = (1 << 31) - 1
"""The most that blocks are told at run time."""

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
        kinds = dict.fromkeys(blocks)
        self.kinds = [_Kind([block for block in blocks if block == kind]) for kind in kinds]
        places = {kind: n for n, kind in enumerate(kinds)}
        self.table = np.array([places[block] for block in blocks], np.int32)
        # Larger ones are known where the program is made.
        self.numbers = np.minimum([block.numbers for block in blocks], MOST_NUMBER).astype(np.int32)

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
        if len(self.kinds) == 1 and self.kinds[0].is_still:
            found = self.kinds[0]((), *given)
        else:
            at: Any = 0
            for axis in self.stage.axes:
                at = at * self.stage.call.pieces[axis] + self.place(axis, step)
            kind, numbers = jnp.asarray(self.table)[at], jnp.asarray(self.numbers)[at]
            found = lax.switch(kind, self.kinds, numbers, *given)
        return dict(zip(self.outputs, found, strict=True))

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
    """A block of a stage: which box of each array that a device has, and the sizes that the function is told.

    Blocks are equal if one function computes them that gets `numbers` at run time: where boxes begin, and
    what the last input of a function tells that has one more than the stage.
    """

    def __init__(self, call: _StageCall, function: Function, at: tuple[int, ...]) -> None:
        self.function, stage = function, call.stage
        task = stage.tasks[at]
        starts: list[int] = []
        for name in task.reads:
            for d, places in enumerate(task.reads[name]):
                exchange = call.exchanges.get((name, d))
                first = exchange.starts[at[stage.axes.index(stage.axis(name, d))]] if exchange else 0
                # Where nothing is read, or by a device behind the last block, it may lie anywhere.
                starts.append(places.start - first if places else 0)
        self.sizes = tuple(tuple(map(len, box)) for box in task.reads.values())
        self.told: tuple[int, ...] = ()
        if len(function.inputs) > len(self.sizes):
            self.told = shape_at(function.program.arguments[-1].shape, task.sizes)[1:]
        self.numbers = *starts, *self.told
        self.shapes = tuple(stage.block_shape(name) for name in function.outputs)
        #: What a device gives that has no part.
        parts = (stage.plan.part(name) if stage.is_idle(name, at) else None for name in function.outputs)
        self.fills = tuple(part and _NEUTRAL[part.kind] for part in parts)
        given = (*self.sizes, (0, *self.told)) if self.told else self.sizes
        known = function.jax.derived.shapes
        # The kernel of such sizes is one of its own, and numbers are 32 bits long.
        is_alone = known.in_question(given) is not None or max(self.numbers, default=0) > MOST_NUMBER
        self._key = id(function), self.sizes, known.results(given), self.shapes, self.fills
        self._key += (self.numbers,) if is_alone else ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Block) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)


class _Kind:
    """Equal blocks, as a function of their numbers and of what a device has. JAX traces equal ones once."""

    def __init__(self, blocks: Sequence[_Block]) -> None:
        self.block = blocks[0]
        columns = zip(*(block.numbers for block in blocks), strict=True)
        #: The numbers that all blocks share, None for others.
        self.shared = tuple(column[0] if len({*column}) == 1 else None for column in columns)
        self.is_still = None not in self.shared

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Kind) and (self.block, self.shared) == (other.block, other.shared)

    def __hash__(self) -> int:
        return hash((self.block, self.shared))

    def __call__(self, numbers: Any, *arrays: Any) -> list[Any]:
        """The device's part of each result."""
        block, function = self.block, self.block.function
        known: list[Any] = [numbers[n] if value is None else value for n, value in enumerate(self.shared)]
        cut: list[Any] = []
        for array, sizes in zip(arrays, block.sizes, strict=True):
            cut.append(_cut(array, known[: len(sizes)], sizes))
            known = known[len(sizes) :]
        derived = function.jax.derived
        if None in self.shared[len(self.shared) - len(known) :]:
            extents = jnp.stack([jnp.asarray(number, jnp.int32) for number in known])
            several = call_told(derived, cut, extents, block.told)
        else:
            if known:
                cut.append(jnp.zeros((0, *known), derived.shapes.outputs[0].dtype))
            found = function.jax(*cut)
            several = found if len(function.outputs) > 1 else (found,)
        return [
            jnp.full(shape, fill, array.dtype) if fill is not None else _padded(array, shape)
            for array, shape, fill in zip(several, block.shapes, block.fills, strict=True)
        ]


def _cut(array: Any, starts: Sequence[Any], sizes: tuple[int, ...]) -> Any:
    if any(size > extent for size, extent in zip(sizes, array.shape, strict=True)):
        return jnp.zeros(sizes, array.dtype)
    if sizes == array.shape:
        return array
    if all(isinstance(start, int) for start in starts):
        return lax.dynamic_slice(array, starts, sizes)
    return lax.dynamic_slice(array, [jnp.asarray(start, jnp.int32) for start in starts], sizes)


def _padded(array: Any, shape: tuple[int, ...]) -> Any:
    rest = [(0, n - m, 0) for n, m in zip(shape, array.shape, strict=True)]
    return lax.pad(array, jnp.zeros((), array.dtype), rest) if array.shape != shape else array
