"""A call for given sizes on a stream, prepared once: a call after it fills in addresses and launches.

All arguments of all launches lie in one array. What ctypes would convert in each call is converted here.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Sequence
from ctypes import byref, c_uint, c_uint64, c_void_p
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from tadc.backend.cuda.api import KernelNode, bare
from tadc.backend.cuda.device import Allocation
from tadc.backend.cuda.device_arrays import DeviceArray
from tadc.backend.cuda.launch_graphs import MANY, MOST, Graphs, has_graphs, node_of
from tadc.frontend.diagnostics import CompileError

if TYPE_CHECKING:
    from tadc.backend.cuda.device import Device
    from tadc.backend.runtime.frameworks import Framework
    from tadc.backend.runtime.workspace import Workspace
    from tadc.passes.gpu.launch import Launch

#: Of fewer bytes, tensors of a call share an allocation: one that is kept keeps the others.
LITTLE = 1 << 20
#: What begins inside of an allocation does so at a multiple of this, as what the driver gives.
_ALIGNMENT = 256

#: A plan is prepared for so many streams at a time.
_STREAMS = 16

_BYTES = np.dtype(np.uint8)

_Each = TypeVar("_Each")


class Output(NamedTuple):
    """An output for given sizes."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    bytes: int


class PreparedLaunch(NamedTuple):
    """A launch for given sizes on a device, repeated so many `turns`; `places` are its arguments among
    buffers, sizes, and the number of the turn."""

    launch: Launch
    function: int
    grid: tuple[int, int, int]
    places: tuple[int, ...]
    turns: int = 1


class CallPlan:
    """What a call for given sizes on a device makes and does."""

    def __init__(
        self,
        device: Device,
        inputs: Sequence[int],
        outputs: Sequence[Output],
        between: Workspace[int],
        steps: Sequence[PreparedLaunch],
        sizes: Sequence[int],
        explain: Callable[[CompileError, Launch | None], None],
        alignment: int = 1,
    ) -> None:
        """`inputs` are bytes; `explain` adds to an error what it knows of a launch, or of one among all.

        Addresses of arguments are multiples of `alignment`.
        """
        self.alignment = alignment
        self.device, self.sizes, self.explain = device, tuple(sizes), explain
        self.inputs, self.outputs, self.between = tuple(inputs), tuple(outputs), between
        self.steps = tuple(steps)
        self.launches = tuple(step.launch for step in steps)
        #: Cells of sizes come after those of so many buffers.
        self.buffers = len(inputs) + len(outputs) + len(between.offsets)
        self._prepared: dict[int, Prepared] = {}

    def on(self, stream: int) -> Prepared:
        """The call on a stream."""
        found = self._prepared.get(stream)
        if found is None:
            # Streams come and go.
            if len(self._prepared) >= _STREAMS:
                self._prepared = {}
            found = self._prepared[stream] = Prepared(self, stream)
        return found


class CallMemory(NamedTuple):
    """Allocations of a call, and where its tensors are: in which of them, and from which byte on."""

    pieces: tuple[int, ...]
    places: tuple[tuple[int, int], ...]
    is_last_freed: bool
    """Whether the last one is for the call alone."""


def room_for(outputs: Sequence[int], between: Workspace[int]) -> CallMemory:
    """Room for outputs of so many bytes and for temporaries: one allocation, but for what is large."""
    pieces: list[int] = []
    places: list[tuple[int, int]] = []
    shared: int | None = None
    for bytes in outputs:
        if bytes <= LITTLE and shared is not None:
            places.append((shared, _join(pieces, shared, bytes)))
            continue
        if bytes <= LITTLE:
            shared = len(pieces)
        places.append((len(pieces), 0))
        pieces.append(bytes)
    is_last_freed = between.bytes > LITTLE or (not pieces and between.bytes > 0)
    if is_last_freed:
        piece, first = len(pieces), 0
        pieces.append(between.bytes)
    else:
        piece = shared or 0
        first = _join(pieces, piece, between.bytes) if between.bytes else 0
    places += [(piece, first + offset) for offset in between.offsets]
    return CallMemory(tuple(pieces), tuple(places), is_last_freed)


def _join(pieces: list[int], piece: int, bytes: int) -> int:
    """Where so many bytes begin that are added to an allocation."""
    first = -(-pieces[piece] // _ALIGNMENT) * _ALIGNMENT
    pieces[piece] = first + bytes
    return first


#: Without temporaries that need memory of ours.
_NOTHING = CallMemory((), (), False)


class _Arguments:
    """Memory for the arguments of all launches. One call at a time uses it, until all are queued.

    The last cell is the number of a turn: the driver copies arguments when it takes a launch.
    """

    __slots__ = ("address", "cells", "graphs", "launches", "nodes", "out", "turns")

    def __init__(self, plan: CallPlan, stream: int) -> None:
        self.address = c_uint64()
        self.out = byref(self.address)
        values = [0] * plan.buffers + [size & 0xFFFFFFFFFFFFFFFF for size in plan.sizes] + [0]
        self.cells = (c_uint64 * len(values))(*values)
        first = ctypes.addressof(self.cells)
        self.nodes: list[KernelNode] = []
        self.launches: list[tuple[Any, ...]] = []
        self.turns = [step.turns for step in plan.steps]
        for launch, function, grid, places, _ in plan.steps:
            pointers = (c_void_p * len(places))(*[first + 8 * n for n in places])
            numbers = [c_uint(n) for n in (*grid, *launch.block, launch.shared)]
            self.launches.append((c_void_p(function), *numbers, c_void_p(stream), pointers, None))
            self.nodes.append(node_of(function, grid, launch.block, launch.shared, pointers))
        driver = plan.device.driver
        many = MANY <= sum(self.turns) <= MOST and has_graphs(driver)
        self.graphs = Graphs(driver, lambda: self.in_turns(self.nodes), stream) if many else None

    def in_turns(self, each: Sequence[_Each]) -> Iterator[_Each]:
        """What belongs to each launch, in its turns, whose number is in its cell then."""
        for one, turns in zip(each, self.turns, strict=True):
            for turn in range(turns):
                self.cells[-1] = turn
                yield one


class Prepared:
    """A call for given sizes on a stream of a device. Several threads may call it at once."""

    def __init__(self, plan: CallPlan, stream: int) -> None:
        self.plan, self.device, self.stream = plan, plan.device, stream
        self._whole = room_for([output.bytes for output in plan.outputs], plan.between)
        self._scratch = room_for((), plan.between)
        self._own = [
            (piece, offset, output.shape, output.dtype)
            for (piece, offset), output in zip(self._whole.places, plan.outputs, strict=False)
        ]
        self._launch = bare(plan.device.driver.library.cuLaunchKernel)
        self._free: list[_Arguments] = []

    def into_new(self, inputs: list[int]) -> list[Any]:
        """Launch on inputs at these addresses; the outputs as arrays of ours."""
        pieces = self._run(inputs, self._whole)
        return [DeviceArray(pieces[n], shape, dtype, offset) for n, offset, shape, dtype in self._own]

    def into_arrays_of(self, framework: Framework, inputs: list[int]) -> list[Any]:
        """Launch with memory of a library, whose current stream this is; the outputs as its arrays."""
        number = self.device.number
        made = [framework.empty(shape, dtype, number) for shape, dtype, _ in self.plan.outputs]
        room = self.plan.between
        scratch = framework.empty((room.bytes,), _BYTES, number) if room.bytes else None
        first = framework.address(scratch) if scratch is not None else 0
        between = [first + offset for offset in room.offsets]
        # Its memory may be used again as soon as nothing refers to it, but on this stream after the launches.
        self._run([*inputs, *map(framework.address, made), *between], _NOTHING)
        return made

    def into_apart(self, addresses: list[int]) -> bool:
        """Launch on inputs and outputs; False, and nothing is done, where an output shares memory."""
        plan = self.plan
        count = len(plan.inputs)
        for n, output in enumerate(plan.outputs, count):
            begin, end = addresses[n], addresses[n] + output.bytes
            for other, size in enumerate(plan.inputs):
                if begin < addresses[other] + size and addresses[other] < end:
                    return False
            for other in range(count, n):
                size = plan.outputs[other - count].bytes
                if begin < addresses[other] + size and addresses[other] < end:
                    return False
        self._run(addresses, self._scratch)
        return True

    def into(self, inputs: list[int], outputs: Sequence[int]) -> None:
        """Launch on inputs and outputs at these addresses."""
        self._run([*inputs, *outputs], self._scratch)

    def _run(self, addresses: list[int], room: CallMemory) -> list[Allocation]:
        """Launch with these first buffers, the others in new memory. In one switch of the context."""
        device, stream = self.device, self.stream
        try:
            use = self._free.pop()
        except IndexError:
            use = _Arguments(self.plan, stream)
        pieces: list[Allocation] = []
        device.enter()
        try:
            for bytes in room.pieces:
                pieces.append(Allocation(device, device.address_of_new(use, bytes, stream), bytes, stream))
            if room.places:
                first = [piece.address for piece in pieces] or [0]
                addresses = addresses + [first[n] + offset for n, offset in room.places]
            self._queue(use, addresses)
            if room.is_last_freed:
                pieces.pop().free_here()
        finally:
            device.leave()
            self._free.append(use)
        return pieces

    def _queue(self, use: _Arguments, addresses: list[int]) -> None:
        use.cells[: len(addresses)] = addresses
        driver = self.device.driver
        driver.queued.append(self.plan.launches)
        launch: Launch | None = None
        try:
            if use.graphs is not None and use.graphs.launch(tuple(addresses)):
                return
            queue = self._launch
            for arguments in use.in_turns(use.launches):
                result = queue(*arguments)
                if result:
                    launch, _, grid, _, _ = self.plan.steps[use.launches.index(arguments)]
                    driver.fail("cuLaunchKernel", result, f"grid {grid}, block {launch.block}")
        except CompileError as error:
            self.plan.explain(error, launch)
            raise
