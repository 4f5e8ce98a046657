"""Index arrays that lie on a GPU: looked at, and others made of them, where they are.

The kernels are `inspector.mlir`; what they make is bit for bit what the CPU makes. A thread counts a run of
its own, so a sort takes a table of digits by threads. Keys are sorted by 8 bits after 8 bits, always stably.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from hashlib import sha256
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tadc.backend.cuda.architectures import CUDA_ARCHITECTURES
from tadc.backend.cuda.device_arrays import DeviceArray
from tadc.backend.disk_cache import configured
from tadc.backend.fingerprint import fingerprint
from tadc.frontend.diagnostics import CompileError

if TYPE_CHECKING:
    from tadc.backend.cuda.device import Device
    from tadc.backend.cuda.device_arrays import View

    Placed = DeviceArray | View

_INDEX = np.dtype(np.int32)

#: Threads of a block, and digits of 8 bits.
_BLOCK, _DIGIT, _DIGITS = 256, 8, 256

#: A run has at least so many elements, and the table of a sort at most so many columns.
_RUN, _COLUMNS = 64, 1 << 14


@cache
def kernels() -> bytes:
    """PTX that every architecture takes, from disk where it is there."""
    text = Path(__file__).with_name("inspector.mlir").read_text()
    cache = configured()
    key = sha256(f"device inspector {fingerprint()} {text}".encode()).hexdigest()
    found = cache.get(key) if cache else None
    if found is None:
        found = _compiled(text)
        if cache:
            cache.put(key, found)
    return found


@cache
def has_kernels() -> bool:
    """Whether there are kernels: kernels of programs run without the compiler that makes these."""
    try:
        return bool(kernels())
    except (CompileError, ImportError):
        return False


def _compiled(text: str) -> bytes:
    from tadc.backend.cuda.lowering import lower
    from tadc.backend.cuda.ptx import emit_ptx
    from tadc.backend.pipelines import translate
    from tadc.dialect import mlir

    with mlir.LOCK, mlir.new_context():
        module = mlir.ir.Module.parse(f"module attributes {{gpu.container_module}} {{ {text} }}")
        lower(module, with_lines=False)
        llvm = translate(module, "nvvm")
    return emit_ptx(llvm, CUDA_ARCHITECTURES[0], use_libdevice=False).encode()


class DeviceInspector:
    """The functions of `backend.runtime.inspector`, of arrays on a device, in the order of a stream.

    Arrays are contiguous, of 32-bit integers.
    """

    def __init__(self, device: Device, stream: int) -> None:
        self.device, self.stream = device, stream

    def largest(self, array: Placed) -> int:
        """The largest element, taken as unsigned; -1 of none. Waits for it."""
        return self._most(array) if prod(array.shape) else -1

    def falls(self, array: Placed) -> bool:
        """Whether an element is less than the one before. Waits for it."""
        pairs = prod(array.shape) - 1
        if pairs < 1:
            return False
        threads = -(-pairs // _RUN)
        found = self._new(threads)
        self._launch("falls", [array, found], [pairs, _RUN], threads)
        return bool(self._most(found))

    def differ(self, some: Sequence[Placed], others: Sequence[Placed]) -> bool:
        """Whether an element differs from that of the array at its place, of as many. Waits for it."""
        found = self._new(1)
        self._fill(found)
        for one, other in zip(some, others, strict=True):
            count = prod(one.shape)
            self._launch("differs", [one, other, found], [count, _RUN], -(-count // _RUN))
        return bool(np.asarray(found)[0])

    def copy(self, array: Placed) -> DeviceArray:
        """An array with the same elements."""
        made = self._new(*array.shape)
        if made.nbytes:
            with self.device.current() as driver:
                driver.copy_within(made.start, _start(array), made.nbytes, self.stream)
        return made

    def sorted_places(
        self, arrays: Sequence[Placed], below: Sequence[int]
    ) -> tuple[DeviceArray, DeviceArray]:
        """As on the CPU: where the first array's values start, and the places in the order of all."""
        count = prod(arrays[0].shape)
        order = self._new(count)
        self._launch("numbers", [order], [], count)
        for array, bound in reversed(list(zip(arrays, below, strict=True))):
            for shift in range(0, max(bound - 1, 0).bit_length() if count else 0, _DIGIT):
                order = self._by_digit(array, order, count, shift)
        starts = self._new(below[0] + 1)
        self._launch("starts", [arrays[0], order, starts], [count], below[0] + 1)
        return starts, order

    def joint_starts(self, arrays: Sequence[Placed], below: Sequence[int], order: Placed) -> DeviceArray:
        """As on the CPU, of two arrays in the order of both."""
        (one, other), shape = arrays, (below[0], below[1] + 1)
        made = self._new(*shape)
        self._launch("joint_starts", [one, other, order, made], [prod(order.shape), shape[1]], prod(shape))
        return made

    def subscripts(self, places: DeviceArray, shape: Sequence[int], axis: int) -> DeviceArray:
        """As on the CPU."""
        if len(shape) == 1:
            return places
        count = prod(places.shape)
        made = self._new(count)
        self._launch("subscripts", [places, made], [prod(shape[axis + 1 :]), shape[axis]], count)
        return made

    def taken(self, array: Placed, places: Placed) -> DeviceArray:
        """As on the CPU."""
        count = prod(places.shape)
        made = self._new(count)
        self._launch("taken", [array, places, made], [], count)
        return made

    def owners(self, starts: Placed, count: int) -> DeviceArray:
        """As on the CPU."""
        made = self._new(count)
        rows = prod(starts.shape)
        self._launch("owners", [starts, made], [rows, rows - 1], count)
        return made

    def wholes(self, starts: Placed, length: int) -> DeviceArray:
        """As on the CPU, of ranges between neighbours."""
        made = self._new(*starts.shape)
        self._launch("counts", [starts, made], [length], prod(starts.shape))
        if prod(starts.shape):
            self._scan(made)
        return made

    def rests(self, begins: Placed, before: Placed, length: int) -> DeviceArray:
        """As on the CPU."""
        made = self._new(*before.shape)
        self._launch("rests", [begins, before, made], [length], prod(before.shape))
        return made

    def parts(self, begins: Placed, before: Placed, length: int, count: int) -> DeviceArray:
        """As on the CPU."""
        made, owners = self._new(count), self.owners(before, count)
        self._launch("parts", [begins, before, owners, made], [length, prod(before.shape) - 1], count)
        return made

    def _by_digit(self, keys: Placed, order: DeviceArray, count: int, shift: int) -> DeviceArray:
        """The places in the order of a digit of their keys, of equal ones in the order given."""
        run = max(_RUN, -(-count // _COLUMNS))
        threads = -(-count // run)
        table, made = self._new(_DIGITS * threads), self._new(count)
        self._launch("tally", [keys, order, table], [count, run], threads, shift)
        self._scan(table)
        self._launch("place", [keys, order, table, made], [count, run], threads, shift)
        return made

    def _scan(self, cells: DeviceArray) -> None:
        """Each cell becomes the sum of those before it: of runs, of runs of these, down to one."""
        count = prod(cells.shape)
        threads = -(-count // _RUN)
        bases = self._new(threads)
        if threads > 1:
            self._launch("sums", [cells, bases], [count, _RUN], threads)
            self._scan(bases)
        else:
            self._fill(bases)
        self._launch("scan", [cells, bases], [count, _RUN], threads)

    def _fill(self, one: DeviceArray) -> None:
        """The number of the only thread, 0, to the only element."""
        self._launch("numbers", [one], [], 1)

    def _most(self, array: Placed) -> int:
        count = prod(array.shape)
        while True:
            threads = -(-count // _RUN)
            made = self._new(threads)
            self._launch("most", [array, made], [count, _RUN], threads)
            if threads == 1:
                return int(np.asarray(made).view(np.uint32)[0])
            array, count = made, threads

    def _new(self, *shape: int) -> DeviceArray:
        memory = self.device.allocate(prod(shape) * _INDEX.itemsize, self.stream)
        return DeviceArray(memory, shape, _INDEX)

    def _launch(
        self, name: str, arrays: Sequence[Placed], sizes: Sequence[int], threads: int, *more: int
    ) -> None:
        """Run a kernel of so many threads. It takes arrays, sizes, the threads, and what is left."""
        if not threads:
            return
        function = self.device.function(kernels(), name)
        arguments = [*map(_start, arrays), *sizes, threads, *more]
        with self.device.current() as driver:
            grid = (-(-threads // _BLOCK), 1, 1)
            driver.launch(function, grid, (_BLOCK, 1, 1), arguments, self.stream)


def _start(array: Placed) -> int:
    return array.start if isinstance(array, DeviceArray) else array.address
